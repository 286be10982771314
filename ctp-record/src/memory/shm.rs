//! The memory that the program writes: made and sealed here, mapped once, never unmapped early.
#![allow(unsafe_code, reason = "vouches for mappings that it made itself")]

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

/// A memfd of its final size: sparse, so that room nobody uses costs nothing, and sealed, so
/// that nobody can cut it off under a reader.
#[derive(Debug)]
pub struct Memory {
    file: OwnedFd,
    /// Lent out for no longer than `self` is: see [`Memory::region`].
    region: Region<'static>,
    /// Keeps the region mapped.
    map: MmapRaw,
}

impl Memory {
    /// Makes it, laid out for `plan`. With `inherit`, programs that are launched keep it open.
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

    /// The view of it, whatever has become of its header since.
    pub fn region(&self) -> Region<'_> {
        self.region
    }

    /// Has the kernel find and clear the pages of these records of it, so that the program need not
    /// wait for that.
    ///
    /// # Errors
    /// Those of the kernel: it cannot (before Linux 5.14), no memory.
    pub fn lay(&self, records: &[LaneRecord]) -> io::Result<()> {
        let advice = Advice::PopulateRead;
        let offset = self.offset_of(records);
        self.map.advise_range(advice, offset, size_of_val(records))
    }

    /// Where these records of it begin.
    pub fn offset_of(&self, records: &[LaneRecord]) -> usize {
        let begin = self.map.as_mut_ptr().addr();
        records.as_ptr().addr().saturating_sub(begin)
    }

    /// What a program is sent that asks for it.
    pub fn file(&self) -> &OwnedFd {
        &self.file
    }

    /// By which it is found in the maps of a process; 0 if the kernel does not tell.
    pub fn inode(&self) -> u64 {
        fstat(&self.file).map_or(0, |stat| stat.st_ino)
    }

    /// What the program is to open: by way of this process, or of its own inherited descriptor.
    pub fn path(&self, inherit: bool) -> String {
        let fd = self.file.as_raw_fd();
        match inherit {
            true => format!("/proc/self/fd/{fd}"),
            false => format!("/proc/{}/fd/{fd}", std::process::id()),
        }
    }
}

/// Where the header lies, and no more of a memory.
const HEADER_BYTES: usize = 4096;

impl Memory {
    /// Its header, which can be read when all else of it is given up; nothing if it is damaged, or there
    /// is no room.
    pub fn header_alone(&self) -> Option<LeftHeader> {
        let map = MmapOptions::new().len(HEADER_BYTES).map_raw(&self.file);
        let map = map.ok()?;
        // SAFETY: just mapped shared, and sealed against truncation; nothing else in this program touches
        // this mapping. The value keeps it, and lends the region for its own life.
        let region = unsafe { Region::new(map.as_mut_ptr(), map.len(), 1) }.ok()?;
        Some(LeftHeader { region, _map: map })
    }

    /// The pages behind the header are emptied, also for a fork that still shares them: it is not recorded
    /// there, and what it ends there is of a process that is no more.
    pub fn give_back_all_but_header(self) {
        let (begin, end) = (HEADER_BYTES as u64, self.map.len() as u64);
        let how = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        // Where that fails, they are given back once nobody has them mapped.
        let _ = fallocate(&self.file, how, begin, end.saturating_sub(begin));
    }
}

/// The header of a memory that was given up.
#[derive(Debug)]
pub struct LeftHeader {
    /// Of the header and one station. Lent out for no longer than `self` is.
    region: Region<'static>,
    /// Keeps the region mapped.
    _map: MmapRaw,
}

impl LeftHeader {
    /// Forks that have counted themselves there, as far as it can be believed.
    pub fn unreached(&self) -> u32 {
        match self.region.is_intact() {
            true => self.region.header.counters().unreached,
            false => 0,
        }
    }
}

/// A copy of a program's memory, cut out of a dump.
#[derive(Debug)]
pub struct Copy {
    map: MmapMut,
}

impl Copy {
    /// Of these bytes.
    ///
    /// # Errors
    /// Those of the kernel, when there is no memory for the copy.
    pub fn of(memory: &[u8]) -> io::Result<Self> {
        let mut map = MmapMut::map_anon(memory.len())?;
        map.copy_from_slice(memory);
        Ok(Copy { map })
    }

    /// The view of it.
    ///
    /// # Errors
    /// [`Refused`], if it is damaged.
    pub fn region(&self) -> Result<Region<'_>, Refused> {
        let base = self.map.as_ptr().cast_mut();
        // SAFETY: private writable memory of this length, mapped as long as `self` is borrowed;
        // `self` hands out nothing but this view.
        unsafe { Region::new(base, self.map.len(), u32::MAX) }
    }
}

#[cfg(test)]
impl Memory {
    /// Each of 2 MiB.
    pub fn of_two_lanes() -> Self {
        let plan = Plan {
            stations: 4,
            lanes: 2,
            lane_records: 1 << 16,
            short_lanes: 0,
        };
        Memory::create(plan, &Recording::default(), false).expect("a memory")
    }

    /// As a fork has it mapped that shares it, for as long as the test runs.
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
    fn pages_are_there_once_they_are_laid() {
        let memory = Memory::of_two_lanes();
        let ring = memory.region().ring(1).expect("the second lane");
        let is_there = |record: u64| {
            let at = memory.offset_of(ring.places(record..record + 1)) as u64;
            seek(&memory.file, SeekFrom::Data(at)) == Ok(at)
        };
        let places = 1 << 14..1 << 15;
        assert!(!places.clone().any(is_there));
        if let Err(error) = memory.lay(ring.places(places.clone())) {
            return eprintln!("skipped: this kernel cannot make pages ahead: {error}");
        }
        assert!(places.clone().all(is_there));
    }
}
