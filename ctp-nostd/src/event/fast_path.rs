//! A station and its occupant: what an event does, from one end to the other.
//!
//! ```text
//!   K1 kept by the control word?                              (`control.rs`)
//!   E1 begun = head: no event of this coroutine is going on, else slowly (`event/slow_path.rs`)
//!   E2 what time is it; a place in the lane with it           (`lane.rs`, T1 to T4)
//!   E3 begun: n -> n + 1   (one step)                         = K2 of `control.rs`
//!   K4 nothing is kept out by the control word, else judge again
//!   E4 slot n              (`slot.rs`), the record            (`lane.rs`, T5 and T6)
//!   E5 aggregates          (`aggregate.rs`), head = begun     (release)
//!   E6 ring if the recorder sleeps                            (`doorbell.rs`)
//! ```
//! Whoever finds that something is not as it mostly is leaves this file: what then goes on is the
//! same protocol, step by step, in `event/slow_path.rs`. So the path that is mostly taken has one way through
//! it, and nothing in it is a call. For `MODE` see `platform/mode.rs`.

use core::sync::atomic::compiler_fence;

use super::payload::EventPayload;
use crate::handle::probe::Probe;
use crate::memory::layout::{EXT_REV, Station, seat_word};
use crate::platform::mode::{ANY, RecordingMode};
use crate::platform::{Local, Platform};
use crate::protocol::aggregate::Bins;
use crate::protocol::control;
use crate::protocol::lane::{Payload, Place};
use crate::protocol::slot::{self, Epoch, EventKind, Tail};
use crate::protocol::wake;
use crate::sync::{Ordering, fence};

/// A station and what its occupant needs at every event, from the first field on.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Seat<P> {
    pub station: &'static Station,
    /// What stands for this coroutine in a lane's record.
    pub whose: u64,
    pub index: u32,
    pub generation: u32,
    /// What stands for this coroutine in the word of its thread.
    pub word: u32,
    pub probe: Probe<P>,
}

/// An event that has its index `n`, its time and its place in the lane.
#[derive(Debug)]
pub(crate) struct Begun {
    pub n: u64,
    pub at: u64,
    pub thread: u64,
    pub place: Option<Place<'static>>,
    /// The station's word of what was kept out, before it.
    pub state: u32,
    /// Events of the same coroutine that were begun before it and not told of.
    pub amid: u32,
}

impl Begun {
    /// Amid no other, and none was kept out before it.
    #[inline(always)]
    pub fn alone(n: u64, at: u64, thread: u64, place: Option<Place<'static>>) -> Self {
        Begun {
            n,
            at,
            thread,
            place,
            state: 0,
            amid: 0,
        }
    }
}

impl<P: Platform> Seat<P> {
    /// K1 of `control.rs`: does this control word keep such an event? If not, it is counted.
    #[inline(always)]
    pub fn keeps(&self, control: u32, kind: EventKind) -> bool {
        let is_kept = control == 0 || !self.probe.keeps_out(control, kind);
        if !is_kept {
            self.station.leave_out(kind);
        }
        is_kept
    }

    /// A birth or a death.
    pub fn milestone(&self, payload: EventPayload) {
        if self.keeps(self.probe.control_word(), payload.kind) {
            self.event_slowly(payload);
        }
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

    /// Unique in a recording: {attach id 16 | use of the station 24 | station + 1, 24}.
    pub fn probe_id(&self) -> u64 {
        let uses = u64::from(self.generation / 2) & 0xFF_FFFF;
        u64::from(self.probe.attach_id) << 48 | uses << 24 | (u64::from(self.index) + 1)
    }

    /// Takes a station that was just claimed: fills in its line 0. `generation` is odd meanwhile.
    pub fn move_in(probe: Probe<P>, index: u32, kind: u8, meta: u32) -> Self {
        let station = &probe.region.stations[index as usize];
        let generation = station.generation.load(Ordering::Relaxed).wrapping_add(2) & !1;
        let seat = Seat {
            station,
            index,
            generation,
            word: seat_word(index, generation),
            whose: Payload::whose(index, (generation / 2) as u8),
            probe,
        };
        station
            .generation
            .store(generation.wrapping_sub(1), Ordering::Relaxed);
        fence(Ordering::Release); // pairs with the fence of `identity`
        seat.describe(kind, meta);
        station.generation.store(generation, Ordering::Release);
        seat
    }

    fn describe(&self, kind: u8, meta: u32) {
        let station = self.station;
        let base_n = station.event_head.load(Ordering::Relaxed);
        station.base_n.store(base_n, Ordering::Relaxed);
        station.begun.store(base_n as u32, Ordering::Relaxed);
        station.dropped_nested.store(0, Ordering::Relaxed);
        station.probe_id.store(self.probe_id(), Ordering::Relaxed);
        station.birth_ts.store(P::now_ns(), Ordering::Relaxed);
        station.flags.store(0, Ordering::Relaxed);
        station.state.store(0, Ordering::Relaxed);
        station.dropped_filtered.store(0, Ordering::Relaxed);
        station.waker.store(0, Ordering::Relaxed);
        station.wake_ts.store(0, Ordering::Relaxed);
        station.kind.store(kind, Ordering::Relaxed);
        let wake = wake::word(self.generation);
        station.wake.store(wake, Ordering::Relaxed);
        station.wakers_live.store(wake, Ordering::Relaxed);
        let owner = self.probe.attach_id.into();
        station.owner.store(owner, Ordering::Relaxed);
        station.meta.store(meta, Ordering::Relaxed);
        station.is_dead.store(0, Ordering::Relaxed);
        if self.probe.bins::<ANY>().is_some() {
            station.clear_aggregates();
        }
        if self.probe.region.extended {
            station.ext_rev.store(EXT_REV, Ordering::Relaxed);
        }
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
