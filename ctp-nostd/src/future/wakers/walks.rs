//! Where a thread's latest walks are kept: not in its own memory, of which a plugin that is loaded late gets
//! little (`dlopen` refuses more than libc has set aside), but in one of a few places of the program.
//!
//! ```text
//!   nobody has it: owner = 0 ──> a thread's: owner = its id ──> it is gone: the next one's
//! ```
//! A thread looks for a place once, when it first walks, and once more in a fork, where another thread may
//! have the one that it had: that one's owner is of the forebear, and may be gone. Where all are taken, and
//! those of whom it asks live, it has none, and walks each time. A kept walk is valid only on the stack of
//! the thread that kept it, so a thread forgets what it finds in a place that it takes.

use core::sync::atomic::{AtomicU32, Ordering};

use super::latest_walk::LatestWalk;
use crate::linux::Linux;
use crate::platform::Platform as _;
use crate::platform::Polled;
use crate::protocol::chain::MOST_ADDRESSES;

/// Addresses of a wake that are told, each of which costs more than a nanosecond. Where little is inlined
/// more functions lie between who wakes and the waker.
pub(crate) const MOST_OF_A_WAKE: usize = if cfg!(debug_assertions) { 12 } else { 8 };
/// Records that are passed for that: the first address is none's.
const RECORDS_OF_A_WAKE: usize = MOST_OF_A_WAKE - 1;
const RECORDS_OF_A_CLONE: usize = MOST_ADDRESSES - 1;

/// Threads of a program that can have one.
const PLACES: usize = 128;

/// Of so many others a thread asks whether they are gone, which takes a system call each.
const MOST_ASKED: usize = 4;

/// In the word of a thread, {attachment 32 | number of its place + 1, 32}: there was none for it.
const NONE: u32 = u32::MAX;

/// The latest walks of a thread.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Walks {
    owner: AtomicU32,
    /// From where a traced future's waker was cloned.
    pub clone: LatestWalk<RECORDS_OF_A_CLONE>,
    /// From where one was called.
    pub wake: LatestWalk<RECORDS_OF_A_WAKE>,
}

static ALL: [Walks; PLACES] = [const { Walks::new() }; PLACES];

impl Walks {
    const fn new() -> Self {
        Walks {
            owner: AtomicU32::new(0),
            clone: LatestWalk::new(),
            wake: LatestWalk::new(),
        }
    }

    /// Those of the calling thread, if it has a place.
    #[inline(always)]
    pub fn of(polled: &Polled, attachment: u32) -> Option<&'static Walks> {
        let word = polled.walks.load(Ordering::Relaxed);
        let number = (word >> 32 == u64::from(attachment)).then_some(word as u32)?;
        ALL.get((number as usize).wrapping_sub(1))
    }

    /// Those of the calling thread, for which it looks for a place the first time.
    #[cold]
    pub fn find(polled: &Polled, attachment: u32) -> Option<&'static Walks> {
        if polled.walks.load(Ordering::Relaxed) >> 32 != u64::from(attachment) {
            let thread = Linux::thread_in(attachment) as u32;
            let found = claim(&ALL, thread, Linux::is_gone);
            found
                .and_then(|index| ALL.get(index))
                .inspect(|it| it.forget());
            let number = found.map_or(NONE, |index| index as u32 + 1);
            let word = u64::from(attachment) << 32 | u64::from(number);
            polled.walks.store(word, Ordering::Relaxed);
        }
        Walks::of(polled, attachment)
    }

    fn forget(&self) {
        self.clone.forget();
        self.wake.forget();
    }

    fn is_taken(&self, from: u32, by: u32) -> bool {
        let relaxed = Ordering::Relaxed;
        let taken = self.owner.compare_exchange(from, by, relaxed, relaxed);
        taken.is_ok()
    }
}

/// One that is this thread's already (a handler has come amid this, or an earlier thread had the same
/// id), or nobody's, or of one that is gone.
fn claim(all: &[Walks], thread: u32, is_gone: impl Fn(u32) -> bool) -> Option<usize> {
    let owner = |index: &usize| all[*index].owner.load(Ordering::Relaxed);
    let mut free = (0..all.len()).filter(|index| [0, thread].contains(&owner(index)));
    let free = free.find(|index| owner(index) == thread || all[*index].is_taken(0, thread));
    let begin = thread as usize;
    let mut others = (begin..begin + MOST_ASKED).map(|index| index % all.len());
    free.or_else(|| {
        others.find(|index| {
            let before = owner(index);
            is_gone(before) && all[*index].is_taken(before, thread)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::future::wakers::latest_walk::Key;
    use crate::linux::stack::walk::Here;

    // CT-13
    #[test]
    fn a_thread_forgets_the_walks_in_a_place_that_it_takes() {
        let polled = Polled::new();
        let find = |attachment| Walks::find(&polled, attachment).expect("there are places");
        let (whose, end, base, caller) = (1, 4096, 4096, 0);
        let here = Here {
            pc: 1,
            fp: 2048,
            sp: 2048,
        };
        let key = Key {
            whose,
            here,
            end,
            base,
            caller,
        };
        let walks = find(1);
        walks.clone.keep(&key, &[], 5);
        walks.wake.keep(&key, &[], 5);
        assert!(walks.clone.is_of(&key) && walks.wake.is_of(&key));
        assert!(core::ptr::eq(walks, find(2)), "it is the same thread");
        assert!(!walks.clone.is_of(&key) && !walks.wake.is_of(&key));
    }

    // CT-13
    #[test]
    fn each_thread_has_a_place_of_its_own_and_leaves_it_to_another_when_it_is_gone() {
        let all = [const { Walks::new() }; 3];
        let nobody_is_gone = |_| false;
        let found = [7, 8, 7, 9, 10].map(|thread| claim(&all, thread, nobody_is_gone));
        assert_eq!(found, [Some(0), Some(1), Some(0), Some(2), None]);
        assert_eq!(claim(&all, 11, |thread| thread == 8), Some(1));
        assert_eq!(claim(&all, 12, |thread| thread == 8), None, "it is 11's");
    }
}
