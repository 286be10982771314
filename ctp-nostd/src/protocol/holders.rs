//! The count of holders of the data that the wakers of a future share. The holders are the future itself,
//! and clones of its waker, each of which can wake the future. The station counts all clones as a single
//! waker (`live_wakers.rs`), so that most clones cost what clones of the executor's own waker cost.
//! ```text
//!   clone                                  drop
//!   H1 clones += 1                         H4 clones -= 1; none is left: counted = no
//!   H2 not counted: wakers += 1            H5 it was counted: wakers -= 1   = L3 of `live_wakers.rs`
//!   H3              counted = yes
//!                                          wake, by the only clone
//!   end of the poll                        L1 count the wake
//!   H6 none is left: counted = no          H8 claim = not used              (release)
//!   H7 it was counted: wakers -= 1         L2 the real wake
//!                                          H9 clones -= 1, used = claim     (one step)
//! ```
//! L1 and L2 are those of `live_wakers.rs`. Between H1 and H2 no other thread has that clone yet, so the
//! count of wakers is never below the number of clones in use. H4, H6 and H8 synchronize with what
//! earlier clones did, so that H5 and H7 come after all their wakes.
//!
//! From H8 on, that clone is used up: where claim and used differ, a counted clone no longer
//! exists for the count. The claim is a word of its own, so that a wake takes a single locked step.
//! Only the owner of the only clone writes the claim. Such owners follow each other, since H8 comes
//! after the H9 that it finds (acquire). The claim is read after the other word, and so is never
//! older than that word.
//!
//! The claim may be newer. Then the poll that this wake causes is still to come, and its H6 settles
//! the count. But another clone may be dropped at that time by a thread that read the claim before
//! H8. So where H6 finds one of several clones used up, it changes the word (polls += 1). That
//! makes the H4 of the other thread start again, and see the new claim.
//!
//! The last clone is still counted when it is used up, as long as the future exists. L2 causes
//! another poll of the future. That poll either takes a clone, or its end removes the count (H6).
//! So a waiting coroutine is never counted as having a waker that does not exist. A coroutine that
//! is woken each time, which is the usual case, changes the station for its first clone only. If
//! there are other clones, a wake is a wake by reference and a drop.

use crate::sync::{AtomicU32, AtomicU64, Ordering, fence};

/// The count of the holders of what the wakers of a future share.
#[derive(Debug)]
pub struct Holders {
    /// {clones 48 bits | polls 13 | used 1 | does the station count them? 1 | does the future hold it? 1}.
    word: AtomicU64,
    /// 0 or 1.
    claim: AtomicU32,
}

/// The follow-up work of a holder that gives up its hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FollowUp {
    /// The station should count one waker less.
    pub uncount: bool,
    /// No holder is left: the shared data should be freed.
    pub free: bool,
}

const FUTURE: u64 = 1;
const COUNTED: u64 = 2;
const USED: u64 = 4;
/// Polls that ended while one of several clones was used up, modulo 2^13.
const POLL: u64 = 8;
const POLLS: u64 = CLONE - POLL;
const CLONE: u64 = 1 << 16;
/// A program that leaks this many clones, without dropping any, cannot continue.
const MAX_CLONES: u64 = u64::MAX / 2;

impl Holders {
    /// A count with the future as the only holder.
    pub fn new() -> Self {
        Holders {
            word: AtomicU64::new(FUTURE),
            claim: AtomicU32::new(0),
        }
    }

    /// Adds a clone. If true, the station should count a waker, and the caller then calls
    /// [`set_counted`](Self::set_counted).
    #[inline]
    pub fn add(&self) -> bool {
        let before = self.word.fetch_add(CLONE, Ordering::Relaxed); // H1
        if before > MAX_CLONES {
            too_many();
        }
        before & COUNTED == 0 && self.is_first(before)
    }

    /// Whether no other clone was left, so that the new clone should be counted.
    #[cold]
    fn is_first(&self, before: u64) -> bool {
        fence(Ordering::Acquire); // pairs with H4, H6 and H9
        self.left(before) == 0
    }

    /// Notes that the station counts the clones from now on.
    pub fn set_counted(&self) {
        self.word.fetch_or(COUNTED, Ordering::Relaxed); // H3
    }

