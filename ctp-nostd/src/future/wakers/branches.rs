//! The leaf futures for which a traced future waits at the same time, such as the branches of a
//! `select!`. Each leaf is identified by its await chain.
//!
//! In most polls a single leaf clones the waker, and its chain is the place of the wait. This module
//! is for all other polls. In a *precise* poll each polled leaf clones the waker again, since the
//! borrowed waker equals no clone. Each clone of such a poll carries the number of a branch, in its
//! table of functions, so that three things are known:
//!
//! ```text
//!   cloned     by this poll           the leaf was polled
//!   alive      a clone is left        the leaf still waits, or its future is kept for later
//!   woken      before this poll       the leaf may have made progress
//! ```
//! At the end of the poll, the coroutine waits for the branches that are cloned and alive. A branch
//! has *stayed* if the coroutine waited for it after the previous poll too, and none of its wakers
//! was called in between. So a branch that never makes progress is seen to wait, however often
//! another branch ends. A branch has *departed* if the coroutine waited for it after the previous poll,
//! none of its wakers was called, and now it waits for no branch with that chain. The compiler may
//! duplicate the code of a `select!`, so the same leaf may have another chain in the next poll.
//!
//! A poll is precise if the recording asks for it (`--precise-chains`), or once a poll of this
//! future did not show where the coroutine waits: several clones were left, several leaves cloned
//! the waker, or no leaf did. Some leaf futures wake the waker that they replace, and would thus
//! wake their own task in each poll. Others collect all wakers that differ. A future is never
//! polled precisely again after its wakers were called in several such polls in a row, or once it has
//! very many wakers. A single such poll proves nothing: a permit that is released in the poll may go
//! to a leaf that waits beside it.
//!
//! All words but `woken` and the counts of clones are changed only by the thread that polls.

mod awaited;

use core::sync::atomic::{AtomicU32, Ordering};

use crate::protocol::branches::{BranchSet, MAX_BRANCHES};
pub(crate) use awaited::Awaited;
use awaited::{bits, first_of};

/// A future with more wakers than this is polled as usual.
const MAX_WAKERS: usize = 64;

/// After this many precise polls in a row in which a waker was called, there are no more.
const MAX_POLLS_WITH_WAKES: u32 = 8;

/// In `polls_with_wakes`: a waker was called in this poll.
const WAKE_INSIDE: u32 = 1 << 31;

/// A bit for each branch.
const ALL: u32 = (1 << MAX_BRANCHES) - 1;

/// How the next poll is done.
const USUAL: u32 = 0;
const PRECISE: u32 = 1;
const NEVER_PRECISE: u32 = 2;

/// The branches of a traced future.
#[derive(Debug)]
pub(crate) struct Branches {
    mode: AtomicU32,
    /// A bit for each branch: a waker was called since the latest poll began.
    woken: AtomicU32,
    /// A bit for each branch that this poll cloned.
    cloned: AtomicU32,
    /// A bit for each branch of which another traced future keeps an older waker.
    kept_inside: AtomicU32,
    /// A bit for each branch that was awaited after the previous poll and not woken since. The branch has
    /// stayed if it is still awaited after this poll.
    staying: AtomicU32,
    /// The number of the branch that was cloned last.
    last: AtomicU32,
    /// {the last branch 24 | a bit for each branch 8} of the wait after the previous poll; 0 if the
    /// number of one of these branches has been taken for another chain.
    before: AtomicU32,
    /// The same of the latest set of branches whose id is in `stored_id`; 0 if there is none.
    stored: AtomicU32,
    stored_id: AtomicU32,
    /// {a waker was called in this poll 1 | such precise polls in a row 31}.
    polls_with_wakes: AtomicU32,
    all: [Branch; MAX_BRANCHES],
}

#[derive(Debug)]
struct Branch {
    /// Id of the chain, 0 for an unused branch.
    chain: AtomicU32,
    /// The wakers with the number of this branch.
    clones: AtomicU32,
}

impl Branch {
    const fn new() -> Self {
        Branch {
            chain: AtomicU32::new(0),
            clones: AtomicU32::new(0),
        }
    }
}

fn get(word: &AtomicU32) -> u32 {
    word.load(Ordering::Relaxed)
}

fn set(word: &AtomicU32, value: u32) {
    word.store(value, Ordering::Relaxed);
}

