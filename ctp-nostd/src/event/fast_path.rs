//! Fast path: the steps of an event, from the control word to the bell.
//!
//! ```text
//!   K1 kept by the control word?                              (`control.rs`)
//!   E1 begun = head: no event of this coroutine is going on, else slowly (`slow_path.rs`)
//!   E2 what time is it; a place in the lane with it           (`lane.rs`, T1 to T4)
//!   E3 begun: n -> n + 1   (one step)                         = K2 of `control.rs`
//!   K4 nothing is kept out by the control word, else judge again
//!   E4 slot n              (`slot.rs`), the record            (`lane.rs`, T5 and T6)
//!   E5 aggregates          (`aggregate.rs`), head = begun     (release)
//!   E6 ring if the recorder sleeps                            (`doorbell.rs`)
//! ```
//! Any unusual condition falls through to `slow_path.rs`, which takes the same steps. So the usual path
//! has one way through this file, and no call. For `MODE` see `platform/mode.rs`.

use core::panic::Location;
use core::sync::atomic::compiler_fence;

use super::payload::{EventPayload, code};
use super::seat::{Begun, Seat};
use crate::memory::Region;
use crate::platform::mode::{ANY, RecordingMode, USUAL, USUAL_FLIGHT, in_mode};
use crate::platform::{Local, Platform, Probe, attachment};
use crate::protocol::aggregate::Bins;
use crate::protocol::intern::site::SiteWord;
use crate::protocol::lane::Payload;
use crate::protocol::slot::{self, Epoch, EventKind, Tail};
use crate::protocol::wait::Wait;
use crate::protocol::{control, doorbell};
use crate::sync::Ordering;

impl<P: Platform> Seat<P> {
    /// A run, which is kept.
    #[inline(always)]
    pub fn tell_run(&self, local: Option<&Local>, wake_seen: u16) {
        in_mode!(self.probe, MODE => self.runs::<MODE>(local, wake_seen));
    }

    #[inline(never)]
    fn runs<const MODE: RecordingMode>(&self, local: Option<&Local>, wake_seen: u16) {
        self.event::<MODE>(local, EventPayload::run(wake_seen));
    }

    /// A suspend, which is kept. Its site is looked up only here.
    #[inline(always)]
    pub fn tell_suspend(&self, local: Option<&Local>, wait: Wait, addr: u64, wake_seen: u16) {
        let (place, arg, code) = (wait.place, wait.resource, code(wait.code(), wake_seen));
        in_mode!(self.probe, MODE => self.suspends::<MODE>(local, place, arg, addr, code));
    }

    #[inline(never)]
    fn suspends<const MODE: RecordingMode>(
        &self,
        local: Option<&Local>,
        place: &'static Location<'static>,
        arg: u64,
        addr: u64,
        code: u32,
    ) {
        let site = self.probe.site(place);
        self.event::<MODE>(local, EventPayload::wait_of(site, code, arg, addr));
    }

    /// A suspend, which is kept, where it is known already: the site, and code and resource of what it waits
    /// for.
    #[inline(always)]
    pub fn tell_wait(
        &self,
        local: Option<&Local>,
        (site, wait_code, arg): (SiteWord, u8, u64),
        addr: u64,
        wake_seen: u16,
    ) {
        let code = code(wait_code, wake_seen);
        in_mode!(self.probe, MODE => self.waits::<MODE>(local, site, arg, addr, code));
    }

    #[inline(never)]
    fn waits<const MODE: RecordingMode>(
        &self,
        local: Option<&Local>,
        site: SiteWord,
        arg: u64,
        addr: u64,
        code: u32,
    ) {
        self.event::<MODE>(local, EventPayload::wait_of(site, code, arg, addr));
    }

    /// K1 of `control.rs`: does this control word keep such an event? If not, it is counted.
    #[inline(always)]
    pub fn keeps(&self, control: u32, kind: EventKind) -> bool {
        let is_kept = control == 0 || !self.probe.keeps_out(control, kind);
        if !is_kept {
            self.station.leave_out(kind);
        }
        is_kept
    }

    /// Publishes the next event, which is kept, in the station and in the thread's lane. The head
    /// comes last: what it counts is in both.
    #[inline(always)]
    pub fn event<const MODE: RecordingMode>(&self, local: Option<&Local>, payload: EventPayload) {
        let Some(begun) = local.and_then(|local| self.begin::<MODE>(local)) else {
            return self.event_slowly(payload);
        };
        if self.probe.control_word() != 0 {
            return self.judge_again(begun, payload); // K4 of `control.rs`
        }
        self.write(&begun, 0, &payload);
        self.complete::<MODE>(begun.n, begun.at, payload.kind as u8);
        self.probe.call_recorder::<MODE>(); // E6
    }

    /// E1 to E3, if all is as it mostly is.
    #[inline(always)]
    fn begin<const MODE: RecordingMode>(&self, local: &Local) -> Option<Begun> {
        let n = self.next_alone()?; // E1
        let last_ts = self.station.last_ts.load(Ordering::Relaxed);
        let now = || Some(self.probe.ns_at_once::<MODE>()?.max(last_ts));
        let (at, place) = self.probe.reserve_at_once::<MODE>(local, now)?; // E2
        if !self.enter(n, at) {
            self.give_way(place, at); // E3
            return None;
        }
        Some(Begun::alone(n, at, P::thread_of(local), place))
    }

