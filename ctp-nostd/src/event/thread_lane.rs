//! Which lane a thread has.

use core::sync::atomic::compiler_fence;

use crate::platform::Probe;
use crate::platform::mode::ANY;
use crate::platform::{Local, Platform, ProbeLayout, local};
use crate::protocol::lane::{
    self, LaneRequest, Payload, Ring, Room, ThreadEventKind, should_prepare_lanes,
};
use crate::sync::Ordering;

/// In a thread's lane word: the lane was full, and does not hold a loss record yet.
const OVERRUN: u32 = 1 << 31;

/// In the same word: there was no lane for this thread; the bits below count its events since,
/// modulo 2^30.
const NONE: u32 = 1 << 30;

/// A thread without a lane repeats its request after this many events.
const RETRY_EVERY: u32 = 256;

/// Where lanes are overwritten, only one in this many repeated requests is made. Like any repeated
/// request, it makes few checks, but it also reads the time of the latest record in each long lane.
/// That takes longer than the events between two requests, and many of those lanes are being
/// written by other threads.
const OLDEST_RETRY_EVERY: u32 = 16;

/// The word of a thread of this attachment that needs no lane, because there are no lanes.
pub(crate) fn laneless_word(attachment: u32) -> u64 {
    lane_word(attachment, 0)
}

/// {attachment | number of a lane + 1}.
fn lane_word(attachment: u32, number: u32) -> u64 {
    u64::from(attachment) << 32 | u64::from(number)
}

impl<P: Platform, L: ProbeLayout> Probe<P, L> {
    /// Like [`cached_ring`](Self::cached_ring), after a check of the lane. Also succeeds where no
    /// lane was found for this thread.
    #[cold]
    pub(crate) fn cached_ring_now(&self, local: &Local) -> Option<Option<(Ring<'static>, Room)>> {
        let word = local.lane.load(Ordering::Relaxed);
        if word >> 32 != u64::from(self.attachment) {
            return None;
        }
        let number = if is_none(word as u32) {
            self.retry_claim(local, word)
        } else {
            word as u32
        };
        if is_none(number) {
            return Some(None);
        }
        if let Some(ring) = self.region.ring(number.wrapping_sub(1)) {
            refresh_room(local, ring);
            self.ring_if_short(|| ring.is_filling());
        }
        self.cached_ring::<ANY>(local)
    }

