//! Slow path: nested events, which a signal handler records within another event of the same
//! coroutine; a thread's first event; a full lane; a filter change. The steps are those of
//! `fast_path.rs`, and of `switch.rs` for two events at the same time.
//!
//! ```text
//!   E1 begun -> n                      a handler that comes before E3 and records an event of
//!   E2 time, position in the lane      this coroutine makes E3 fail; a later handler finds
//!   E3 begun: n -> n + 1  (one step)   n taken, and its event is complete before this one
//!   E4 slot n, record
//!   E5 head = begun, by the outermost event, for the nested events too
//! ```

use core::sync::atomic::compiler_fence;

use super::payload::EventPayload;
use super::station_handle::{StartedEvent, StationHandle};
use super::thread_lane::{refresh_room, remember_loss};
use crate::platform::mode::ANY;
use crate::platform::{Platform, Probe, ProbeLayout, local};
use crate::protocol::control;
use crate::protocol::lane::{Payload, ReservedRecord, ThreadEventKind};
use crate::protocol::slot::{self, EventKind};
use crate::sync::Ordering;

impl<P: Platform, L: ProbeLayout> StationHandle<P, L> {
    /// Emits a birth or a death.
    pub fn milestone(&self, payload: EventPayload) {
        if self.keeps(self.probe.control_word(), payload.kind) {
            self.event_slowly(payload);
        }
    }

    /// Emits an event that the filter keeps, in all steps.
    #[cold]
    #[inline(never)]
    pub fn event_slowly(&self, payload: EventPayload) {
        if let Some(started) = self.begin_slowly() {
            self.judge_again(started, payload);
        }
    }

    /// Judges a started event again, because the control word has changed: K4 of `control.rs`, and
    /// the steps after it.
    #[cold]
    #[inline(never)]
    pub fn judge_again(&self, started: StartedEvent, payload: EventPayload) {
        let word = self.probe.control_word();
        if word != 0
            && self.probe.keeps_out(word, payload.kind)
            && control::withdraw(&self.station.begun, started.n as u32)
        {
            return self.leave_out_late(payload.kind, started);
        }
        let mark = control::take_mark(&self.station.state, started.state);
        self.write(&started, mark, &payload);
        // The outer event of a nested event takes the remaining steps.
        if started.depth == 0 {
            self.complete::<ANY>(started.n, started.at, payload.kind as u8 | mark);
        }
        self.probe.call_recorder::<ANY>();
    }

    /// Starts the next event. Returns `None` if the nesting is too deep.
    fn begin_slowly(&self) -> Option<StartedEvent> {
        let station = self.station;
        loop {
            let Some(head) = station.event_head.load_whole(Ordering::Relaxed) else {
                return self.count_too_deep(); // the interrupted event is publishing the head
            };
            let started = station.begun.load(Ordering::Relaxed); // E1
            let depth = started.wrapping_sub(head as u32);
            if depth > 0 && station.event_head.load(Ordering::Relaxed) != head {
                continue; // handlers came between the loads of the two words
            }
            if depth > L::MAX_DEPTH {
                self.reject_too_deep(depth, head)?;
                continue;
            }
            let last_ts = self.last_ts();
            let state = station.state.load(Ordering::Relaxed);
            let (at, place) = self.probe.reserve(|| P::now_ns().max(last_ts)); // E2
            station.last_ts.store(at, Ordering::Relaxed); // handlers from here on are later
            if control::enter(&station.begun, started) {
                return Some(StartedEvent {
                    n: head.wrapping_add(depth.into()),
                    at,
                    thread: P::thread_in(self.probe.attachment),
                    place,
                    state,
                    depth,
                });
            }
            self.restart_after_handler(place, at); // E3
        }
    }

    /// Undoes the start of an event, because a handler has recorded an event in the meantime. The
    /// caller then starts its event again, after that of the handler.
    #[cold]
    #[inline(never)]
    pub fn restart_after_handler(&self, place: Option<ReservedRecord<'static>>, at: u64) {
        self.probe.cancel(place, at);
        let station = self.station;
        let latest = station.begun.load(Ordering::Relaxed).wrapping_sub(1);
        let (latest_at, _) = slot::time_and_kind(station.slot_of(latest.into()));
        let mut last_ts = station.last_ts.load(Ordering::Relaxed);
        while last_ts < latest_at && !station.last_ts.replace(last_ts, latest_at) {
            last_ts = station.last_ts.load(Ordering::Relaxed);
        }
    }

    /// Drops an event that has a position in the lane already, because a filter came into force.
    fn leave_out_late(&self, kind: EventKind, started: StartedEvent) {
        self.probe.cancel(started.place, started.at);
        self.station.leave_out(kind);
    }

    /// Counts an event that is dropped because the nesting is too deep, and returns `None`. A
    /// greater depth is possible only if another writer has overwritten one of the two words. Then
    /// `begun` is set to the head, and the caller tries again.
    fn reject_too_deep(&self, depth: u32, head: u64) -> Option<()> {
        if depth == L::MAX_DEPTH + 1 {
            return self.count_too_deep();
        }
        self.station.begun.store(head as u32, Ordering::Relaxed);
        Some(())
    }