    /// E1: the number of the next event, if it comes amid no other and none was kept out before it.
    #[inline(always)]
    pub fn next_alone(&self) -> Option<u64> {
        let n = self.station.event_head.load(Ordering::Relaxed);
        let is_alone = self.station.begun.load(Ordering::Relaxed) == n as u32;
        (is_alone && self.station.state.load(Ordering::Relaxed) == 0).then_some(n)
    }

    /// E3. False if a handler came between.
    #[inline(always)]
    pub fn enter(&self, n: u64, at: u64) -> bool {
        let station = self.station;
        station.last_ts.store(at, Ordering::Relaxed); // a handler from here on is later
        control::enter(&station.begun, n as u32)
    }

    /// E4. `mark` is part of its kind: were events before it kept out?
    #[inline(always)]
    pub fn write(&self, begun: &Begun, mark: u8, payload: &EventPayload) {
        let Begun { n, at, thread, .. } = *begun;
        let kind = payload.kind as u8 | mark;
        let epoch = Epoch {
            timestamp: at,
            tid: thread,
            addr: payload.addr,
            site: payload.site.0,
            arg: payload.arg,
            generation: self.generation,
            tail: Tail {
                kind,
                wait_kind: payload.wait_code,
                wake_seen: payload.wake_seen,
                user: [0; 3],
                is_active: !matches!(payload.kind, EventKind::Suspend),
            },
        };
        slot::publish(&self.station.slots[slot::index_of(n)], n, &epoch);
        if let Some(place) = &begun.place {
            place.commit_of(self.whose, at, record(kind, n, payload));
        }
    }

    /// E5, of an event that came amid no other: `n` is in its slot and in its lane.
    #[inline(always)]
    pub fn complete<const MODE: RecordingMode>(&self, n: u64, at: u64, kind: u8) {
        if let Some(bins) = self.probe.bins::<MODE>() {
            self.account(n, at, kind, bins);
        }
        let head = n.wrapping_add(1);
        self.station.event_head.store(head, Ordering::Release);
        compiler_fence(Ordering::SeqCst); // a handler that comes before finds this event amid
        if self.station.begun.load(Ordering::Relaxed) != head as u32 {
            self.complete_those_amid(head);
        }
    }

    /// Event `n` ended a wait or a run, which the event before began.
    #[inline(always)]
    pub fn account(&self, n: u64, at: u64, kind: u8, bins: Bins) {
        let before = &self.station.slots[slot::index_of(n.wrapping_sub(1))];
        let (began_at, before) = slot::when_and_what(before);
        let ns = at.saturating_sub(began_at);
        self.station.account(before, kind, ns, bins);
    }
}

impl<P: Platform> Probe<P> {
    /// What is kept out: 0, nothing.
    #[inline(always)]
    pub(crate) fn control_word(&self) -> u32 {
        self.region.header.kind_mask.load(Ordering::Relaxed)
    }

    /// Does the recorder want no such event now, by this word that is not 0?
    #[inline(always)]
    pub(crate) fn keeps_out(&self, word: u32, kind: EventKind) -> bool {
        control::keeps_out(word, kind, || self.thread())
    }

    #[cold]
    #[inline(never)]
    fn thread(&self) -> u64 {
        P::thread_in(self.attachment)
    }

    /// The time, if that takes no call.
    #[inline(always)]
    pub(crate) fn ns_at_once<const MODE: RecordingMode>(&self) -> Option<u64> {
        let Region {
            header, extended, ..
        } = self.region;
        (MODE != ANY || extended)
            .then(|| P::ns_at_once(header))
            .flatten()
    }

    /// Rings if the recorder sleeps.
    #[inline(always)]
    pub(crate) fn call_recorder<const MODE: RecordingMode>(&self) {
        let sleeping = &self.region.header.tracer_sleeping;
        let must_ring = match MODE != ANY || self.is_ordered {
            true => doorbell::must_ring_ordered(sleeping),
            false => doorbell::must_ring(sleeping),
        };
        if must_ring {
            P::ring();
        }
    }

    /// Is this still the program that attached? Not in a fork of it.
    pub(crate) fn is_live(self) -> bool {
        attachment::<P>() == self.attachment
    }

    /// Those of this recording's aggregates, if it keeps some.
    #[inline(always)]
    pub(crate) fn bins<const MODE: RecordingMode>(&self) -> Option<Bins> {
        let has_bins = match MODE {
            USUAL => false,
            USUAL_FLIGHT => true,
            _ => self.has_bins,
        };
        has_bins.then_some(self.bins)
    }
}

/// An event as a lane has it, but for whose it is.
#[inline(always)]
fn record(kind: u8, n: u64, payload: &EventPayload) -> Payload {
    Payload {
        kind,
        wait_kind: payload.wait_code,
        n,
        site: payload.site.0,
        arg: match payload.kind {
            EventKind::Run => payload.wake_seen.into(),
            _ => payload.arg,
        },
        ..Payload::default()
    }
}
