//! The memory that the program writes: created and sealed here, mapped once, never unmapped early.
#![allow(
    unsafe_code,
    reason = "vouches for mappings that this file made itself"
)]

use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};

use ctp_nostd::create::{Plan, Recording};
use ctp_nostd::layout::LaneRecord;
use ctp_nostd::{Refused, Region};
use memmap2::{Advice, MmapMut, MmapOptions, MmapRaw};
use rustix::fs::{
    FallocateFlags, MemfdFlags, SealFlags, fallocate, fcntl_add_seals, fstat, ftruncate,
    memfd_create,
};

/// A memfd of its final size. It is sparse, so that unused room costs nothing, and sealed, so that it
/// cannot be truncated under a reader.
#[derive(Debug)]
pub struct Memory {
    file: OwnedFd,
    /// Lent out for no longer than `self` lives: see [`Memory::region`].
    region: Region<'static>,
    /// Keeps the region mapped.
    map: MmapRaw,
}

impl Memory {
    /// Creates a memory laid out for `plan`. With `inherit`, launched programs keep it open.
    ///
    /// # Errors
    /// Those of the kernel: no memory, too many files.
    pub fn create(plan: Plan, recording: &Recording, inherit: bool) -> io::Result<Self> {
        let close = if inherit {
            MemfdFlags::empty()
        } else {
            MemfdFlags::CLOEXEC
        };
        let file = memfd_create("ctp", MemfdFlags::ALLOW_SEALING | close)?;
        ftruncate(&file, plan.bytes())?;
        fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        let map = MmapOptions::new().map_raw(&file)?;
        // SAFETY: just mapped shared, zeroed, and sealed against truncation; nothing else in this
        // program touches it. `self` keeps the mapping, and lends the region for its own life.
        let region = unsafe { Region::create(map.as_mut_ptr(), map.len(), plan, recording) }
            .map_err(io::Error::other)?;
        Ok(Memory { file, region, map })
    }

    /// The view of the memory as it was laid out, even if the header has been overwritten since.
    pub fn region(&self) -> Region<'_> {
        self.region
    }

    /// Makes the kernel find and clear the pages of these records, so that the program need not wait for that.
    ///
    /// # Errors
    /// Those of the kernel: it cannot prefault (before Linux 5.14), or there is no memory.
    pub fn prefault(&self, records: &[LaneRecord]) -> io::Result<()> {
        let advice = Advice::PopulateRead;
        let offset = self.offset_of(records);
        self.map.advise_range(advice, offset, size_of_val(records))
    }

    /// The offset of these records in the memory.
    pub fn offset_of(&self, records: &[LaneRecord]) -> usize {
        let begin = self.map.as_mut_ptr().addr();
        records.as_ptr().addr().saturating_sub(begin)
    }

    /// The file that is sent to a program that requests it.
    pub fn file(&self) -> &OwnedFd {
        &self.file
    }

    /// The inode by which the memory is found in the maps of a process; 0 if the kernel does not report it.
    pub fn inode(&self) -> u64 {
        fstat(&self.file).map_or(0, |stat| stat.st_ino)
    }

    /// The path at which any process opens the memory: that of a descriptor of this process.
    pub fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd())
    }

    /// The path at which a program that inherits the descriptor opens the memory.
    pub fn inherited_path(&self) -> String {
        format!("/proc/self/fd/{}", self.file.as_raw_fd())
    }
}

/// Bytes of a memory that contain the header.
const HEADER_BYTES: usize = 4096;

impl Memory {
    /// Maps the header alone, which stays readable when the rest is given up. `None` if the header is damaged
    /// or there is no room.
    pub fn header_alone(&self) -> Option<LeftHeader> {
        let map = MmapOptions::new().len(HEADER_BYTES).map_raw(&self.file);
        let map = map.ok()?;
        // SAFETY: just mapped shared, and sealed against truncation; nothing else in this program touches
        // this mapping. The value keeps it, and lends the region for its own life.
        let region = unsafe { Region::new(map.as_mut_ptr(), map.len(), 1) }.ok()?;
        Some(LeftHeader { region, _map: map })
    }

    /// Frees the pages behind the header, also for a fork that still shares them. The fork is not recorded
    /// there, and anything that it still finishes there belongs to an exited process.
    pub fn free_all_but_header(self) {
        let (begin, end) = (HEADER_BYTES as u64, self.map.len() as u64);
        let how = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        // If this fails, the kernel frees the pages when no process maps them any more.
        let _ = fallocate(&self.file, how, begin, end.saturating_sub(begin));
    }
}

/// The header of a memory that was given up.
#[derive(Debug)]
pub struct LeftHeader {
    /// The view of the header and one station. Lent out for no longer than `self` lives.
    region: Region<'static>,
    /// Keeps the region mapped.
    _map: MmapRaw,
}

impl LeftHeader {
    /// Forks that have counted themselves there; 0 if the header is damaged.
    pub fn unreached(&self) -> u32 {
        if self.region.is_intact() {
            self.region.header.counters().unreached
        } else {
            0
        }
    }
}

/// A copy of a program's memory, cut out of a dump.
#[derive(Debug)]
pub struct Copy {
    map: MmapMut,
}

impl Copy {
    /// Copies these bytes.
    ///
    /// # Errors
    /// Those of the kernel, when there is no memory for the copy.
    pub fn of(memory: &[u8]) -> io::Result<Self> {
        let mut map = MmapMut::map_anon(memory.len())?;
        map.copy_from_slice(memory);
        Ok(Copy { map })
    }

    /// The view of the copy.
    ///
    /// # Errors
    /// [`Refused`], if the memory is damaged.
    pub fn region(&self) -> Result<Region<'_>, Refused> {
        let base = self.map.as_ptr().cast_mut();
        // SAFETY: private writable memory of this length, mapped as long as `self` is borrowed;
        // `self` hands out nothing but this view.
        unsafe { Region::new(base, self.map.len(), u32::MAX) }
    }
}

#[cfg(test)]
impl Memory {
    /// A memory of two lanes of 2 MiB each.
    pub fn of_two_lanes() -> Self {
        let plan = Plan {
            stations: 4,
            lanes: 2,
            lane_records: 1 << 16,
            short_lanes: 0,
        };
        Memory::create(plan, &Recording::default(), false).expect("a memory")
    }

    /// The view of a fork that shares the memory, mapped for the rest of the test.
    pub fn mapped_by_a_fork(&self) -> Region<'static> {
        let map = MmapOptions::new()
            .map_raw(&self.file)
            .expect("there is room");
        let map = Box::leak(Box::new(map));
        // SAFETY: mapped shared for good, and sealed against truncation.
        unsafe { Region::new(map.as_mut_ptr(), map.len(), u32::MAX) }.expect("a memory")
    }
}

#[cfg(test)]
mod tests {
    use rustix::fs::{SeekFrom, seek};

    use super::*;

    // LT-12
    #[test]
    fn prefaulted_pages_exist() {
        let memory = Memory::of_two_lanes();
        let ring = memory.region().ring(1).expect("the second lane");
        let is_there = |record: u64| {
            let at = memory.offset_of(ring.places(record..record + 1)) as u64;
            seek(&memory.file, SeekFrom::Data(at)) == Ok(at)
        };
        let places = 1 << 14..1 << 15;
        assert!(!places.clone().any(is_there));
        if let Err(error) = memory.prefault(ring.places(places.clone())) {
            return eprintln!("skipped: this kernel cannot make pages ahead: {error}");
        }
        assert!(places.clone().all(is_there));
    }
}
