//! Who holds what the wakers of a future share: the future itself, clones, each of which can wake it,
//! and those that are used up by a wake that goes on. The station counts all clones as one
//! (`live.rs`), so that most cost what clones of the executor's own waker do.
//!
//! ```text
//!   clone                                  drop
//!   H1 clones += 1                         H4 clones -= 1; none is left: counted = no
//!   H2 not counted: wakers += 1            H5 it was counted: wakers -= 1   = L3 of `live.rs`
//!   H3              counted = yes
//!                                          wake, which uses up a clone
//!   end of the poll                        L1 count the wake
//!   H6 no clone: counted = no              H8 clones -= 1, waking += 1
//!   H7 it was counted: wakers -= 1         L2 the real wake
//!                                          H9 waking -= 1; nobody is left: as in a drop
//! ```
//! Between H1 and H2 nobody else has that clone yet, so wakers are never fewer than those who have
//! one. H4, H6 and H8 bring what earlier clones did, so that H5 and H7 come after all their wakes.
//!
//! The last clone is still counted when H8 has used it up, as long as the future is there: L2 has it
//! polled again, where it takes a clone or is told apart at the end of that poll (H6). So one that waits
//! is never counted as if it had a waker, and one that is woken each time, as it mostly is, has the
//! station changed for its first clone only. Where there are other clones a wake is as one by
//! reference, and a drop.

use crate::sync::{AtomicU64, Ordering};

/// Counts them: {clones 40 bits | waking 22 | does the station count them? 1 | does the future hold it?
/// 1}.
#[derive(Debug)]
pub struct Holders(AtomicU64);

/// What is to be done by who lets go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Duty {
    /// The station is to count one less.
    pub uncount: bool,
    /// Nobody is left: it is to be freed.
    pub free: bool,
}

const FUTURE: u64 = 1;
const COUNTED: u64 = 2;
/// No more threads than there can be are in a wake at a time.
const WAKING: u64 = 4;
const CLONE: u64 = WAKING << 22;
/// Who forgets so many clones, without dropping one, has a program that cannot go on.
const MOST: u64 = u64::MAX / 2;

impl Holders {
    /// The future alone.
    pub fn new() -> Self {
        Holders(AtomicU64::new(FUTURE))
    }

    /// One clone more. Is the station to count it? Then [`is_counted`](Self::is_counted) is next.
    #[inline]
    pub fn add(&self) -> bool {
        let before = self.0.fetch_add(CLONE, Ordering::Relaxed); // H1
        if before > MOST {
            too_many();
        }
        before < CLONE && before & COUNTED == 0
    }

    /// The station counts it now.
    pub fn is_counted(&self) {
        self.0.fetch_or(COUNTED, Ordering::Relaxed); // H3
    }

    /// One clone less.
    #[inline(always)]
    pub fn subtract(&self) -> Duty {
        // H4
        self.change(|now| match now - CLONE {
            without if without < CLONE => without & !COUNTED,
            others => others,
        })
    }

    /// A clone is about to be used up by a wake. If it is the only one it is a clone no more, until
    /// [`has_woken`](Self::has_woken); else it is to be [dropped](Self::subtract) afterwards, which
    /// takes a step less.
    #[inline(always)]
    pub fn wakes(&self) -> bool {
        let is_only_one = self.clones() == 1;
        if is_only_one {
            self.0.fetch_sub(CLONE - WAKING, Ordering::AcqRel); // H8
        }
        is_only_one
    }

    /// That is over.
    #[inline(always)]
    pub fn has_woken(&self) -> Duty {
        self.change(|now| nobody_is_counted(now - WAKING)) // H9
    }

    /// The future needs it no more.
    pub fn let_go(&self) -> Duty {
        self.change(|now| nobody_is_counted(now - FUTURE))
    }

    /// A poll of the future ends.
    #[inline]
    pub fn end_poll(&self) -> Duty {
        let now = self.0.load(Ordering::Relaxed);
        match now < CLONE && now & COUNTED != 0 {
            true => self.change(|now| now & !COUNTED), // H6
            false => Duty::NOTHING,
        }
    }

    /// So many.
    #[inline]
    pub fn clones(&self) -> usize {
        (self.0.load(Ordering::Relaxed) / CLONE) as usize
    }

