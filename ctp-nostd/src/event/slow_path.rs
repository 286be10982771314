//! Slow path: an event inside of another event of the same coroutine, which a signal handler records; a
//! thread's first event; a full lane; a filter that changes. The steps are those of `fast_path.rs`, and
//! of `switch.rs` for two events at one time.
//!
//! ```text
//!   E1 begun -> n                      a handler that comes before E3 and records an event of
//!   E2 time, place in the lane         this coroutine makes E3 fail; one that comes later finds
//!   E3 begun: n -> n + 1  (one step)   n taken, and its event is complete before this one is
//!   E4 slot n, record
//!   E5 head = begun, by the outermost, for the events inside of it too
//! ```

use core::sync::atomic::compiler_fence;

use super::payload::EventPayload;
use super::seat::{Begun, Seat};
use super::thread_lane::{look, remember_loss};
use crate::memory::layout::SLOTS;
use crate::platform::mode::ANY;
use crate::platform::{Platform, Probe, local};
use crate::protocol::control;
use crate::protocol::lane::{DeedKind, Payload, Place};
use crate::protocol::slot::{self, EventKind};
use crate::sync::{Ordering, unlocked};

/// Events of a coroutine that may be amid another one of the same: with that one, and the one
/// before it, as many as there are slots.
const MOST_AMID: u32 = SLOTS as u32 - 2;

impl<P: Platform> Seat<P> {
    /// A birth or a death.
    pub fn milestone(&self, payload: EventPayload) {
        if self.keeps(self.probe.control_word(), payload.kind) {
            self.event_slowly(payload);
        }
    }

    /// An event that was judged to be kept, in all of its steps.
    #[cold]
    #[inline(never)]
    pub fn event_slowly(&self, payload: EventPayload) {
        if let Some(begun) = self.begin_slowly() {
            self.judge_again(begun, payload);
        }
    }

    /// K4 of `control.rs`, and all that follows.
    #[cold]
    #[inline(never)]
    pub fn judge_again(&self, begun: Begun, payload: EventPayload) {
        let word = self.probe.control_word();
        if word != 0
            && self.probe.keeps_out(word, payload.kind)
            && control::withdraw(&self.station.begun, begun.n as u32)
        {
            return self.leave_out_late(payload.kind, begun);
        }
        let mark = control::take_mark(&self.station.state, begun.state);
        self.write(&begun, mark, &payload);
        // One that came amid another leaves the rest to that.
        if begun.amid == 0 {
            self.complete::<ANY>(begun.n, begun.at, payload.kind as u8 | mark);
        }
        self.probe.call_recorder::<ANY>();
    }

    /// The next event; nothing if too many came amid one.
    fn begin_slowly(&self) -> Option<Begun> {
        let station = self.station;
        loop {
            let head = station.event_head.load(Ordering::Relaxed);
            let begun = station.begun.load(Ordering::Relaxed); // E1
            let amid = begun.wrapping_sub(head as u32);
            if amid > 0 && station.event_head.load(Ordering::Relaxed) != head {
                continue; // handlers came between the looks at the two words
            }
            if amid > MOST_AMID {
                self.too_many_amid(amid, head)?;
                continue;
            }
            let last_ts = station.last_ts.load(Ordering::Relaxed);
            let state = station.state.load(Ordering::Relaxed);
            let (at, place) = self.probe.reserve(|| P::now_ns().max(last_ts)); // E2
            station.last_ts.store(at, Ordering::Relaxed); // a handler from here on is later
            if control::enter(&station.begun, begun) {
                return Some(Begun {
                    n: head.wrapping_add(amid.into()),
                    at,
                    thread: P::thread_in(self.probe.attachment),
                    place,
                    state,
                    amid,
                });
            }
            self.give_way(place, at); // E3
        }
    }

    /// A handler has begun and ended an event meanwhile: this one begins anew, after it.
    #[cold]
    #[inline(never)]
    pub fn give_way(&self, place: Option<Place<'static>>, at: u64) {
        self.probe.void(place, at);
        let station = self.station;
        let latest = station.begun.load(Ordering::Relaxed).wrapping_sub(1);
        let (latest_at, _) = slot::when_and_what(&station.slots[slot::index_of(latest.into())]);
        let mut last_ts = station.last_ts.load(Ordering::Relaxed);
        while last_ts < latest_at && !unlocked::exchange(&station.last_ts, last_ts, latest_at) {
            last_ts = station.last_ts.load(Ordering::Relaxed);
        }
    }

    /// A filter came into force when the event had a place already.
    fn leave_out_late(&self, kind: EventKind, begun: Begun) {
        self.probe.void(begun.place, begun.at);
        self.station.leave_out(kind);
    }