impl Branches {
    pub const fn new(is_precise: bool) -> Self {
        Branches {
            mode: AtomicU32::new(if is_precise { PRECISE } else { USUAL }),
            woken: AtomicU32::new(0),
            cloned: AtomicU32::new(0),
            kept_inside: AtomicU32::new(0),
            staying: AtomicU32::new(0),
            last: AtomicU32::new(0),
            before: AtomicU32::new(0),
            stored: AtomicU32::new(0),
            stored_id: AtomicU32::new(0),
            polls_with_wakes: AtomicU32::new(0),
            all: [const { Branch::new() }; MAX_BRANCHES],
        }
    }

    /// Whether each leaf should clone the waker in each poll.
    #[inline(always)]
    pub fn is_precise(&self) -> bool {
        get(&self.mode) == PRECISE
    }

    /// Requests precise polls, because the latest poll did not show where the coroutine waits. `wakers` is
    /// the number of wakers that are left.
    pub fn ask_for_precise_polls(&self, wakers: usize) {
        if wakers != 0 && get(&self.mode) == USUAL {
            set(&self.mode, PRECISE);
        }
        if MAX_WAKERS < wakers {
            self.end_precise_polls();
        }
    }

    /// Ends precise polls for good.
    #[cold]
    fn end_precise_polls(&self) {
        set(&self.mode, NEVER_PRECISE);
    }

    /// Notes that a waker of this future is called within a precise poll. A leaf that wakes the waker which
    /// it replaces does so in each precise poll, so that these polls would never end.
    #[cold]
    pub fn wake_inside(&self) {
        let polls = get(&self.polls_with_wakes);
        if polls & WAKE_INSIDE != 0 {
            return;
        }
        set(&self.polls_with_wakes, (polls + 1) | WAKE_INSIDE);
        if polls + 1 == MAX_POLLS_WITH_WAKES {
            self.end_precise_polls();
        }
    }

    /// Begins a poll.
    pub fn begin_poll(&self) {
        let polls = get(&self.polls_with_wakes);
        let in_a_row = if polls & WAKE_INSIDE == 0 {
            0
        } else {
            polls & !WAKE_INSIDE
        };
        set(&self.polls_with_wakes, in_a_row);
        set(&self.cloned, 0);
        set(&self.kept_inside, 0);
        let woken = self.woken.swap(0, Ordering::Relaxed);
        set(&self.staying, get(&self.staying) & !woken);
    }

    /// Precise poll: notes that a leaf with this chain clones the waker. Returns the number of the
    /// clone's branch, or `None` if there is no number left.
    pub fn clone_of(&self, chain: u32) -> Option<usize> {
        let number = self.note(chain)?;
        self.add_clone(number);
        Some(number)
    }

    /// Usual poll: notes that a leaf with this chain clones the waker.
    pub fn note(&self, chain: u32) -> Option<usize> {
        let number = self.find(chain).or_else(|| self.claim(chain))?;
        set(&self.cloned, get(&self.cloned) | 1 << number);
        set(&self.last, number as u32);
        Some(number)
    }

    fn find(&self, chain: u32) -> Option<usize> {
        self.all
            .iter()
            .position(|branch| chain != 0 && get(&branch.chain) == chain)
    }

    /// Takes a branch that no waker and no recent poll uses.
    fn claim(&self, chain: u32) -> Option<usize> {
        let used = get(&self.cloned) | get(&self.staying);
        let before = get(&self.before) & ALL;
        let number = self.unused(used | before).or_else(|| {
            set(&self.before, 0);
            self.unused(used)
        });
        let number = number.filter(|_| chain != 0)?;
        set(&self.all[number].chain, chain);
        set(&self.stored, 0);
        self.woken.fetch_and(!(1 << number), Ordering::Relaxed);
        Some(number)
    }

    /// A branch without wakers, other than those with a bit in `used`.
    fn unused(&self, used: u32) -> Option<usize> {
        (0..MAX_BRANCHES).find(|&number| {
            used & 1 << number == 0 && self.all[number].clones.load(Ordering::Acquire) == 0
        })
    }

    /// Notes that a waker of this branch is cloned.
    #[inline]
    pub fn add_clone(&self, number: usize) {
        self.all[number].clones.fetch_add(1, Ordering::Relaxed);
    }

    /// Notes that a waker of this branch is dropped, or consumed by a call.
    #[inline]
    pub fn remove_clone(&self, number: usize) {
        self.all[number].clones.fetch_sub(1, Ordering::Release); // pairs with `claim`
    }

