//! One coroutine waits, and another one runs in its stead, at one time: two events for one look at
//! the clock, at what control says, and at the thread's lane.
//!
//! The steps are those of `seat.rs`, each for both; a handler may come between any two of them.
//! ```text
//!   E1 both are alone
//!   E2 the time, not before the latest of either; two places in the lane  (one step)
//!   E3 begun of the one that waits, else both anew
//!   E3 begun of the one that runs, else that one anew
//!   K4, E4 and E5 of the one that waits and of the one that runs; E6
//! ```

use crate::lane::Ring;
use crate::platform::{Local, Platform};
use crate::seat::{Begun, Said, Seat};
use crate::sync::Ordering;
use crate::thread_lane::Place;

/// The numbers of both events, their time, and the first of their places in the lane.
#[derive(Clone, Copy)]
struct Taken {
    n: u64,
    next_n: u64,
    at: u64,
    thread: u64,
    place: Option<Place>,
}

impl Taken {
    #[inline(always)]
    fn first(&self) -> Begun {
        Begun::alone(self.n, self.at, self.thread, self.place)
    }

    #[inline(always)]
    fn second(&self) -> Begun {
        let place = self.place.map(|place| place.next());
        Begun::alone(self.next_n, self.at, self.thread, place)
    }
}

impl<P: Platform> Seat<P> {
    /// Publishes two events that are kept: what this one says, and what `next` says.
    #[inline(always)]
    pub fn switch(&self, next: &Self, local: Option<&Local>, waits: Said, runs: Said) {
        let now = || self.probe.ns_at_once();
        let Some(taken) = local.and_then(|local| {
            let ring = self.probe.at_hand(local)?;
            self.take_both(next, local, ring, now)
        }) else {
            return self.switch_slowly(next, waits, runs);
        };
        self.tell_both(next, &taken, &waits, &runs);
    }

    /// E1 and E2, if all is as it mostly is.
    #[inline(always)]
    fn take_both(
        &self,
        next: &Self,
        local: &Local,
        ring: Option<Ring<'static>>,
        now: impl FnOnce() -> Option<u64>,
    ) -> Option<Taken> {
        if !core::ptr::eq(self.probe.region.header, next.probe.region.header) {
            return None;
        }
        let (n, next_n) = (self.next_alone()?, next.next_alone()?);
        let last_ts = self.last_ts().max(next.last_ts());
        let (at, place) = Place::take(ring, 2, || Some(now()?.max(last_ts)))?;
        Some(Taken {
            n,
            next_n,
            at,
            thread: P::thread_of(local),
            place,
        })
    }

    /// E3 and all that follows.
    #[inline(always)]
    fn tell_both(&self, next: &Self, taken: &Taken, waits: &Said, runs: &Said) {
        let (at, place) = (taken.at, taken.place.map(|place| place.at));
        if !self.enter(taken.n, at) {
            return self.switch_anew(next, place, at, *waits, *runs);
        }
        let has_entered = next.enter(taken.next_n, at);
        if !has_entered || self.probe.control_word() != 0 {
            return self.switch_apart(next, place, at, has_entered, *waits, *runs);
        }
        self.write(&taken.first(), 0, waits);
        self.complete(taken.n, at, waits.kind as u8);
        next.write(&taken.second(), 0, runs);
        next.complete(taken.next_n, at, runs.kind as u8);
        self.probe.call_recorder();
    }

    #[inline(always)]
    fn last_ts(&self) -> u64 {
        self.station.last_ts.load(Ordering::Relaxed)
    }

    /// Still at one time where only the kernel knows it, else one after the other.
    #[cold]
    #[inline(never)]
    fn switch_slowly(&self, next: &Self, waits: Said, runs: Said) {
        let now = || Some(P::now_ns());
        let take = |local| {
            let ring = self.probe.any_at_hand(local)?;
            self.take_both(next, local, ring, now)
        };
        if let Some(taken) = P::local().and_then(take) {
            return self.tell_both(next, &taken, &waits, &runs);
        }
        self.event_slowly(waits);
        next.event_slowly(runs);
    }

    /// A handler has recorded an event of the one that waits.
    #[cold]
    #[inline(never)]
    fn switch_anew(&self, next: &Self, place: Option<u64>, at: u64, waits: Said, runs: Said) {
        self.give_way(place, at);
        next.probe
            .void(place.map(|place| place.wrapping_add(1)), at);
        self.event_slowly(waits);
        next.event_slowly(runs);
    }

    /// The one that waits has begun its event. A handler has recorded one of the next one since, or
    /// control has changed.
    #[cold]
    #[inline(never)]
    fn switch_apart(
        &self,
        next: &Self,
        place: Option<u64>,
        at: u64,
        has_entered: bool,
        waits: Said,
        runs: Said,
    ) {
        // Amid an event the head stays where it is.
        let taken = Taken {
            n: self.station.event_head.load(Ordering::Relaxed),
            next_n: next.station.event_head.load(Ordering::Relaxed),
            at,
            thread: P::thread_in(self.probe.attachment),
            place: self.probe.place_again(place),
        };
        if has_entered {
            self.judge_again(taken.first(), waits);
            return next.judge_again(taken.second(), runs);
        }
        next.give_way(place.map(|place| place.wrapping_add(1)), at);
        self.judge_again(taken.first(), waits);
        next.event_slowly(runs);
    }
}