    /// Counts an event that is left out: gives nothing. More than that there never are: then somebody
    /// else has written one of the words, and it goes on from the head.
    fn too_many_amid(&self, amid: u32, head: u64) -> Option<()> {
        let station = self.station;
        if amid == MOST_AMID + 1 {
            station.dropped_nested.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        station.begun.store(head as u32, Ordering::Relaxed);
        Some(())
    }

    /// The events that came amid the one before `head` are added to the aggregates, one after the
    /// other, and told of.
    #[cold]
    #[inline(never)]
    pub fn complete_those_amid(&self, mut head: u64) {
        while let Some(complete) = self.untold(head) {
            while head != complete {
                if let Some(bins) = self.probe.bins::<ANY>() {
                    let it = &self.station.slots[slot::index_of(head)];
                    let (at, kind) = slot::when_and_what(it);
                    self.account(head, at, kind, bins);
                }
                head = head.wrapping_add(1);
            }
            self.station.event_head.store(head, Ordering::Release); // E5
            compiler_fence(Ordering::SeqCst);
        }
    }

    /// Up to where events are begun and not told of behind this head, if there are some. One that has come
    /// after E5 and found none has told of itself, and the head has gone on: so that is looked at last.
    fn untold(&self, head: u64) -> Option<u64> {
        let begun = self.station.begun.load(Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        let is_told = self.station.event_head.load(Ordering::Relaxed) != head;
        let more = begun.wrapping_sub(head as u32);
        (more != 0 && !is_told).then(|| head.wrapping_add(more.into()))
    }

    /// Still at one time where only the kernel knows it, else one after the other.
    #[cold]
    #[inline(never)]
    pub fn switch_slowly(&self, next: &Self, payloads: [EventPayload; 2]) {
        let now = || Some(P::now_ns());
        let take = |local| {
            let lane = self.probe.at_hand_now(local)?;
            self.take_both(next, local, lane, now)
        };
        if let Some(taken) = local::<P>().and_then(take) {
            return self.tell_both::<ANY>(next, &taken, || payloads);
        }
        let [waits, runs] = payloads;
        self.event_slowly(waits);
        next.event_slowly(runs);
    }

    /// A handler has recorded an event of the one that waits.
    #[cold]
    #[inline(never)]
    pub fn switch_anew(&self, next: &Self, begun: [Begun; 2], payloads: [EventPayload; 2]) {
        let ([first, second], [waits, runs]) = (begun, payloads);
        self.give_way(first.place, first.at);
        next.probe.void(second.place, second.at);
        self.event_slowly(waits);
        next.event_slowly(runs);
    }

    /// The one that waits has begun its event. A handler has recorded one of the next one since, or
    /// control has changed.
    #[cold]
    #[inline(never)]
    pub fn switch_apart(
        &self,
        next: &Self,
        has_entered: bool,
        begun: [Begun; 2],
        payloads: [EventPayload; 2],
    ) {
        let ([first, second], [waits, runs]) = (begun, payloads);
        if has_entered {
            self.judge_again(first, waits);
            return next.judge_again(second, runs);
        }
        next.give_way(second.place, second.at);
        self.judge_again(first, waits);
        next.event_slowly(runs);
    }
}

impl<P: Platform> Probe<P> {
    /// The time, and a place in this thread's lane if there is one.
    #[cold]
    #[inline(never)]
    pub(crate) fn reserve(&self, now: impl Fn() -> u64) -> (u64, Option<Place<'static>>) {
        let with_ring = |local| Some((local, self.ring(local)?));
        let Some((local, ring)) = local::<P>().and_then(with_ring) else {
            return (now(), None);
        };
        let (at_ns, place) = ring.reserve(now);
        match place {
            Some(_) => look(local, ring),
            None => remember_loss(local),
        }
        (at_ns, place)
    }

    /// Gives up a place in this thread's lane that was taken.
    #[cold]
    pub(crate) fn void(&self, place: Option<Place<'static>>, at_ns: u64) {
        if let Some(place) = place {
            let payload = Payload {
                kind: DeedKind::Void as u8,
                ..Payload::default()
            };
            place.commit(at_ns, payload);
        }
    }

    /// A record of its own, where the fast path has no place for one. Gives its time.
    #[cold]
    #[inline(never)]
    pub(crate) fn tell_slowly(&self, whose: u64, payload: Payload) -> u64 {
        let (at_ns, place) = self.reserve(P::now_ns);
        if let Some(place) = place {
            place.commit_of(whose, at_ns, payload);
            self.call_recorder::<ANY>();
        }
        at_ns
    }
}