    #[inline(always)]
    fn change(&self, next: impl Fn(u64) -> u64) -> Duty {
        let mut now = self.0.load(Ordering::Relaxed);
        loop {
            let after = next(now);
            let (done, not) = (Ordering::AcqRel, Ordering::Relaxed);
            match self.0.compare_exchange_weak(now, after, done, not) {
                Ok(_) => return Duty::of(now, after),
                Err(other) => now = other,
            }
        }
    }
}

/// Where nobody is left, none is counted.
#[inline(always)]
fn nobody_is_counted(now: u64) -> u64 {
    match now {
        COUNTED => 0,
        some => some,
    }
}

impl Duty {
    const NOTHING: Self = Duty {
        uncount: false,
        free: false,
    };

    #[inline(always)]
    fn of(before: u64, after: u64) -> Self {
        Duty {
            uncount: (before ^ after) & COUNTED != 0,
            free: after == 0,
        }
    }
}

impl Default for Holders {
    fn default() -> Self {
        Self::new()
    }
}

/// Ends the program, as what the standard library counts does: a count that goes round would free what
/// others hold. To unwind is not allowed out of here.
#[cold]
extern "C" fn too_many() -> ! {
    panic!("too many wakers were cloned and never dropped")
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const UNCOUNT: Duty = Duty {
        uncount: true,
        free: false,
    };
    const FREE: Duty = Duty {
        uncount: false,
        free: true,
    };
    const BOTH: Duty = Duty {
        uncount: true,
        free: true,
    };

    fn with_clone() -> Holders {
        let holders = Holders::new();
        assert!(holders.add(), "there was none");
        holders.is_counted();
        holders
    }

    #[test]
    fn who_comes_first_and_who_is_left_is_told() {
        let holders = with_clone();
        assert!(!holders.add());
        assert_eq!((holders.clones(), holders.subtract()), (2, Duty::NOTHING));
        assert_eq!(holders.end_poll(), Duty::NOTHING, "there is one");
        assert_eq!(holders.subtract(), UNCOUNT);
        assert!(holders.add(), "there was none");
        holders.is_counted();
        assert_eq!(holders.let_go(), Duty::NOTHING);
        assert_eq!(holders.subtract(), BOTH);
        assert_eq!(Holders::new().let_go(), FREE);
    }

    fn wake(holders: &Holders) -> Duty {
        assert!(holders.wakes());
        holders.has_woken()
    }

    #[test]
    fn a_clone_that_wakes_stays_counted_until_a_poll_takes_none() {
        let holders = with_clone();
        assert_eq!(wake(&holders), Duty::NOTHING);
        assert!(!holders.add(), "it is still counted");
        assert_eq!(holders.end_poll(), Duty::NOTHING);
        assert_eq!(wake(&holders), Duty::NOTHING);
        assert_eq!(holders.end_poll(), UNCOUNT);
        assert_eq!(holders.end_poll(), Duty::NOTHING);
        assert!(holders.add());
    }

    #[test]
    fn a_poll_that_comes_amid_the_wake_sees_that_clone_used_up() {
        let holders = with_clone();
        assert!(holders.wakes());
        assert_eq!((holders.clones(), holders.end_poll()), (0, UNCOUNT));
        assert_eq!(holders.has_woken(), Duty::NOTHING);
        let holders = with_clone();
        assert!(holders.wakes());
        assert!(!holders.add());
        assert_eq!(holders.end_poll(), Duty::NOTHING, "it has taken one");
        assert_eq!(holders.has_woken(), Duty::NOTHING);
        assert_eq!(holders.subtract(), UNCOUNT);
    }

    #[test]
    fn once_the_future_is_gone_nothing_stays_counted() {
        let holders = with_clone();
        assert_eq!(wake(&holders), Duty::NOTHING);
        assert_eq!(holders.let_go(), BOTH);
        let holders = with_clone();
        assert_eq!(holders.let_go(), Duty::NOTHING);
        assert_eq!(wake(&holders), BOTH);
        let holders = with_clone();
        assert!(holders.wakes());
        assert_eq!(holders.let_go(), Duty::NOTHING, "somebody is at it");
        assert_eq!(holders.has_woken(), BOTH);
        let holders = with_clone();
        assert!(holders.wakes());
        assert_eq!(holders.end_poll(), UNCOUNT);
        assert_eq!(holders.let_go(), Duty::NOTHING);
        assert_eq!(holders.has_woken(), FREE);
    }
}
