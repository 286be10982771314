//! Mappings: the shared memory, and private pages of this process.
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

/// The shared memory as this process has it mapped. It stays mapped once anything refers to it.
#[derive(Debug)]
pub(super) struct Mapping {
    pub region: Region<'static>,
    base: *mut c_void,
    bytes: usize,
}

impl Mapping {
    /// Maps the recorder's memory, with at most `limit` stations.
    pub fn new(file: &OwnedFd, limit: u32) -> Result<Self, NotAttached> {
        let stat = fstat(file).map_err(|error| NotAttached::Os("fstat of the memory", error))?;
        let bytes = usize::try_from(stat.st_size).unwrap_or(0);
        let room = (bytes / size_of::<Station>()).saturating_sub(1);
        if room == 0 {
            return Err(NotAttached::NoRoom);
        }
        let limit = limit.min(u32::try_from(room).unwrap_or(u32::MAX));
        let (base, bytes) = map(file, bytes)
            .or_else(|error| map_before(error, file, offset_of!(Header, short_lanes)))
            .or_else(|error| map_before(error, file, offset_of!(Header, lanes)))
            .map_err(|error| NotAttached::Os("mapping the memory", error))?;
        // SAFETY: `bytes` bytes were just mapped shared, readable and writable. They are unmapped
        // by `discard`, or here if there is no region. Only this crate's atomics access them. The
        // recorder seals the size.
        match unsafe { Region::new(base.cast(), bytes, limit) } {
            Ok(region) => Ok(Mapping {
                region,
                base,
                bytes,
            }),
            Err(refused) => {
                // SAFETY: mapped above with this length, and there is no reference into it.
                let _ = unsafe { munmap(base, bytes) };
                Err(NotAttached::Memory(refused))
            }
        }
    }

    /// Unmaps the memory.
    ///
    /// # Safety
    /// No copy of its region is left.
    pub unsafe fn discard(self) {
        // SAFETY: mapped by `new` with this length; the caller keeps no reference into it.
        let _ = unsafe { munmap(self.base, self.bytes) };
    }

    /// In a fork: replaces the pages shared with the parent by empty pages of this process.
    /// References into them stay valid.
    pub fn make_private(&self) {
        let flags = MapFlags::PRIVATE | MapFlags::FIXED | MapFlags::NORESERVE;
        // SAFETY: replaces a mapping of our own, at once and in full, by a mapping with the same
        // access; all of it is atomics, for which zero is a value.
        let _ = unsafe { mmap_anonymous(self.base, self.bytes, ACCESS, flags) };
    }
}

/// Maps the memory without locking it. After `mlockall(MCL_FUTURE)` the kernel locks each new
/// mapping, and so fills all of it: gigabytes, most of which are never touched. A mapping without
/// access is not filled. So access is granted only after the mapping is unlocked.
fn map(file: &OwnedFd, bytes: usize) -> Result<(*mut c_void, usize), Errno> {
    let (none, shared) = (ProtFlags::empty(), MapFlags::SHARED);
    // SAFETY: a new mapping at an address chosen by the kernel touches no memory that is in use.
    let base = unsafe { mmap(ptr::null_mut(), bytes, none, shared, file, 0)? };
    // SAFETY: affects only the mapping just made, which nothing uses yet.
    let accessible =
        unsafe { munlock(base, bytes).and_then(|()| mprotect(base, bytes, READ_WRITE)) };
    if let Err(error) = accessible {
        // SAFETY: mapped above with this length, and nothing uses it.
        let _ = unsafe { munmap(base, bytes) };
        return Err(error);
    }
    // A core dump of the program would otherwise contain all of it, even untouched pages: a
    // gigabyte. The recorder has the content anyway. A kernel that does not know this advice may
    // refuse it.
    // SAFETY: affects only the mapping just made; changes nothing that the program can see.
    let _ = unsafe { madvise(base, bytes, Advice::LinuxDontDump) };
    Ok((base, bytes))
}

/// After a failure for lack of memory, maps only what comes before this table. Lanes come last and
/// need the most, and a program with a low limit can do without them.
fn map_before(error: Errno, file: &OwnedFd, span: usize) -> Result<(*mut c_void, usize), Errno> {
    match error {
        // `EAGAIN` comes where the mapping would be locked (`mlockall`) beyond the limit.
        Errno::NOMEM | Errno::AGAIN => map(file, start_of(file, span).ok_or(error)?),
        _ => Err(error),
    }
}

/// The offset of the table that this span of the header describes.
fn start_of(file: &OwnedFd, span: usize) -> Option<usize> {
    let mut word = [0; 8];
    let at = span + offset_of!(Span, offset_bytes);
    let read = pread(file, &mut word, at as u64).ok()?;
    let offset = usize::try_from(u64::from_le_bytes(word)).ok()?;
    (read == word.len() && offset != 0).then_some(offset)
}

const READ_WRITE: MprotectFlags = MprotectFlags::READ.union(MprotectFlags::WRITE);
const ACCESS: ProtFlags = ProtFlags::READ.union(ProtFlags::WRITE);
/// Size of the smallest page.
pub(super) const PAGE_BYTES: usize = 4096;

/// Words that read 0 in every fork, however the fork was made. They have a cache line of their own.
#[derive(Debug)]
#[repr(C, align(128))]
pub(super) struct ForkWords {
    /// The number of this process's attachment.
    pub attachment: AtomicU32,
    /// The thread that attaches this fork, or [`ForkWords::NEVER`].
    pub follower: AtomicU32,
}

impl ForkWords {
    /// The attempt to attach failed. No thread has this id.
    pub const NEVER: u32 = u32::MAX;

    pub const fn new() -> Self {
        ForkWords {
            attachment: AtomicU32::new(0),
            follower: AtomicU32::new(0),
        }
    }
}

/// A private page that the kernel zeroes in every fork.
pub(super) fn fork_words_page() -> Result<&'static ForkWords, Errno> {
    let page = private_page()?;
    // SAFETY: the page was just mapped, is private to this code, and the advice does not invalidate
    // it.
    unsafe { madvise(page, PAGE_BYTES, Advice::LinuxWipeOnFork)? };
    // SAFETY: the page is zeroed, aligned, and never unmapped; both words are atomics.
    Ok(unsafe { &*page.cast() })
}

/// A zeroed private page, never unmapped.
pub(super) fn private_page() -> Result<*mut c_void, Errno> {
    // SAFETY: a new mapping at an address chosen by the kernel touches no memory that is in use.
    unsafe { mmap_anonymous(ptr::null_mut(), PAGE_BYTES, ACCESS, MapFlags::PRIVATE) }
}
