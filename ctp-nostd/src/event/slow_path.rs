//! An event where not all is as it mostly is: a signal handler comes amid one, and records events of
//! the very coroutine that it interrupts; a thread's first one; a lane that is full; a filter that
//! changes. The steps are those of `event/fast_path.rs`.
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
use crate::memory::layout::SLOTS;
use crate::platform::Platform;
use crate::platform::mode::ANY;
use crate::protocol::control;
use crate::protocol::lane::Place;
use crate::protocol::slot::{self, EventKind};
use crate::sync::{Ordering, unlocked};

/// Events of a coroutine that may be amid another one of the same: with that one, and the one
/// before it, as many as there are slots.
const MOST_AMID: u32 = SLOTS as u32 - 2;

impl<P: Platform> Seat<P> {
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
}