    /// Removes a clone in one attempt, if others are left, so that there is no follow-up work. If
    /// false, the caller uses [`subtract`](Self::subtract).
    #[inline(always)]
    pub fn subtract_if_others(&self) -> bool {
        let now = self.word.load(Ordering::Acquire);
        let after = now - CLONE;
        let (done, not) = (Ordering::AcqRel, Ordering::Relaxed);
        let is_with_others = self.left(after) != 0;
        is_with_others && self.word.compare_exchange(now, after, done, not).is_ok() // H4
    }

    /// Removes a clone.
    pub fn subtract(&self) -> FollowUp {
        self.change(|now| self.without_count(now - CLONE)) // H4
    }

    /// Marks a clone that a wake is about to use up. If true, it is the only clone, and does not
    /// count as left until [`end_wake`](Self::end_wake). If false, the caller
    /// [drops](Self::subtract) it afterwards.
    #[inline(always)]
    pub fn begin_wake(&self) -> bool {
        let now = self.word.load(Ordering::Acquire); // pairs with H9
        let is_only_clone = now / CLONE == 1;
        if is_only_clone {
            let claim = u32::from(now & USED == 0);
            self.claim.store(claim, Ordering::Release); // H8, pairs with the load in `used_up`
        }
        is_only_clone
    }

    /// Ends the wake that [`begin_wake`](Self::begin_wake) began.
    #[inline(always)]
    pub fn end_wake(&self) -> FollowUp {
        let change = match self.claim.load(Ordering::Relaxed) {
            0 => CLONE + USED,
            _ => CLONE - USED,
        };
        let before = self.word.fetch_sub(change, Ordering::AcqRel); // H9
        FollowUp::of_last(before - change)
    }

    /// The future no longer needs the shared data.
    pub fn release(&self) -> FollowUp {
        let before = self.word.fetch_sub(FUTURE, Ordering::AcqRel);
        FollowUp::of_last(before - FUTURE)
    }

    /// Ends a poll of the future. Returns the follow-up work, and whether several clones are left.
    #[inline]
    pub fn end_poll(&self) -> (FollowUp, bool) {
        let now = self.word.load(Ordering::Acquire);
        let (clones, used_up) = (now / CLONE, self.used_up(now));
        let must_check = now & COUNTED != 0 && (used_up != 0 || clones == 0);
        let follow_up = if must_check {
            self.change(|now| self.after_poll(now)) // H6
        } else {
            FollowUp::NOTHING
        };
        (follow_up, 1 + used_up < clones)
    }

    /// How many clones are left.
    pub fn clones(&self) -> usize {
        self.left(self.word.load(Ordering::Acquire)) as usize
    }

    /// The clones in this word, without a clone that is used up.
    #[inline(always)]
    fn left(&self, word: u64) -> u64 {
        (word / CLONE).saturating_sub(self.used_up(word))
    }

    /// 1 if a clone in this word is used up, else 0.
    #[inline(always)]
    fn used_up(&self, word: u64) -> u64 {
        let claim = self.claim.load(Ordering::Acquire); // pairs with H8
        (u64::from(claim) ^ (word / USED)) & 1
    }

    /// Clears the counted flag if no clone is left.
    #[inline(always)]
    fn without_count(&self, word: u64) -> u64 {
        match self.left(word) {
            0 => word & !COUNTED,
            _ => word,
        }
    }

    /// At the end of a poll: clears the counted flag if no clone is left, and changes the word if
    /// one of several clones is used up.
    fn after_poll(&self, word: u64) -> u64 {
        match self.left(word) {
            0 => word & !COUNTED,
            left if left == word / CLONE => word,
            _ => word & !POLLS | word.wrapping_add(POLL) & POLLS,
        }
    }

    #[inline(always)]
    fn change(&self, next: impl Fn(u64) -> u64) -> FollowUp {
        let mut now = self.word.load(Ordering::Acquire);
        loop {
            let after = next(now);
            let (done, not) = (Ordering::AcqRel, Ordering::Acquire);
            match self.word.compare_exchange_weak(now, after, done, not) {
                Ok(_) => return FollowUp::of(now, after),
                Err(other) => now = other,
            }
        }
    }
}

impl FollowUp {
    /// No follow-up work.
    pub const NOTHING: Self = FollowUp {
        uncount: false,
        free: false,
    };

    #[inline(always)]
    fn of(before: u64, after: u64) -> Self {
        FollowUp {
            uncount: (before ^ after) & COUNTED != 0,
            free: after & !(USED | POLLS) == 0,
        }
    }

    /// The work of a holder that leaves the count unchanged, unless it is the last.
    #[inline(always)]
    fn of_last(after: u64) -> Self {
        let is_last = after & !(USED | COUNTED | POLLS) == 0;
        FollowUp {
            uncount: is_last && after & COUNTED != 0,
            free: is_last,
        }
    }
}

