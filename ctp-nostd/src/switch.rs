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

use crate::platform::{Local, Platform};
use crate::seat::{Begun, Said, Seat};
use crate::sync::Ordering;
use crate::thread_lane::Place;

/// The one that waits, and the one that runs, unless a handler came between.
type Both = (Begun, Option<Begun>);

impl<P: Platform> Seat<P> {
    /// Publishes two events that are kept: what this one says, and what `next` says.
    #[inline(always)]
    pub fn switch(&self, next: &Self, local: Option<&Local>, waits: Said, runs: Said) {
        match local.and_then(|local| self.begin_both(next, local)) {
            Some((from, Some(to))) if self.probe.control_word() == 0 => {
                self.write(&from, 0, &waits);
                self.complete(from.n, from.at, waits.kind as u8);
                next.write(&to, 0, &runs);
                next.complete(to.n, to.at, runs.kind as u8);
                self.probe.call_recorder();
            }
            begun => self.switch_slowly(next, begun, waits, runs),
        }
    }

    #[cold]
    #[inline(never)]
    fn switch_slowly(&self, next: &Self, begun: Option<Both>, waits: Said, runs: Said) {
        let (from, to) = match begun {
            Some((from, to)) => (Some(from), to),
            None => (None, None),
        };
        match from {
            Some(from) => self.judge_again(from, waits),
            None => self.event_slowly(waits),
        }
        match to {
            Some(to) => next.judge_again(to, runs),
            None => next.event_slowly(runs),
        }
    }

    /// E1 to E3, if all is as it mostly is.
    #[inline(always)]
    fn begin_both(&self, next: &Self, local: &Local) -> Option<Both> {
        if !core::ptr::eq(self.probe.region.header, next.probe.region.header) {
            return None;
        }
        let ring = self.probe.at_hand(local)?;
        let (n, next_n) = (self.next_alone()?, next.next_alone()?);
        let last_ts = self.last_ts().max(next.last_ts());
        let now = || Some(self.probe.ns_at_once()?.max(last_ts));
        let (at, place) = Place::take(ring, 2, now)?;
        let next_place = place.map(|place| place.next());
        if !self.enter(n, at) {
            self.give_way(place.map(|place| place.at), at);
            next.probe.void(next_place.map(|place| place.at), at);
            return None;
        }
        let thread = P::thread_of(local);
        let from = Begun::alone(n, at, thread, place);
        if !next.enter(next_n, at) {
            next.give_way(next_place.map(|place| place.at), at);
            return Some((from, None));
        }
        Some((from, Some(Begun::alone(next_n, at, thread, next_place))))
    }

    #[inline(always)]
    fn last_ts(&self) -> u64 {
        self.station.last_ts.load(Ordering::Relaxed)
    }
}
