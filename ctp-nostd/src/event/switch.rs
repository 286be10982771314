//! One coroutine waits, and another one runs in its stead, at one time: two events for one look at
//! the clock, at what control says, and at the thread's lane.
//!
//! The steps are those of `fast_path.rs`, each for both; a handler may come between any two of them.
//! ```text
//!   E1 both are alone
//!   E2 the time, not before the latest of either; two places in the lane  (one step)
//!   E3 begun of the one that waits, else both anew
//!   E3 begun of the one that runs, else that one anew
//!   K4 (`control.rs`), E4 and E5 of the one that waits and of the one that runs; E6
//! ```

use super::payload::EventPayload;
use super::seat::{Begun, Seat};
use crate::platform::mode::RecordingMode;
use crate::platform::{Local, Platform};
use crate::protocol::lane::{Place, Ring, Room};
use crate::sync::Ordering;

/// The numbers of both events, their time, and their places in the lane.
#[derive(Clone, Copy)]
pub(crate) struct Taken {
    n: u64,
    next_n: u64,
    at: u64,
    thread: u64,
    place: Option<Place<'static>>,
    next_place: Option<Place<'static>>,
}

impl Taken {
    #[inline(always)]
    fn first(&self) -> Begun {
        Begun::alone(self.n, self.at, self.thread, self.place)
    }

    #[inline(always)]
    fn second(&self) -> Begun {
        Begun::alone(self.next_n, self.at, self.thread, self.next_place)
    }
}

impl<P: Platform> Seat<P> {
    /// Publishes two events that are kept: what this one says, and what `next` says. They are asked for
    /// only when it is needed, since there are too few registers to keep all of that.
    #[inline(always)]
    pub fn switch<const MODE: RecordingMode>(
        &self,
        next: &Self,
        local: Option<&Local>,
        payloads: impl Fn() -> [EventPayload; 2],
    ) {
        let now = || self.probe.ns_at_once::<MODE>();
        let Some(taken) = local.and_then(|local| {
            let lane = self.probe.at_hand::<MODE>(local)?;
            self.take_both(next, local, lane, now)
        }) else {
            return self.switch_slowly(next, payloads());
        };
        self.tell_both::<MODE>(next, &taken, payloads);
    }

    /// E1 and E2, if all is as it mostly is.
    #[inline(always)]
    pub fn take_both(
        &self,
        next: &Self,
        local: &Local,
        lane: Option<(Ring<'static>, Room)>,
        now: impl FnOnce() -> Option<u64>,
    ) -> Option<Taken> {
        if !core::ptr::eq(self.probe.region.header, next.probe.region.header) {
            return None;
        }
        let (n, next_n) = (self.next_alone()?, next.next_alone()?);
        let last_ts = self.last_ts().max(next.last_ts());
        let now = || Some(now()?.max(last_ts));
        let (at, [place, next_place]) = two_places(lane, now)?;
        Some(Taken {
            n,
            next_n,
            at,
            thread: P::thread_of(local),
            place,
            next_place,
        })
    }

    /// E3 and all that follows.
    #[inline(always)]
    pub fn tell_both<const MODE: RecordingMode>(
        &self,
        next: &Self,
        taken: &Taken,
        payloads: impl Fn() -> [EventPayload; 2],
    ) {
        let begun = || [taken.first(), taken.second()];
        if !self.enter(taken.n, taken.at) {
            return self.switch_anew(next, begun(), payloads());
        }
        let has_entered = next.enter(taken.next_n, taken.at);
        if !has_entered || self.probe.control_word() != 0 {
            return self.switch_apart(next, has_entered, begun(), payloads());
        }
        let [waits, runs] = payloads();
        self.write(&taken.first(), 0, &waits);
        self.complete::<MODE>(taken.n, taken.at, waits.kind as u8);
        next.write(&taken.second(), 0, &runs);
        next.complete::<MODE>(taken.next_n, taken.at, runs.kind as u8);
        self.probe.call_recorder::<MODE>();
    }

    #[inline(always)]
    fn last_ts(&self) -> u64 {
        self.station.last_ts.load(Ordering::Relaxed)
    }
}

/// The time, and two places next to each other in the lane if there is one.
#[inline(always)]
fn two_places(
    lane: Option<(Ring<'static>, Room)>,
    now: impl FnOnce() -> Option<u64>,
) -> Option<(u64, [Option<Place<'static>>; 2])> {
    let Some((ring, room)) = lane else {
        return Some((now()?, [None, None]));
    };
    let (at_ns, at) = ring.reserve_in(room, 2, now)?;
    let place = |more| ring.place_in(room, at.wrapping_add(more));
    Some((at_ns, [place(0), place(1)]))
}