impl Default for Holders {
    fn default() -> Self {
        Self::new()
    }
}

/// Ends the program, like the counters of the standard library: a count that wraps around would
/// free data in use. This function must not unwind.
#[cold]
extern "C" fn too_many() -> ! {
    panic!("too many wakers were cloned and never dropped")
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const UNCOUNT: FollowUp = FollowUp {
        uncount: true,
        free: false,
    };
    const FREE: FollowUp = FollowUp {
        uncount: false,
        free: true,
    };
    const BOTH: FollowUp = FollowUp {
        uncount: true,
        free: true,
    };

    fn with_clone() -> Holders {
        let holders = Holders::new();
        assert!(holders.add(), "no clone before");
        holders.set_counted();
        holders
    }

    fn end_poll(holders: &Holders) -> FollowUp {
        holders.end_poll().0
    }

    #[test]
    fn first_and_last_holders_are_detected() {
        let holders = with_clone();
        assert!(!holders.add());
        assert_eq!(
            (holders.clones(), holders.subtract()),
            (2, FollowUp::NOTHING)
        );
        assert_eq!(end_poll(&holders), FollowUp::NOTHING, "a clone is left");
        assert_eq!(holders.subtract(), UNCOUNT);
        assert!(holders.add(), "no clone before");
        holders.set_counted();
        assert_eq!(holders.release(), FollowUp::NOTHING);
        assert_eq!(holders.subtract(), BOTH);
        assert_eq!(Holders::new().release(), FREE);
    }

    fn wake(holders: &Holders) -> FollowUp {
        assert!(holders.begin_wake());
        holders.end_wake()
    }

    #[test]
    fn used_clone_stays_counted_until_a_poll_takes_none() {
        let holders = with_clone();
        assert_eq!(wake(&holders), FollowUp::NOTHING);
        assert!(!holders.add(), "still counted");
        assert_eq!(end_poll(&holders), FollowUp::NOTHING);
        assert_eq!(wake(&holders), FollowUp::NOTHING);
        assert_eq!(end_poll(&holders), UNCOUNT);
        assert_eq!(end_poll(&holders), FollowUp::NOTHING);
        assert!(holders.add());
    }

    #[test]
    fn poll_during_the_wake_sees_the_clone_used_up() {
        let holders = with_clone();
        assert!(holders.begin_wake());
        assert_eq!((holders.clones(), end_poll(&holders)), (0, UNCOUNT));
        assert_eq!(holders.end_wake(), FollowUp::NOTHING);
        let holders = with_clone();
        assert!(holders.begin_wake());
        assert!(!holders.add());
        assert_eq!(
            end_poll(&holders),
            FollowUp::NOTHING,
            "the poll has taken a clone"
        );
        assert_eq!(holders.end_wake(), FollowUp::NOTHING);
        assert_eq!(holders.subtract(), UNCOUNT);
    }

    #[test]
    fn clone_dropped_during_another_wake_was_the_last() {
        let holders = with_clone();
        assert!(holders.begin_wake());
        assert!(!holders.add(), "the previous clone is still counted");
        assert_eq!(
            (holders.clones(), holders.end_poll()),
            (1, (FollowUp::NOTHING, false))
        );
        assert!(!holders.begin_wake(), "to be dropped after its wake");
        assert_eq!(holders.subtract(), UNCOUNT);
        assert_eq!(holders.end_wake(), FollowUp::NOTHING);
        assert_eq!(holders.release(), FREE);
    }

    #[test]
    fn no_clone_stays_counted_after_the_future_is_dropped() {
        let holders = with_clone();
        assert_eq!(wake(&holders), FollowUp::NOTHING);
        assert_eq!(holders.release(), BOTH);
        let holders = with_clone();
        assert_eq!(holders.release(), FollowUp::NOTHING);
        assert_eq!(wake(&holders), BOTH);
        let holders = with_clone();
        assert!(holders.begin_wake());
        assert_eq!(
            holders.release(),
            FollowUp::NOTHING,
            "a wake is in progress"
        );
        assert_eq!(holders.end_wake(), BOTH);
        let holders = with_clone();
        assert!(holders.begin_wake());
        assert_eq!(end_poll(&holders), UNCOUNT);
        assert_eq!(holders.release(), FollowUp::NOTHING);
        assert_eq!(holders.end_wake(), FREE);
    }
}