    /// Notes that a waker of this branch is called.
    #[inline]
    pub fn wake(&self, number: usize) {
        self.woken.fetch_or(1 << number, Ordering::Relaxed);
    }

    /// Notes that the branch that was cloned last waits although its clone is dropped, because a traced
    /// future inside it keeps the waker of an earlier poll.
    pub fn keep_last(&self) {
        let last = 1 << get(&self.last) & get(&self.cloned);
        set(&self.kept_inside, get(&self.kept_inside) | last);
    }

    /// Forgets the branches that this poll has found so far, because their waits are over.
    #[cold]
    pub fn forget_poll(&self) {
        set(&self.cloned, 0);
    }

    /// Ends a poll. Returns the branches for which the coroutine waits.
    pub fn end_poll(&self, was_precise: bool) -> Awaited<'_> {
        let cloned = get(&self.cloned);
        // Only the wakers of a precise poll show whether a branch is alive, and whether it is woken.
        let (waiting, departed, may_stay) = if was_precise {
            let alive = self.alive(cloned);
            let waiting = alive | cloned & get(&self.kept_inside);
            (waiting, get(&self.staying) & !waiting, alive)
        } else {
            (cloned, 0, 0)
        };
        let last = get(&self.last);
        let awaited = Awaited {
            all: self,
            waiting,
            last,
            stayed: get(&self.staying) & waiting,
            departed: self.departed(departed),
        };
        set(&self.staying, may_stay);
        set(&self.before, awaited.key());
        set(&self.cloned, 0);
        awaited
    }

    /// A bit for each branch of the previous wait that is in `departed`, in the order of that set.
    fn departed(&self, departed: u32) -> u64 {
        if departed == 0 {
            return 0;
        }
        let before = get(&self.before);
        let (waiting, last) = (before & ALL, before >> MAX_BRANCHES);
        self.set_of(waiting, last, departed).marks()
    }

    /// The branches with a bit in `branches`, of which `last` was polled last. Those with a bit in `marks`
    /// are marked.
    fn set_of(&self, branches: u32, last: u32, marks: u32) -> BranchSet {
        let mut set = BranchSet::default();
        let first = first_of(branches, last);
        for number in bits(first).chain(bits(branches & !first)) {
            set.insert(self.chain(number), marks & 1 << number != 0);
        }
        set
    }

    fn chain(&self, number: usize) -> u32 {
        get(&self.all[number].chain)
    }

    /// Those of these branches that have wakers.
    fn alive(&self, branches: u32) -> u32 {
        bits(branches).fold(0, |alive, number| {
            alive | u32::from(get(&self.all[number].clones) != 0) << number
        })
    }
}

#[cfg(test)]
mod tests {
    use heap::vec::Vec;

    use super::*;

