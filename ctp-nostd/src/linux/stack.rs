//! Finds the part of the calling thread's own stack that a walk may read.
//!
//! ```text
//!   lower                                                              higher
//!   | no access | unused | sp ... frames in use ... | anchor |
//!                        └──────── may be read ─────────────┘
//! ```
//! The anchor is an address above all frames of the stack, in the same mapping, which stays as long as
//! the thread. For the main thread it is the program's file name, which the kernel puts at the top of
//! the initial stack. For any other thread it is the thread-local storage, which libc puts at the top
//! of the stack that it allocates. The stack pointer of a coroutine with a stack of its own, or of a
//! signal handler on an alternate stack, lies in another mapping. Such a stack is not walked: the
//! program may unmap it at any time.
//!
//! For the main thread, a single mapping of the stack pointer and the anchor proves that the stack is
//! its own: the kernel never merges the initial stack with other memory. Other anonymous mappings are
//! merged if they touch, so one line of `/proc/self/maps` may hold a coroutine's stack, unrelated
//! memory, and a thread's stack. Therefore two more things are checked:
//!
//! - The thread's stack is guarded: below the stack pointer there is a mapping without access, or a
//!   guard region. Together with the single mapping this suffices for every stack that has a guard.
//! - Each page from the stack pointer to the anchor is present. Between the stack of a coroutine and
//!   the frames of its thread lie pages that the thread never used, or the guard region.
//!
//! The kernel is queried once for each page by which a stack is deeper than before. A result stays
//! valid until the thread ends.

mod maps;
mod pagemap;
pub(crate) mod walk;

use core::ops::Range;
use core::ptr;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use self::maps::Mapping;
use super::auxv::{self, AT_EXECFN};
use super::memory::PAGE_BYTES;
use super::{Linux, session, thread};
use crate::platform::Platform as _;
use crate::platform::Polled;

/// Anchor of the main thread, 0 if unknown.
static INITIAL_STACK_TOP: AtomicUsize = AtomicUsize::new(0);
/// Kernel id of the main thread of the process that attached.
static MAIN_THREAD: AtomicU32 = AtomicU32::new(0);
/// Address of the main thread's thread-local storage, 0 if unknown. A fork of the main thread has the
/// same address and another thread id.
static MAIN_LOCAL: AtomicUsize = AtomicUsize::new(0);

/// Deeper stacks are not examined.
const MAX_BYTES: usize = 64 << 20;
/// After this many refusals a thread is assumed to run on other stacks, and the kernel is not
/// queried again.
const MAX_REFUSED: usize = 16;

/// Remembers the main thread, when the program attaches.
pub(super) fn remember_main() {
    let process = rustix::process::getpid();
    MAIN_THREAD.store(process.as_raw_nonzero().get() as u32, Ordering::Relaxed);
    let top = auxv::value(AT_EXECFN).unwrap_or(0);
    INITIAL_STACK_TOP.store(top, Ordering::Relaxed);
    if rustix::thread::gettid() == process {
        MAIN_LOCAL.store(own_local(), Ordering::Relaxed);
    }
}

/// Finds the stack of the thread that attached, before the program may restrict its system calls.
pub(super) fn look_ahead() {
    let sp = walk::here().sp;
    covers(&thread::local().polled, &(sp..sp.saturating_add(1)));
}

/// Whether all of this range lies in the calling thread's own stack.
#[inline(always)]
pub(crate) fn covers(polled: &Polled, stack: &Range<usize>) -> bool {
    let low = polled.stack_low.load(Ordering::Relaxed);
    let high = polled.stack_high.load(Ordering::Relaxed);
    (low <= stack.start && stack.end <= high && stack.start < stack.end) || query(polled, stack)
}

#[cold]
#[inline(never)]
fn query(polled: &Polled, stack: &Range<usize>) -> bool {
    let refused = polled.refused.load(Ordering::Relaxed);
    if MAX_REFUSED <= refused || session::current().is_none_or(|session| session.forbids_calls) {
        return false;
    }
    let is_main = is_main_thread();
    let anchor = if is_main {
        INITIAL_STACK_TOP.load(Ordering::Relaxed)
    } else {
        own_local()
    };
    if !is_below(stack, anchor) {
        return false;
    }
    // Only the part below the known part must be checked.
    let is_known = polled.stack_high.load(Ordering::Relaxed) == anchor;
    let unknown_end = if is_known {
        polled.stack_low.load(Ordering::Relaxed)
    } else {
        anchor
    };
    let Some(low) = low_end(stack.start, unknown_end, anchor, is_main) else {
        polled.refused.store(refused + 1, Ordering::Relaxed);
        return false;
    };
    // The anchor of a thread never changes, so a signal handler that does the same between these
    // stores does no harm.
    polled.stack_low.store(low, Ordering::Relaxed);
    polled.stack_high.store(anchor, Ordering::Relaxed);
    true
}

fn own_local() -> usize {
    ptr::from_ref(thread::local()).addr()
}

fn is_main_thread() -> bool {
    let local = own_local();
    if MAIN_LOCAL.load(Ordering::Relaxed) == local {
        return true;
    }
    let is_main = Linux::thread() == u64::from(MAIN_THREAD.load(Ordering::Relaxed));
    if is_main {
        MAIN_LOCAL.store(local, Ordering::Relaxed);
    }
    is_main
}

fn is_below(stack: &Range<usize>, anchor: usize) -> bool {
    let is_ordered = stack.start < stack.end && stack.end <= anchor;
    is_ordered && anchor - stack.start <= MAX_BYTES
}

/// The lowest address from which the own stack may be read up to the anchor, if `sp` points into that
/// stack. The part above `unknown_end` was found before.
fn low_end(sp: usize, unknown_end: usize, anchor: usize, is_main: bool) -> Option<usize> {
    let mapping = maps::find(sp)?;
    if !mapping.is_private_memory || !mapping.addresses.contains(&anchor) {
        return None;
    }
    if is_main {
        return Some(mapping.addresses.start);
    }
    let page = sp & !(PAGE_BYTES - 1);
    (is_guarded(&mapping, page) && pagemap::all_present(page..unknown_end)).then_some(page)
}

fn is_guarded(mapping: &Mapping, page: usize) -> bool {
    let start = mapping.addresses.start.max(page.saturating_sub(MAX_BYTES));
    mapping.is_above_guard || pagemap::any_guard(start..page)
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;

    #[test]
    fn only_a_range_below_the_anchor_is_examined() {
        assert!(is_below(&(5000..5100), 5100));
        assert!(!is_below(&(5000..5100), 5099));
        assert!(!is_below(&(5100..5100), 9000));
        assert!(!is_below(&(5000..5100), 5001 + MAX_BYTES));
        assert!(!is_below(&(5000..5100), 0));
    }

    // CT-13
    #[test]
    fn thread_finds_own_stack_and_no_other_memory() {
        let (sp, anchor) = (walk::here().sp, own_local());
        assert_eq!(
            low_end(sp, anchor, anchor, false),
            Some(sp & !(PAGE_BYTES - 1))
        );
        assert_eq!(low_end(sp, anchor, 1 << 20, false), None, "another mapping");
        let page = super::super::memory::private_page().expect("a page").addr();
        assert_eq!(low_end(page, anchor, anchor, false), None);
        assert_eq!(low_end(0, anchor, anchor, false), None);
        assert!(low_end(anchor - 1, anchor, anchor, true).is_some());
    }
}
