//! Which memory is certainly the calling thread's own stack, so that words of it can be read
//! wherever a frame pointer points in it.
//!
//! ```text
//!   lower                                                                        higher
//!   | guard page | ...   | sp of who asks ... poll of the future ... | anchor |
//!                        └──── the kernel reads a byte of each page ─┘
//! ```
//! An anchor lies where the stack began, and stays as long as the thread: its thread-local storage,
//! which every libc puts above the stack of a thread that it makes; of the main thread, the list of
//! the environment, which the kernel puts there, or else the frame in which the program attached.
//! What lies between that and where the stack is now, without a page that cannot be read, is the
//! thread's stack. A coroutine's own stack, or that of a signal handler, has a gap before the anchor,
//! or lies above it. Asked once for each depth of a page.
#![allow(
    unsafe_code,
    reason = "asks the kernel about memory that no reference covers"
)]

use core::ops::Range;
use core::ptr;
use core::sync::atomic::{AtomicUsize, Ordering};

use rustix::mm::{Advice, madvise};

use super::memory::PAGE_BYTES;
use super::{environment, session, thread};
use crate::chain::polling::Polled;
use crate::chain::walk;

/// What lies above the main thread's stack, or where it attached; 0 if another one did.
static MAIN: AtomicUsize = AtomicUsize::new(0);

/// No stack that is deeper is asked about.
const MOST_BYTES: usize = 64 << 20;
/// So often is a thread asked in vain before it is taken to run on other stacks.
const MOST_REFUSED: usize = 16;

/// The program attaches.
pub(super) fn remember_main() {
    if rustix::thread::gettid() == rustix::process::getpid() {
        let (sp, list) = (walk::here().sp, environment::list());
        let is_above = sp < list && list - sp <= MOST_BYTES;
        MAIN.store(if is_above { list } else { sp }, Ordering::Relaxed);
    }
}

/// Is all of this on the stack of the calling thread?
#[inline(always)]
pub(crate) fn covers(polled: &Polled, stack: &Range<usize>) -> bool {
    let low = polled.stack_low.load(Ordering::Relaxed);
    let high = polled.stack_high.load(Ordering::Relaxed);
    (low <= stack.start && stack.end <= high && stack.start < stack.end) || ask(polled, stack)
}

#[cold]
#[inline(never)]
fn ask(polled: &Polled, stack: &Range<usize>) -> bool {
    let refused = polled.refused.load(Ordering::Relaxed);
    if MOST_REFUSED <= refused || session::current().is_none_or(|it| it.forbids_calls) {
        return false;
    }
    let own = ptr::from_ref(thread::local()).addr();
    let candidates = [up_to(stack, own), with(stack, MAIN.load(Ordering::Relaxed))];
    let found = candidates.into_iter().flatten().find(is_readable);
    match &found {
        Some(known) => {
            polled.stack_low.store(known.start, Ordering::Relaxed);
            polled.stack_high.store(known.end, Ordering::Relaxed);
        }
        None => polled.refused.store(refused + 1, Ordering::Relaxed),
    }
    found.is_some()
}

fn page_of(address: usize) -> usize {
    address & !(PAGE_BYTES - 1)
}

/// This and all between it and what lies above the whole stack.
fn up_to(stack: &Range<usize>, anchor: usize) -> Option<Range<usize>> {
    let is_below = stack.start < stack.end && stack.end <= anchor;
    is_below.then(|| page_of(stack.start)..anchor)
}

/// This and all between it and another place in the same stack.
fn with(stack: &Range<usize>, anchor: usize) -> Option<Range<usize>> {
    let is_known = stack.start < stack.end && 0 < anchor;
    is_known.then(|| page_of(stack.start.min(anchor))..stack.end.max(anchor))
}

fn is_readable(memory: &Range<usize>) -> bool {
    let bytes = memory.end.saturating_sub(memory.start);
    0 < bytes && bytes <= MOST_BYTES && look(memory.start, bytes).is_ok()
}

/// Where a page is not there, or may not be read, the kernel refuses; so does one before 5.14, one whose
/// pages are larger, and an emulator.
fn look(start: usize, bytes: usize) -> rustix::io::Result<()> {
    let start = ptr::without_provenance_mut(start);
    // SAFETY: makes the kernel look at pages as a read would; their content stays.
    unsafe { madvise(start, bytes, Advice::LinuxPopulateRead) }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;

    #[test]
    fn a_stretch_reaches_to_its_anchor_in_whole_pages() {
        assert_eq!(up_to(&(5000..5100), 5200), Some(4096..5200));
        assert_eq!(up_to(&(5000..5100), 5050), None);
        assert_eq!(up_to(&(5100..5100), 9000), None);
        assert_eq!(with(&(9000..9100), 13000), Some(8192..13000));
        assert_eq!(with(&(9000..9100), 5000), Some(4096..9100));
        assert_eq!(with(&(9000..9100), 0), None);
    }

    #[test]
    fn a_stretch_with_a_gap_cannot_be_read() {
        let page = super::super::memory::private_page().expect("a page").addr();
        if look(page, PAGE_BYTES) == Err(rustix::io::Errno::INVAL) {
            return std::eprintln!("skipped: this kernel cannot be asked which pages are there");
        }
        assert!(is_readable(&(page..page + PAGE_BYTES)));
        assert!(!is_readable(&(0..PAGE_BYTES)));
        assert!(!is_readable(&(page..page)));
        assert!(!is_readable(&(page..page + MOST_BYTES + 1)));
    }
}