    /// A precise poll in which leaves with these chains clone the waker, and drop their old waker.
    fn poll<'b>(
        branches: &'b Branches,
        kept: &mut [Option<usize>; 10],
        chains: &[u32],
    ) -> Awaited<'b> {
        branches.begin_poll();
        for &chain in chains {
            let clone = branches.clone_of(chain);
            let old = core::mem::replace(&mut kept[chain as usize], clone);
            old.into_iter().for_each(|old| branches.remove_clone(old));
        }
        branches.end_poll(true)
    }

    fn chains(awaited: &Awaited) -> Vec<(u32, bool)> {
        awaited.set().iter().collect()
    }

    #[test]
    fn branch_stays_until_its_waker_is_called() {
        let (branches, mut kept) = (Branches::new(true), [None; 10]);
        assert_eq!(
            chains(&poll(&branches, &mut kept, &[5, 6])),
            [(6, false), (5, false)]
        );
        branches.wake(kept[6].expect("a clone"));
        assert_eq!(
            chains(&poll(&branches, &mut kept, &[6, 5])),
            [(5, true), (6, false)]
        );
        branches.wake(kept[5].expect("a clone"));
        assert_eq!(
            chains(&poll(&branches, &mut kept, &[5, 6])),
            [(6, true), (5, false)]
        );
    }

    #[test]
    fn id_of_a_set_is_kept_until_a_branch_has_another_chain() {
        let (branches, mut kept) = (Branches::new(true), [None; 10]);
        let found = poll(&branches, &mut kept, &[5, 6]);
        assert_eq!(found.id(|_| 0), 0);
        assert_eq!(found.id(|set| set.iter().count() as u32), 2);
        let found = poll(&branches, &mut kept, &[5, 6]);
        assert_eq!(found.id(|_| 3), 2, "the same branches");
        let found = poll(&branches, &mut kept, &[6, 5]);
        assert_eq!(found.id(|_| 4), 4, "another was polled last");
        branches.remove_clone(kept[6].take().expect("a clone"));
        poll(&branches, &mut kept, &[5]);
        poll(&branches, &mut kept, &[5]);
        let found = poll(&branches, &mut kept, &[7, 5]);
        assert_eq!(found.id(|_| 5), 5, "another chain");
    }

    #[test]
    fn branch_without_waker_is_over() {
        let (branches, mut kept) = (Branches::new(true), [None; 10]);
        poll(&branches, &mut kept, &[5, 6]);
        branches.begin_poll();
        let sleep = branches.clone_of(7).expect("a branch");
        branches.remove_clone(sleep);
        let lock = branches.clone_of(5).expect("a branch");
        assert_eq!(chains(&branches.end_poll(true)), [(5, true)]);
        branches.remove_clone(lock);
        branches.begin_poll();
        assert_eq!(chains(&branches.end_poll(true)), [], "not polled");
    }

    #[test]
    fn branch_that_was_not_woken_has_departed_with_its_chain() {
        let (branches, mut kept) = (Branches::new(true), [None; 10]);
        poll(&branches, &mut kept, &[5, 6]);
        branches.wake(kept[5].expect("a clone"));
        // The leaf with chain 6 now has chain 8, and that with chain 5 has chain 7.
        let set = poll(&branches, &mut kept, &[8, 7]);
        assert_eq!(chains(&set), [(7, false), (8, false)]);
        assert_eq!(set.argument(), 0b01 << MAX_BRANCHES, "6 was polled last");
        branches.wake(kept[8].expect("a clone"));
        let set = poll(&branches, &mut kept, &[7, 8]);
        assert_eq!(set.argument(), 0b10, "no branch has departed");
    }

    #[test]
    fn branches_without_wakers_are_used_again() {
        let (branches, mut kept) = (Branches::new(true), [None; 10]);
        let all: Vec<u32> = (1..=MAX_BRANCHES as u32 + 1).collect();
        let found = poll(&branches, &mut kept, &all);
        assert_eq!(chains(&found).len(), MAX_BRANCHES);
        kept.iter()
            .flatten()
            .for_each(|number| branches.remove_clone(*number));
        let mut kept = [None; 10];
        poll(&branches, &mut kept, &[1]);
        assert_eq!(
            chains(&poll(&branches, &mut kept, &[9, 1])),
            [(1, true), (9, false)]
        );
    }

    #[test]
    fn future_with_a_leaf_that_wakes_old_wakers_is_left_alone() {
        let branches = Branches::new(false);
        branches.ask_for_precise_polls(0);
        assert!(!branches.is_precise(), "there is no leaf");
        branches.ask_for_precise_polls(1);
        for polls in 1..=MAX_POLLS_WITH_WAKES {
            assert!(branches.is_precise(), "{polls}");
            branches.begin_poll();
            branches.wake_inside();
            branches.wake_inside();
        }
        branches.ask_for_precise_polls(2);
        assert!(!branches.is_precise());
        let collects = Branches::new(true);
        collects.ask_for_precise_polls(MAX_WAKERS + 1);
        assert!(!collects.is_precise());
    }

    #[test]
    fn wakes_in_some_polls_do_not_end_precise_polls() {
        let branches = Branches::new(true);
        for poll in 0..4 * MAX_POLLS_WITH_WAKES {
            branches.begin_poll();
            if poll % MAX_POLLS_WITH_WAKES != 0 {
                branches.wake_inside();
            }
        }
        assert!(branches.is_precise());
    }

    #[test]
    fn usual_poll_knows_no_branch_that_stays() {
        let branches = Branches::new(false);
        for _ in 0..2 {
            branches.begin_poll();
            branches.note(5);
            branches.note(6);
            assert_eq!(chains(&branches.end_poll(false)), [(6, false), (5, false)]);
        }
        branches.begin_poll();
        branches.note(5);
        branches.forget_poll();
        assert_eq!(chains(&branches.end_poll(false)), []);
    }
}
