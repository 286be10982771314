//! Storage for the latest stack walks of each thread: a static array of entries. Thread-local memory
//! is too scarce for them: a plugin that is loaded late gets little (`dlopen` refuses more than libc
//! has set aside).
//!
//! ```text
//!   unused: owner = 0 ──> a thread's: owner = its id ──> the thread has exited: the next thread's
//! ```
//! A thread claims an entry when it first walks its stack. In a fork, the entries belong to threads
//! of the parent, so the thread claims an entry again. If all entries have owners, and the few owners
//! that a claim checks are alive, the thread has no entry and keeps no walks. A kept walk is valid
//! only on the stack of the thread that kept it, so a thread clears the walks in an entry that it
//! claims.

use core::sync::atomic::{AtomicU32, Ordering};

use super::latest_walk::LatestWalk;
use crate::linux::Linux;
use crate::platform::Platform as _;
use crate::platform::Polled;
use crate::protocol::chain::MAX_ADDRESSES;

/// Addresses to record for a wake, each of which costs more than a nanosecond. Where little is
/// inlined, more functions lie between the waking code and the waker.
pub(crate) const MAX_WAKE_ADDRESSES: usize = if cfg!(debug_assertions) { 12 } else { 8 };
/// Frame records that the walk for a wake follows: the first address needs no record.
const WAKE_RECORDS: usize = MAX_WAKE_ADDRESSES - 1;
const CLONE_RECORDS: usize = MAX_ADDRESSES - 1;

/// Threads of a program that can have an entry.
const ENTRIES: usize = 128;

/// How many owners a thread checks for exit, each with a system call.
const MAX_CHECKED: usize = 4;

/// Value of the low half of [`Polled::walks`] if there was no entry for the thread. The word is
/// {attachment 32 | index of the entry + 1, 32}.
const NONE: u32 = u32::MAX;

/// The latest walks of a thread.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Walks {
    owner: AtomicU32,
    /// From a clone of a traced future's waker.
    pub clone: LatestWalk<CLONE_RECORDS>,
    /// From a call of a waker.
    pub wake: LatestWalk<WAKE_RECORDS>,
}

static ALL: [Walks; ENTRIES] = [const { Walks::new() }; ENTRIES];

impl Walks {
    const fn new() -> Self {
        Walks {
            owner: AtomicU32::new(0),
            clone: LatestWalk::new(),
            wake: LatestWalk::new(),
        }
    }

    /// The walks of the calling thread, if it has an entry.
    #[inline(always)]
    pub fn own(polled: &Polled, attachment: u32) -> Option<&'static Walks> {
        let word = polled.walks.load(Ordering::Relaxed);
        let number = (word >> 32 == u64::from(attachment)).then_some(word as u32)?;
        ALL.get((number as usize).wrapping_sub(1))
    }

    /// The walks of the calling thread, which claims an entry at the first call.
    #[cold]
    pub fn own_or_claimed(polled: &Polled, attachment: u32) -> Option<&'static Walks> {
        if polled.walks.load(Ordering::Relaxed) >> 32 != u64::from(attachment) {
            let thread = Linux::thread_in(attachment) as u32;
            let found = claim(&ALL, thread, Linux::has_exited);
            found
                .and_then(|index| ALL.get(index))
                .inspect(|walks| walks.forget());
            let number = found.map_or(NONE, |index| index as u32 + 1);
            let word = u64::from(attachment) << 32 | u64::from(number);
            polled.walks.store(word, Ordering::Relaxed);
        }
        Walks::own(polled, attachment)
    }

    fn forget(&self) {
        self.clone.forget();
        self.wake.forget();
    }

    /// Changes the owner, if the owner is `from`. Returns whether it was.
    fn change_owner(&self, from: u32, by: u32) -> bool {
        let relaxed = Ordering::Relaxed;
        let taken = self.owner.compare_exchange(from, by, relaxed, relaxed);
        taken.is_ok()
    }
}

/// Claims an entry and returns its index. The entry may be this thread's already, claimed by an
/// interrupting handler or by an earlier thread with the same id. Otherwise it is an unused entry, or
/// that of an exited thread.
fn claim(all: &[Walks], thread: u32, has_exited: impl Fn(u32) -> bool) -> Option<usize> {
    let owner = |index: &usize| all[*index].owner.load(Ordering::Relaxed);
    let mut free = (0..all.len()).filter(|index| [0, thread].contains(&owner(index)));
    let free = free.find(|index| owner(index) == thread || all[*index].change_owner(0, thread));
    let begin = thread as usize;
    let mut others = (begin..begin + MAX_CHECKED).map(|index| index % all.len());
    free.or_else(|| {
        others.find(|index| {
            let before = owner(index);
            has_exited(before) && all[*index].change_owner(before, thread)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::future::wakers::latest_walk::Key;
    use crate::linux::stack::walk::FramePosition;

    // CT-13
    #[test]
    fn claimed_entry_starts_without_walks() {
        let polled = Polled::new();
        let find =
            |attachment| Walks::own_or_claimed(&polled, attachment).expect("there are places");
        let (scope, end, base, caller) = (1, 4096, 4096, 0);
        let here = FramePosition {
            pc: 1,
            fp: 2048,
            sp: 2048,
        };
        let key = Key {
            scope,
            here,
            end,
            base,
            caller,
        };
        let walks = find(1);
        walks.clone.keep(&key, &[], 5);
        walks.wake.keep(&key, &[], 5);
        assert!(walks.clone.has_key(&key) && walks.wake.has_key(&key));
        assert!(core::ptr::eq(walks, find(2)), "the same thread");
        assert!(!walks.clone.has_key(&key) && !walks.wake.has_key(&key));
    }

    // CT-13
    #[test]
    fn entries_are_exclusive_until_the_owner_exits() {
        let all = [const { Walks::new() }; 3];
        let found = [7, 8, 7, 9, 10].map(|thread| claim(&all, thread, |_| false));
        assert_eq!(found, [Some(0), Some(1), Some(0), Some(2), None]);
        assert_eq!(claim(&all, 11, |thread| thread == 8), Some(1));
        assert_eq!(
            claim(&all, 12, |thread| thread == 8),
            None,
            "now owned by thread 11"
        );
    }
}
