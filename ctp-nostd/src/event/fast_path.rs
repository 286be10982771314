//! Fast path: the steps of an event, from the control word to the doorbell.
//!
//! ```text
//!   K1 kept by the control word?                              (`control.rs`)
//!   E1 begun = head: not nested in another event, else the slow path (`slow_path.rs`)
//!   E2 the time; a position in the lane with it               (`lane.rs`, T1 to T4)
//!   E3 begun: n -> n + 1   (one step)                         = K2 of `control.rs`
//!   K4 the control word drops nothing, else judge again
//!   E4 slot n              (`slot.rs`), the record            (`lane.rs`, T5 and T6)
//!   E5 aggregates          (`aggregate.rs`), head = begun     (release)
//!   E6 ring if the recorder sleeps                            (`doorbell.rs`)
//! ```
//! Any unusual condition falls through to `slow_path.rs`, which takes the same steps. So the usual
//! path through this file has no alternatives and no calls. For `MODE` see `platform/mode.rs`.

use core::sync::atomic::compiler_fence;

use super::payload::{EventPayload, code};
use super::station_handle::{StartedEvent, StationHandle};
use crate::memory::RegionOf;
use crate::platform::mode::{ANY, RecordingMode, USUAL, USUAL_FLIGHT, in_mode};
use crate::platform::{Local, Platform, Probe, ProbeLayout, attachment};
use crate::protocol::aggregate::Bins;
use crate::protocol::control::FREEZES;
use crate::protocol::intern::call_site::CallSite;
use crate::protocol::intern::site::SiteWord;
use crate::protocol::lane::Payload;
use crate::protocol::slot::{self, Epoch, EventKind, Tail};
use crate::protocol::wait::Wait;
use crate::protocol::{control, doorbell};
use crate::sync::{HAS_LANES, Ordering};

impl<P: Platform, L: ProbeLayout> StationHandle<P, L> {
    /// Emits a run, which the filter keeps.
    #[inline(always)]
    pub fn emit_run(&self, local: Option<&Local>, wake_seen: u16) {
        in_mode!(self.probe, MODE => self.runs::<MODE>(local, wake_seen));
    }

    #[inline(never)]
    fn runs<const MODE: RecordingMode>(&self, local: Option<&Local>, wake_seen: u16) {
        self.event::<MODE>(local, EventPayload::run(wake_seen));
    }

    /// Emits a suspend, which the filter keeps. Its site is looked up only here.
    #[inline(always)]
    pub fn emit_suspend<S: CallSite>(
        &self,
        local: Option<&Local>,
        wait: Wait<S>,
        addr: u64,
        wake_seen: u16,
    ) {
        let (place, arg, code) = (wait.place, wait.resource, code(wait.code(), wake_seen));
        in_mode!(self.probe, MODE => self.suspends::<MODE, S>(local, place, arg, addr, code));
    }

    #[inline(never)]
    fn suspends<const MODE: RecordingMode, S: CallSite>(
        &self,
        local: Option<&Local>,
        place: S,
        arg: u64,
        addr: u64,
        code: u32,
    ) {
        let site = self.probe.site(place);
        self.event::<MODE>(local, EventPayload::wait_of(site, code, arg, addr));
    }