    fn count_too_deep<T>(&self) -> Option<T> {
        self.station.dropped_nested.fetch_add(1, Ordering::Relaxed);
        None
    }

    /// Adds the events that were nested in the event before `head` to the aggregates, one after the
    /// other, and publishes them.
    #[cold]
    #[inline(never)]
    pub fn complete_nested(&self, mut head: u64) {
        while let Some(complete) = self.unpublished_end(head) {
            while head != complete {
                if let Some(bins) = self.probe.bins::<ANY>() {
                    let slot = self.station.slot_of(head);
                    let (at, kind) = slot::time_and_kind(slot);
                    self.account(head, at, kind, bins);
                }
                head = head.wrapping_add(1);
            }
            self.station.event_head.store(head, Ordering::Release); // E5
            compiler_fence(Ordering::SeqCst);
        }
    }

    /// The end of the started but unpublished events behind this head, if there are any. A handler
    /// that came after E5 and found no outer event has published its own event, and the head has
    /// advanced. Therefore the head is read last.
    fn unpublished_end(&self, head: u64) -> Option<u64> {
        let started = self.station.begun.load(Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        let is_published = self.station.event_head.load(Ordering::Relaxed) != head;
        let more = started.wrapping_sub(head as u32);
        (more != 0 && !is_published).then(|| head.wrapping_add(more.into()))
    }

    /// Records a switch on the slow path. If only the clock needed a system call, the two events still
    /// share a time. Otherwise they are recorded one after the other.
    #[cold]
    #[inline(never)]
    pub fn switch_slowly(&self, next: &Self, payloads: [EventPayload; 2]) {
        let reserved = local::<P>().and_then(|local| {
            let lane = self.probe.cached_ring_now(local)?;
            self.reserve_pair(next, local, lane, || Some(P::now_ns()))
        });
        if let Some(reserved) = reserved {
            return self.emit_pair::<ANY>(next, &reserved, || payloads);
        }
        let [waits, runs] = payloads;
        self.event_slowly(waits);
        next.event_slowly(runs);
    }

    /// Records a switch again, as two events, because a handler has recorded an event of the
    /// waiting coroutine in the meantime.
    #[cold]
    #[inline(never)]
    pub fn restart_switch(
        &self,
        next: &Self,
        started: [StartedEvent; 2],
        payloads: [EventPayload; 2],
    ) {
        let ([first, second], [waits, runs]) = (started, payloads);
        self.restart_after_handler(first.place, first.at);
        next.probe.cancel(second.place, second.at);
        self.event_slowly(waits);
        next.event_slowly(runs);
    }

    /// Completes a switch as two events. The waiting coroutine has started its event, and since then a
    /// handler has recorded an event of the next coroutine, or the control word has changed.
    #[cold]
    #[inline(never)]
    pub fn split_switch(
        &self,
        next: &Self,
        has_entered: bool,
        started: [StartedEvent; 2],
        payloads: [EventPayload; 2],
    ) {
        let ([first, second], [waits, runs]) = (started, payloads);
        if has_entered {
            self.judge_again(first, waits);
            return next.judge_again(second, runs);
        }
        next.restart_after_handler(second.place, second.at);
        self.judge_again(first, waits);
        next.event_slowly(runs);
    }
}

impl<P: Platform, L: ProbeLayout> Probe<P, L> {
    /// The time, and a position in this thread's lane, if the thread has a lane.
    #[cold]
    #[inline(never)]
    pub(crate) fn reserve(&self, now: impl Fn() -> u64) -> (u64, Option<ReservedRecord<'static>>) {
        let own_ring = local::<P>().and_then(|local| Some((local, self.ring(local)?)));
        let Some((local, ring)) = own_ring else {
            return (now(), None);
        };
        let (at_ns, place) = ring.reserve(now);
        match place {
            Some(_) => {
                refresh_room(local, ring);
                self.ring_if_short(|| ring.is_filling());
            }
            None => remember_loss(local),
        }
        (at_ns, place)
    }

    /// Gives up a reserved position in this thread's lane.
    #[cold]
    pub(crate) fn cancel(&self, place: Option<ReservedRecord<'static>>, at_ns: u64) {
        if let Some(place) = place {
            let payload = Payload {
                kind: ThreadEventKind::Cancelled as u8,
                ..Payload::default()
            };
            place.commit(at_ns, payload);
        }
    }

    /// Emits a thread event where the fast path has no position for it. Returns its time.
    #[cold]
    #[inline(never)]
    pub(crate) fn emit_record_slowly(&self, owner_bits: u64, payload: Payload) -> u64 {
        let (at_ns, place) = self.reserve(P::now_ns);
        if let Some(place) = place {
            place.commit_for(owner_bits, at_ns, payload);
            self.call_recorder::<ANY>();
        }
        L::keep(self.region.ring, owner_bits, at_ns, || payload);
        at_ns
    }
}
