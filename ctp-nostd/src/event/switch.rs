//! A switch: one coroutine suspends and another runs in its place, at the same time. The two events
//! share a single read of the clock, of the control word, and of the thread's lane.
//!
//! The steps are those of `fast_path.rs`, each for both events. A handler may come between any two
//! of them.
//! ```text
//!   E1 neither is nested
//!   E2 the time, not before the latest event of either; two positions in the lane  (one step)
//!   E3 begun of the waiting coroutine, else both events again
//!   E3 begun of the running coroutine, else its event again
//!   K4 (`control.rs`), E4 and E5 of the waiting, then of the running coroutine; E6
//! ```

use super::payload::EventPayload;
use super::station_handle::{StartedEvent, StationHandle};
use crate::platform::mode::RecordingMode;
use crate::platform::{Local, Platform, ProbeLayout};
use crate::protocol::lane::{ReservedRecord, Ring, Room};

/// The numbers of both events, their time, and their positions in the lane.
#[derive(Clone, Copy)]
pub(crate) struct ReservedPair {
    n: u64,
    next_n: u64,
    at: u64,
    thread: u64,
    place: Option<ReservedRecord<'static>>,
    next_place: Option<ReservedRecord<'static>>,
}

impl ReservedPair {
    #[inline(always)]
    fn first(&self) -> StartedEvent {
        StartedEvent::alone(self.n, self.at, self.thread, self.place)
    }

    #[inline(always)]
    fn second(&self) -> StartedEvent {
        StartedEvent::alone(self.next_n, self.at, self.thread, self.next_place)
    }
}

impl<P: Platform, L: ProbeLayout> StationHandle<P, L> {
    /// Publishes two events that the filter keeps: one of this coroutine and one of `next`. The
    /// payloads are created only where they are needed, since there are too few registers to keep
    /// them.
    #[inline(always)]
    pub fn switch<const MODE: RecordingMode>(
        &self,
        next: &Self,
        local: Option<&Local>,
        payloads: impl Fn() -> [EventPayload; 2],
    ) {
        let Some(reserved) = local.and_then(|local| {
            let lane = self.probe.cached_ring::<MODE>(local)?;
            self.reserve_pair(next, local, lane, || self.probe.ns_at_once::<MODE>())
        }) else {
            return self.switch_slowly(next, payloads());
        };
        self.emit_pair::<MODE>(next, &reserved, payloads);
    }

    /// E1 and E2, on the fast path.
    #[inline(always)]
    pub fn reserve_pair(
        &self,
        next: &Self,
        local: &Local,
        lane: Option<(Ring<'static>, Room)>,
        now: impl FnOnce() -> Option<u64>,
    ) -> Option<ReservedPair> {
        if !core::ptr::eq(self.probe.region.header, next.probe.region.header) {
            return None;
        }
        let (n, next_n) = (self.next_unnested()?, next.next_unnested()?);
        let [own_ts, next_ts] = [self, next].map(|handle| handle.station.last_ts.load_own());
        let last_ts = own_ts?.max(next_ts?);
        let now = || Some(now()?.max(last_ts));
        let (at, [place, next_place]) = two_places(lane, now)?;
        Some(ReservedPair {
            n,
            next_n,
            at,
            thread: P::thread_of(local),
            place,
            next_place,
        })
    }

    /// E3 and the steps after it.
    #[inline(always)]
    pub fn emit_pair<const MODE: RecordingMode>(
        &self,
        next: &Self,
        reserved: &ReservedPair,
        payloads: impl Fn() -> [EventPayload; 2],
    ) {
        let started = || [reserved.first(), reserved.second()];
        if !self.enter(reserved.n, reserved.at) {
            return self.restart_switch(next, started(), payloads());
        }
        let has_entered = next.enter(reserved.next_n, reserved.at);
        if !has_entered || self.probe.control_word() != 0 {
            return self.split_switch(next, has_entered, started(), payloads());
        }
        let [waits, runs] = payloads();
        self.write(&reserved.first(), 0, &waits);
        self.complete::<MODE>(reserved.n, reserved.at, waits.kind as u8);
        next.write(&reserved.second(), 0, &runs);
        next.complete::<MODE>(reserved.next_n, reserved.at, runs.kind as u8);
        self.probe.call_recorder::<MODE>();
    }
}

/// The time, and two adjacent positions in the lane, if the thread has a lane.
#[inline(always)]
fn two_places(
    lane: Option<(Ring<'static>, Room)>,
    now: impl FnOnce() -> Option<u64>,
) -> Option<(u64, [Option<ReservedRecord<'static>>; 2])> {
    let Some((ring, room)) = lane else {
        return Some((now()?, [None, None]));
    };
    let (at_ns, at) = ring.reserve_in(room, 2, now)?;
    let place = |more| ring.place_in(room, at.wrapping_add(more));
    Some((at_ns, [place(0), place(1)]))
}
