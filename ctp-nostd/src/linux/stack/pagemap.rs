//! `/proc/self/pagemap`: which pages are present, and which are guard regions. Reading it changes
//! nothing.

use core::ops::Range;

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::pread;

use crate::linux::memory::PAGE_BYTES;

/// The page is in memory.
const PRESENT: u64 = 1 << 63;
/// The page belongs to a guard region (`MADV_GUARD_INSTALL`), since Linux 6.15. Linux before 4.2 sets
/// this bit for every page, which then counts as a guard.
const GUARD: u64 = 1 << 58;

const ENTRY_BYTES: usize = 8;

/// Whether each of these pages is present. Pages in swap space and in guard regions are not.
pub(super) fn all_present(memory: Range<usize>) -> bool {
    any(memory, |entry| entry & PRESENT == 0 || entry & GUARD != 0) == Some(false)
}

/// Whether one of these pages belongs to a guard region.
pub(super) fn any_guard(memory: Range<usize>) -> bool {
    any(memory, |entry| entry & GUARD != 0) == Some(true)
}

/// Whether an entry satisfies the predicate; `None` if the entries cannot all be read.
fn any(memory: Range<usize>, matches: impl Fn(u64) -> bool) -> Option<bool> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let file = openat(CWD, c"/proc/self/pagemap", flags, Mode::empty()).ok()?;
    let (mut page, end) = (memory.start / PAGE_BYTES, memory.end.div_ceil(PAGE_BYTES));
    let mut buffer = [0; 32 * ENTRY_BYTES];
    while page < end {
        let piece_bytes = buffer.len().min((end - page) * ENTRY_BYTES);
        let piece = buffer.get_mut(..piece_bytes)?;
        let length = pread(&file, &mut *piece, (page * ENTRY_BYTES) as u64).ok()?;
        let entries = piece.get(..length)?.chunks_exact(ENTRY_BYTES);
        page += entries.len();
        if entries.len() == 0 {
            return None;
        }
        let mut entries = entries.filter_map(|bytes| bytes.try_into().ok());
        if entries.any(|bytes| matches(u64::from_ne_bytes(bytes))) {
            return Some(true);
        }
    }
    Some(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linux::memory::private_page;

    #[test]
    fn untouched_page_is_not_present() {
        let page = private_page().expect("a page").addr();
        let memory = page..page + PAGE_BYTES;
        assert!(!all_present(memory.clone()));
        assert!(!any_guard(memory));
        let local = 7;
        let touched = (&raw const local).addr();
        assert!(all_present(touched..touched + 1));
    }

    #[test]
    fn all_pages_of_several_pieces_are_checked() {
        let bytes = [1u8; 100 * PAGE_BYTES];
        let start = bytes.as_ptr().addr();
        assert!(all_present(start..start + bytes.len()));
        assert!(!all_present(0..PAGE_BYTES));
        assert!(!all_present(start & !(PAGE_BYTES - 1)..usize::MAX / 2));
    }
}