    /// Emits a suspend, which the filter keeps, where the site, and code and resource of the wait,
    /// are known already.
    #[inline(always)]
    pub fn emit_wait(
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

    /// K1 of `control.rs`: does this control word keep an event of this kind? If not, the event is
    /// counted as dropped.
    #[inline(always)]
    pub fn keeps(&self, control: u32, kind: EventKind) -> bool {
        let is_kept = control == 0 || !self.probe.keeps_out(control, kind);
        if !is_kept {
            self.station.leave_out(kind);
        } else if kind == EventKind::Run && control & FREEZES != 0 {
            self.wait_while_frozen();
        }
        is_kept
    }

    /// GO1 to GO3 of `freeze.rs`: waits while the recorder copies the stack of this coroutine.
    #[cold]
    #[inline(never)]
    fn wait_while_frozen(&self) {
        let Some(freeze) = self.station.freeze(self.generation) else {
            return;
        };
        if !P::wait_while(|| self.station.is_held(freeze)) {
            self.station.break_freeze(freeze, self.probe.region.header);
        }
    }

    /// Publishes the next event, which the filter keeps, in the station and in the thread's lane.
    /// The head is stored last: every event that the head counts is in both.
    #[inline(always)]
    pub fn event<const MODE: RecordingMode>(&self, local: Option<&Local>, payload: EventPayload) {
        let Some(started) = self.begin::<MODE>(local) else {
            return self.event_slowly(payload);
        };
        if self.probe.control_word() != 0 {
            return self.judge_again(started, payload); // K4 of `control.rs`
        }
        self.write(&started, 0, &payload);
        self.complete::<MODE>(started.n, started.at, payload.kind as u8);
        self.probe.call_recorder::<MODE>(); // E6
    }

    /// E1 to E3, on the fast path.
    #[inline(always)]
    fn begin<const MODE: RecordingMode>(&self, local: Option<&Local>) -> Option<StartedEvent> {
        let local = match local {
            Some(local) => Some(local),
            None if HAS_LANES => return None,
            None => None,
        };
        let n = self.next_unnested()?; // E1
        let last_ts = self.station.last_ts.load_own()?;
        let now = || Some(self.probe.ns_at_once::<MODE>()?.max(last_ts));
        let (at, place) = match local {
            Some(local) => self.probe.reserve_fast::<MODE>(local, now)?, // E2
            None => (now()?, None),
        };
        if !self.enter(n, at) {
            self.restart_after_handler(place, at); // E3
            return None;
        }
        let thread = match local {
            Some(local) => P::thread_of(local),
            None => P::thread_in(self.probe.attachment),
        };
        Some(StartedEvent::alone(n, at, thread, place))
    }

    /// E1: the number of the next event, if it is not nested and has no dropped events before it.
    #[inline(always)]
    pub fn next_unnested(&self) -> Option<u64> {
        let n = self.station.event_head.load_own()?;
        let is_alone = self.station.begun.load(Ordering::Relaxed) == n as u32;
        (is_alone && self.station.state.load(Ordering::Relaxed) == 0).then_some(n)
    }

    /// The time of the latest event. 0 if this caller has interrupted the store of that time, which is
    /// not later than the clock.
    #[inline(always)]
    pub fn last_ts(&self) -> u64 {
        let last_ts = &self.station.last_ts;
        last_ts.load_own().unwrap_or(0)
    }

    /// E3. Returns false if a handler has recorded an event in between.
    #[inline(always)]
    pub fn enter(&self, n: u64, at: u64) -> bool {
        let station = self.station;
        station.last_ts.store(at, Ordering::Relaxed); // a handler that starts from here on is later
        station.begin_event(n)
    }

    /// Writes the event to its slot and lane (E4). `mark` is added to the kind, and says whether
    /// earlier events were dropped.
    #[inline(always)]
    pub fn write(&self, started: &StartedEvent, mark: u8, payload: &EventPayload) {
        let StartedEvent { n, at, thread, .. } = *started;
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
        slot::publish_in::<L>(self.station.slot_of(n), n, &epoch);
        if let Some(place) = &started.place {
            place.commit_for(self.owner_bits, at, record(kind, n, payload));
        }
        let ring = self.probe.region.ring;
        L::keep(ring, self.owner_bits, at, || record(kind, n, payload));
    }

    /// Publishes event `n`, which is in its slot and in its lane (E5). The event is not nested.
    #[inline(always)]
    pub fn complete<const MODE: RecordingMode>(&self, n: u64, at: u64, kind: u8) {
        if let Some(bins) = self.probe.bins::<MODE>() {
            self.account(n, at, kind, bins);
        }
        let head = n.wrapping_add(1);
        self.station.publish_events(head);
        compiler_fence(Ordering::SeqCst); // an earlier handler finds itself nested in this event
        if self.station.begun.load(Ordering::Relaxed) != head as u32 {
            self.complete_nested(head);
        }
    }

    /// Adds the wait or run that event `n` ended, and that the previous event began, to the totals.
    #[inline(always)]
    pub fn account(&self, n: u64, at: u64, kind: u8, bins: Bins) {
        let Some(station) = L::as_full(self.station) else {
            return; // no statistics
        };
        let before = self.station.slot_of(n.wrapping_sub(1));
        let (began_at, before) = slot::time_and_kind(before);
        let ns = at.saturating_sub(began_at);
        station.account(before, kind, ns, bins);
    }
}

impl<P: Platform, L: ProbeLayout> Probe<P, L> {
    /// The control word: 0 keeps everything.
    #[inline(always)]
    pub(crate) fn control_word(&self) -> u32 {
        self.region.header.kind_mask.load(Ordering::Relaxed)
    }

    /// Whether this nonzero control word drops an event of this kind on the calling thread.
    #[inline(always)]
    pub(crate) fn keeps_out(&self, word: u32, kind: EventKind) -> bool {
        control::keeps_out(word, kind, || self.thread())
    }

    #[cold]
    #[inline(never)]
    fn thread(&self) -> u64 {
        P::thread_in(self.attachment)
    }

    /// The time, or `None` if reading the clock takes a call.
    #[inline(always)]
    pub(crate) fn ns_at_once<const MODE: RecordingMode>(&self) -> Option<u64> {
        let RegionOf {
            header,
            is_extended,
            ..
        } = self.region;
        (MODE != ANY || is_extended)
            .then(|| P::ns_at_once(header))
            .flatten()
    }

    /// Rings if the recorder sleeps.
    #[inline(always)]
    pub(crate) fn call_recorder<const MODE: RecordingMode>(&self) {
        let sleeping = &self.region.header.tracer_sleeping;
        let must_ring = if MODE != ANY || self.is_ordered {
            doorbell::must_ring_ordered(sleeping)
        } else {
            doorbell::must_ring(sleeping)
        };
        if must_ring {
            P::ring();
        }
    }

    /// Rings if the recorder sleeps until there is a shortage, and `is_short` returns true.
    #[inline]
    pub(crate) fn ring_if_short(&self, is_short: impl FnOnce() -> bool) {
        let sleeping = &self.region.header.tracer_sleeping;
        if doorbell::must_ring_for_shortage(sleeping, is_short) {
            P::ring();
        }
    }

    /// Whether this is still the program that attached. False in a fork.
    pub(crate) fn is_live(self) -> bool {
        attachment::<P>() == self.attachment
    }

    /// The bins of this recording's aggregates, if there are any.
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

/// An event as a lane record, without its owner.
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
