//! What the coming rows of a coroutine are expected to say.

use super::Spot;
use crate::record::{Event, EventKind};

/// What is expected of the next row of a coroutine. An event at which all is as always asks only for what
/// comes before `spots_of_suspends`, a cache line.
#[derive(Clone, Copy, Default)]
#[repr(C, align(64))]
pub(super) struct Expectation {
    n: u64,
    tid: u64,
    suspended: Habit,
    other: Habit,
    spots_of_suspends: Spots,
    spots_of_others: Spots,
    pub wakes: u32,
}

const _: () = assert!(std::mem::offset_of!(Expectation, spots_of_suspends) == 64);

/// What a coroutine's suspends have in common, or its other events.
#[derive(Clone, Copy, Default)]
struct Habit {
    /// What the next one will say.
    spot: Spot,
    seen: u16,
    /// How much more each has seen than the one before.
    step: u16,
    /// The block has such an event of this coroutine.
    met: bool,
    /// It has, and the latest spots are all the same.
    is_settled: bool,
}

/// The latest first.
type Spots = [Spot; 3];

/// What an event is expected to say.
pub(super) struct Foretold {
    pub n: u64,
    pub tid: u64,
    pub spot: Spot,
    pub seen: u16,
}

impl Expectation {
    pub fn of_a_stranger(&self) -> Self {
        let mut like_this = *self;
        for habit in [&mut like_this.suspended, &mut like_this.other] {
            (habit.met, habit.is_settled) = (false, false);
        }
        like_this
    }

    /// What the next event of this kind will say.
    #[inline]
    pub fn foretell(&self, kind: EventKind, tid_before: u64) -> Foretold {
        let habit = match kind {
            EventKind::Suspend => &self.suspended,
            _ => &self.other,
        };
        Foretold {
            n: self.n,
            tid: self.tid_of(kind, tid_before),
            spot: habit.spot,
            seen: habit.seen,
        }
    }

    /// An event of this kind has come. Gives what was foretold.
    #[inline(always)]
    pub fn meet(
        &mut self,
        event: &Event,
        kind: EventKind,
        spot: Spot,
        tid_before: u64,
    ) -> Foretold {
        let tid = self.tid_of(kind, tid_before);
        self.tid = event.tid;
        let n = core::mem::replace(&mut self.n, event.n.wrapping_add(1));
        let (habit, spots) = match kind {
            EventKind::Suspend => (&mut self.suspended, &mut self.spots_of_suspends),
            _ => (&mut self.other, &mut self.spots_of_others),
        };
        let foretold = Foretold {
            n,
            tid,
            spot: habit.spot,
            seen: habit.seen,
        };
        if habit.is_settled && habit.spot == spot && habit.seen == event.wake_seen {
            habit.seen = habit.seen.wrapping_add(habit.step);
        } else {
            habit.meet(spot, event.wake_seen, spots);
        }
        foretold
    }

    /// A run may be on any thread; what follows it is on the same one.
    #[inline]
    fn tid_of(&self, kind: EventKind, tid_before: u64) -> u64 {
        match kind {
            EventKind::Birth | EventKind::Run => tid_before,
            EventKind::Suspend | EventKind::Death => self.tid,
        }
    }
}

impl Habit {
    #[inline]
    fn meet(&mut self, spot: Spot, seen: u16, spots: &mut Spots) {
        if self.met {
            let before = self.seen.wrapping_sub(self.step);
            self.step = seen.wrapping_sub(before);
        }
        // Wakes between two runs are most often as many as the last time.
        self.seen = seen.wrapping_add(self.step);
        self.met = true;
        self.meet_spot(spot, spots);
    }

    /// Coroutines go round in loops: what came after this spot the last time comes again.
    #[inline]
    fn meet_spot(&mut self, spot: Spot, spots: &mut Spots) {
        let [latest, second, third] = *spots;
        self.spot = match spot {
            _ if spot == latest => spot,
            _ if spot == second => latest,
            _ if spot == third => second,
            _ => spot,
        };
        self.is_settled = spots.iter().all(|one| *one == spot);
        *spots = [spot, latest, second];
    }
}

impl Foretold {
    /// Have its numbers all come true?
    #[inline]
    pub fn are_numbers_of(&self, event: &Event) -> bool {
        self.n == event.n && self.tid == event.tid && self.seen == event.wake_seen
    }
}