    /// The ring of this thread, if there is a lane for it.
    #[inline]
    pub(crate) fn ring(&self, local: &Local) -> Option<Ring<'static>> {
        let word = local.lane.load(Ordering::Relaxed);
        let number = if word >> 32 != u64::from(self.attachment) {
            self.claim_lane(local)
        } else if is_none(word as u32) {
            self.retry_claim(local, word)
        } else {
            word as u32
        };
        let ring = self.region.ring(number.wrapping_sub(1));
        ring.or_else(|| self.ring_after_loss(local, number))
    }

    /// The ring that was full, if there is room again. The loss is recorded first.
    #[cold]
    fn ring_after_loss(&self, local: &Local, number: u32) -> Option<Ring<'static>> {
        let number = number.checked_sub(OVERRUN)?;
        let ring = self.region.ring(number.wrapping_sub(1))?;
        let (at_ns, place) = ring.reserve(P::now_ns);
        let place = place?;
        let is_recorded = local.lane.compare_exchange(
            lane_word(self.attachment, OVERRUN | number),
            lane_word(self.attachment, number),
            Ordering::Relaxed,
            Ordering::Relaxed,
        );
        compiler_fence(Ordering::SeqCst); // a loss in a handler from here on is remembered again
        let payload = Payload {
            kind: ThreadEventKind::Loss as u8,
            n: ring.lost().into(),
            ..Payload::default()
        };
        place.commit(at_ns, payload);
        is_recorded.ok().map(|_| ring)
    }

    /// Requests a lane, and returns its number plus 1. Returns [`NONE`] if there was no lane for
    /// the thread, and 0 if there are no lanes. A thread without a lane is counted if the recorder
    /// made lanes.
    #[cold]
    fn claim_lane(&self, local: &Local) -> u32 {
        let thread = P::thread_in(self.attachment);
        local.thread.store(thread, Ordering::Relaxed);
        self.block_handlers(local);
        let number = match self.lane_for(thread, 0) {
            Some(number) => number,
            None if !self.region.declares_lanes() => 0,
            None => {
                self.region.header.laneless.fetch_add(1, Ordering::Relaxed);
                // Where the lanes could not be mapped, another request cannot succeed.
                if self.region.lanes.is_empty() {
                    0
                } else {
                    NONE
                }
            }
        };
        self.settle(local, number);
        // Lanes that are overwritten are not drained: only the lack of a lane concerns the recorder.
        self.ring_if_short(|| {
            number == NONE || !self.region.is_overwritten && should_prepare_lanes(number)
        });
        number
    }

    /// Counts another event of a thread that has found no lane. Now and then this requests a lane
    /// again.
    #[cold]
    fn retry_claim(&self, local: &Local, word: u64) -> u32 {
        let more = count_event(word as u32);
        let attempts = (more & !NONE) / RETRY_EVERY;
        let thread = local.thread.load(Ordering::Relaxed);
        self.block_handlers(local);
        let is_due = more.is_multiple_of(RETRY_EVERY);
        let found = is_due
            .then(|| self.lane_for(thread, attempts.max(1)))
            .flatten();
        let number = found.unwrap_or(more);
        self.settle(local, number);
        number
    }

    /// Blocks handlers: a handler that interrupts the thread from here on finds no lane, and takes none.
    fn block_handlers(&self, local: &Local) {
        local.lane.store(self.blocked_word(), Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        local.own_ring.forget(); // a handler may have set it just before
    }

    /// Unblocks handlers. Returns false if a handler of another attachment has changed the word.
    fn unblock_handlers(&self, local: &Local, word: u64) -> bool {
        let (lane, blocked_word) = (&local.lane, self.blocked_word());
        lane.compare_exchange(blocked_word, word, Ordering::Relaxed, Ordering::Relaxed)
            .is_ok()
    }

    /// The word of a thread with blocked handlers.
    fn blocked_word(&self) -> u64 {
        lane_word(self.attachment, OVERRUN)
    }

    /// Sets the lane of a thread with [blocked](Self::blocked_word) handlers. A handler in a fork
    /// has another attachment, is not blocked, and may have set a ring in the meantime.
    fn settle(&self, local: &Local, number: u32) {
        match self.region.ring(number.wrapping_sub(1)) {
            Some(ring) => local.own_ring.set(ring, self.ring_mark),
            None => local.own_ring.forget(),
        }
        if !self.unblock_handlers(local, lane_word(self.attachment, number)) {
            local.own_ring.forget();
            local.lane.store(0, Ordering::Relaxed);
        }
    }

    /// Requests a lane for this thread, and returns its number plus 1.
    fn lane_for(&self, thread: u64, attempts: u32) -> Option<u32> {
        let request = LaneRequest {
            thread: thread as u32,
            owner: self.attach_id.into(),
            attempts,
            has_exited: P::has_exited,
            introduce: |number| self.introduce(number as u32, thread),
        };
        let pool = self.region.pool();
        let number = if !self.region.is_overwritten {
            request.claim(pool)
        } else if attempts.is_multiple_of(OLDEST_RETRY_EVERY) {
            request.claim_oldest(pool, |number| {
                let ring = self.region.ring(number as u32);
                ring.map_or(0, |ring| ring.latest_at())
            })
        } else {
            None
        };
        number.map(|number| number as u32 + 1)
    }

    /// Writes a record into a lane: from here on, the lane belongs to this thread. Returns false if
    /// there is no room.
    fn introduce(&self, index: u32, thread: u64) -> bool {
        let Some(ring) = self.region.ring(index) else {
            return false;
        };
        ring.take_over();
        if ring.room() == Room::NONE {
            return false; // nothing is lost
        }
        let (at_ns, place) = ring.reserve(P::now_ns);
        let payload = Payload {
            kind: ThreadEventKind::Begin as u8,
            station: self.attach_id.into(),
            n: ring.lost().into(),
            arg: thread,
            ..Payload::default()
        };
        place
            .inspect(|place| place.commit(at_ns, payload))
            .is_some()
    }

    /// Announces that this thread is about to end: its lane is available to other threads at once.
    /// Without this call, the lane becomes available when the thread is known to have exited. Do
    /// not call this function in a signal handler that has interrupted a call of the probe: the
    /// event in progress would be recorded in a lane that may belong to another thread by then.
    pub fn thread_ends(self) {
        let Some(local) = local::<P>().filter(|_| self.is_live()) else {
            return;
        };
        if self.own_lane(local.lane.load(Ordering::Relaxed)).is_none() {
            return;
        }
        self.emit_record(Payload {
            kind: ThreadEventKind::End as u8,
            station: self.attach_id.into(),
            arg: P::thread_in(self.attachment),
            ..Payload::default()
        });
        self.leave_lane(local);
    }

    /// Makes the lane available to other threads, unless a handler has done so since.
    fn leave_lane(&self, local: &Local) {
        let word = local.lane.swap(self.blocked_word(), Ordering::Relaxed);
        local.own_ring.forget();
        let number = self.own_lane(word);
        if let Some(lane) = number.and_then(|number| self.region.pool().get(number as usize)) {
            lane::give_back(lane);
        }
        self.unblock_handlers(local, 0);
    }

    /// The number of the lane that a thread with this word has.
    fn own_lane(&self, word: u64) -> Option<u32> {
        let is_of_now = word >> 32 == u64::from(self.attachment);
        let number = (word as u32 & !OVERRUN).checked_sub(1)?;
        (is_of_now && !is_none(word as u32)).then_some(number)
    }
}

/// Whether this is the word of a thread that found no lane.
fn is_none(number: u32) -> bool {
    number & (NONE | OVERRUN) == NONE
}

/// The lane word of a thread without a lane, after another event.
fn count_event(number: u32) -> u32 {
    NONE | number.wrapping_add(1) & (NONE - 1)
}

/// Updates the known room in this thread's ring. No room is set while a loss is to be recorded
/// first, so that the next event takes the slow path, which records the loss.
pub(crate) fn refresh_room(local: &Local, ring: Ring<'static>) {
    let room = ring.room();
    if !has_unrecorded_loss(local) {
        local.own_ring.set_room(ring, room);
    }
    if has_unrecorded_loss(local) {
        local.own_ring.clear_room(); // a handler has lost a record
    }
}

fn has_unrecorded_loss(local: &Local) -> bool {
    local.lane.load(Ordering::Relaxed) & u64::from(OVERRUN) != 0
}

/// Remembers that a record was lost, so that a record of the loss precedes the next record that finds
/// room.
#[cold]
pub(crate) fn remember_loss(local: &Local) {
    local.lane.fetch_or(OVERRUN.into(), Ordering::Relaxed);
    local.own_ring.clear_room();
}
