//! Mappings: the shared memory, and pages of this process's own.
#![allow(
    unsafe_code,
    reason = "maps memory, which is a claim about the address space"
)]

use core::ffi::c_void;
use core::mem::offset_of;
use core::ptr;

use rustix::fd::OwnedFd;
use rustix::fs::fstat;
use rustix::io::{Errno, pread};
use rustix::mm::{
    Advice, MapFlags, MprotectFlags, ProtFlags, madvise, mmap, mmap_anonymous, mprotect, munlock,
    munmap,
};

use super::not_attached::NotAttached;
use crate::memory::Region;
use crate::memory::layout::{Header, Span, Station};
use crate::sync::AtomicU32;

/// The shared memory as this process has it mapped. It stays mapped, unless nobody has seen it.
#[derive(Debug)]
pub(super) struct Mapping {
    pub region: Region<'static>,
    base: *mut c_void,
    bytes: usize,
}

impl Mapping {
    /// Maps what the recorder made, with at most `limit` stations.
    pub fn new(file: &OwnedFd, limit: u32) -> Result<Self, NotAttached> {
        let stat = fstat(file).map_err(|error| NotAttached::Os("fstat of the memory", error))?;
        let bytes = usize::try_from(stat.st_size).unwrap_or(0);
        let room = (bytes / size_of::<Station>()).saturating_sub(1);
        if room == 0 {
            return Err(NotAttached::NoRoom);
        }
        let limit = limit.min(u32::try_from(room).unwrap_or(u32::MAX));
        let (base, bytes) = map(file, bytes)
            .or_else(|error| map_less(error, file, offset_of!(Header, short_lanes)))
            .or_else(|error| map_less(error, file, offset_of!(Header, lanes)))
            .map_err(|error| NotAttached::Os("mapping the memory", error))?;
        // SAFETY: `bytes` bytes were just mapped shared, readable and writable, and are unmapped
        // by `discard`, or here where there is no region. Only this crate's atomics touch them. The
        // recorder seals the size.
        match unsafe { Region::new(base.cast(), bytes, limit) } {
            Ok(region) => Ok(Mapping {
                region,
                base,
                bytes,
            }),
            Err(refused) => {
                // SAFETY: mapped above with this length, and nobody has a reference into it.
                let _ = unsafe { munmap(base, bytes) };
                Err(NotAttached::Memory(refused))
            }
        }
    }

    /// Unmaps it.
    ///
    /// # Safety
    /// No copy of its region is left.
    pub unsafe fn discard(self) {
        // SAFETY: mapped by `new` with this length; the caller keeps no reference into it.
        let _ = unsafe { munmap(self.base, self.bytes) };
    }

    /// In a fork: from now on this process has its own empty pages where it shared those of the
    /// process it was forked from. References into them stay valid, whoever still holds one.
    pub fn part(&self) {
        let flags = MapFlags::PRIVATE | MapFlags::FIXED | MapFlags::NORESERVE;
        // SAFETY: replaces a mapping of our own, at once and in full, by one with the same
        // access; all of it is atomics, for which zero is a value.
        let _ = unsafe { mmap_anonymous(self.base, self.bytes, ACCESS, flags) };
    }
}

/// After `mlockall(MCL_FUTURE)` the kernel locks each new mapping, and so fills all of it: gigabytes, of
/// which most are never touched. A mapping without access is not filled, and access comes once it is
/// unlocked.
fn map(file: &OwnedFd, bytes: usize) -> Result<(*mut c_void, usize), Errno> {
    let (none, shared) = (ProtFlags::empty(), MapFlags::SHARED);
    // SAFETY: a new mapping at a place of the kernel's choice touches no memory that is in use.
    let base = unsafe { mmap(ptr::null_mut(), bytes, none, shared, file, 0)? };
    // SAFETY: of the mapping just made, which nothing uses yet.
    let accessible =
        unsafe { munlock(base, bytes).and_then(|()| mprotect(base, bytes, READ_WRITE)) };
    if let Err(error) = accessible {
        // SAFETY: mapped above with this length, and nothing uses it.
        let _ = unsafe { munmap(base, bytes) };
        return Err(error);
    }
    // A core dump of the program would have all of it, also what was never touched: a gigabyte. The
    // recorder has it anyway. Where the kernel does not know the word, so be it.
    // SAFETY: of the mapping just made; changes nothing that the program can see.
    let _ = unsafe { madvise(base, bytes, Advice::LinuxDontDump) };
    Ok((base, bytes))
}

/// Only what comes before this table, if it was for want of room that more failed. Lanes come last and
/// need the most, which a program that may not have much does without.
fn map_less(error: Errno, file: &OwnedFd, span: usize) -> Result<(*mut c_void, usize), Errno> {
    match error {
        // The second where it would be locked (`mlockall`), and so much may not be.
        Errno::NOMEM | Errno::AGAIN => map(file, start_of(file, span).ok_or(error)?),
        _ => Err(error),
    }
}

/// Where the table begins that this span of the header tells of.
fn start_of(file: &OwnedFd, span: usize) -> Option<usize> {
    let mut word = [0; 8];
    let at = span + offset_of!(Span, offset_bytes);
    let read = pread(file, &mut word, at as u64).ok()?;
    let offset = usize::try_from(u64::from_le_bytes(word)).ok()?;
    (read == word.len() && offset != 0).then_some(offset)
}

const READ_WRITE: MprotectFlags = MprotectFlags::READ.union(MprotectFlags::WRITE);
const ACCESS: ProtFlags = ProtFlags::READ.union(ProtFlags::WRITE);
/// Bytes of a page, at least.
pub(super) const PAGE_BYTES: usize = 4096;

/// Words that read 0 in every fork, however the fork was made. Nothing else is in their cache line.
#[derive(Debug)]
#[repr(C, align(128))]
pub(super) struct Wiped {
    /// The number of this process's attachment.
    pub attachment: AtomicU32,
    /// The thread that attaches this fork, or [`Wiped::NEVER`].
    pub follower: AtomicU32,
}

impl Wiped {
    /// It has tried in vain. No thread has this number.
    pub const NEVER: u32 = u32::MAX;

    pub const fn new() -> Self {
        Wiped {
            attachment: AtomicU32::new(0),
            follower: AtomicU32::new(0),
        }
    }
}

/// A private page that the kernel empties in every fork.
pub(super) fn wiped_page() -> Result<&'static Wiped, Errno> {
    let page = private_page()?;
    // SAFETY: the page was just mapped, is ours alone, and advice does not invalidate it.
    unsafe { madvise(page, PAGE_BYTES, Advice::LinuxWipeOnFork)? };
    // SAFETY: it is zeroed, aligned, and never unmapped; both words are atomics.
    Ok(unsafe { &*page.cast() })
}

/// A zeroed page of this process's own, never unmapped.
pub(super) fn private_page() -> Result<*mut c_void, Errno> {
    // SAFETY: a new mapping at a place of the kernel's choice touches no memory that is in use.
    unsafe { mmap_anonymous(ptr::null_mut(), PAGE_BYTES, ACCESS, MapFlags::PRIVATE) }
}
