//! Which lane a thread has.

use core::sync::atomic::compiler_fence;

use crate::platform::Probe;
use crate::platform::mode::ANY;
use crate::platform::{Local, Platform, local};
use crate::protocol::lane::{self, Claimant, DeedKind, Payload, Ring, Room};
use crate::sync::Ordering;

/// In a thread's word of its lane: this one was full, which the lane has not told yet.
const OVERRUN: u32 = 1 << 31;

/// In that word: there was no lane for this thread; the bits below count its events since, modulo 2^30.
const NONE: u32 = 1 << 30;

/// A thread without a lane looks for one again after so many events.
const LOOK_EVERY: u32 = 256;

/// Where the oldest one is to be found it looks at every so many of these only. It asks of few then too,
/// but reads when each long lane was last written to: that takes longer than the events from one look to
/// the next, and many of those lanes are just being written to by others.
const LOOK_FOR_OLDEST_EVERY: u32 = 16;

/// The word of a thread of this attachment that needs no lane, since nobody has one.
pub(crate) fn laneless_word(attachment: u32) -> u64 {
    lane_word(attachment, 0)
}

/// {attachment | number of a lane + 1}.
fn lane_word(attachment: u32, number: u32) -> u64 {
    u64::from(attachment) << 32 | u64::from(number)
}

impl<P: Platform> Probe<P> {
    /// Like [`at_hand`](Self::at_hand), as of a look at the lane now; also where none was found for this
    /// thread.
    #[cold]
    pub(crate) fn at_hand_now(&self, local: &Local) -> Option<Option<(Ring<'static>, Room)>> {
        let word = local.lane.load(Ordering::Relaxed);
        if word >> 32 != u64::from(self.attachment) {
            return None;
        }
        let number = match is_none(word as u32) {
            true => self.look_again(local, word),
            false => word as u32,
        };
        if is_none(number) {
            return Some(None);
        }
        if let Some(ring) = self.region.ring(number.wrapping_sub(1)) {
            look(local, ring);
        }
        self.at_hand::<ANY>(local)
    }

    /// The ring of this thread, if there is one for it.
    #[inline]
    pub(crate) fn ring(&self, local: &Local) -> Option<Ring<'static>> {
        let word = local.lane.load(Ordering::Relaxed);
        let number = match word >> 32 == u64::from(self.attachment) {
            true if is_none(word as u32) => self.look_again(local, word),
            true => word as u32,
            false => self.claim_lane(local),
        };
        let ring = self.region.ring(number.wrapping_sub(1));
        ring.or_else(|| self.ring_after_loss(local, number))
    }

    /// The ring that was full, if it has room again: what was lost is told first.
    #[cold]
    fn ring_after_loss(&self, local: &Local, number: u32) -> Option<Ring<'static>> {
        let number = number.checked_sub(OVERRUN)?;
        let ring = self.region.ring(number.wrapping_sub(1))?;
        let (at_ns, place) = ring.reserve(P::now_ns);
        let place = place?;
        let is_told = local.lane.compare_exchange(
            lane_word(self.attachment, OVERRUN | number),
            lane_word(self.attachment, number),
            Ordering::Relaxed,
            Ordering::Relaxed,
        );
        compiler_fence(Ordering::SeqCst); // what a handler loses from here on it remembers anew
        let payload = Payload {
            kind: DeedKind::Loss as u8,
            n: ring.lost().into(),
            ..Payload::default()
        };
        place.commit(at_ns, payload);
        is_told.ok().map(|_| ring)
    }

    /// Looks for a lane: gives its number plus 1; [`NONE`] if there was none for it, which is
    /// counted; 0 where nobody has one, which is counted if there should be some.
    #[cold]
    fn claim_lane(&self, local: &Local) -> u32 {
        let thread = P::thread_in(self.attachment);
        local.thread.store(thread, Ordering::Relaxed);
        self.keep_out_handlers(local);
        let number = match self.lane_for(thread, 0) {
            Some(number) => number,
            None if !self.region.declares_lanes() => 0,
            None => {
                self.region.header.laneless.fetch_add(1, Ordering::Relaxed);
                // Where they could not be mapped, it is no use to look again.
                if self.region.lanes.is_empty() {
                    0
                } else {
                    NONE
                }
            }
        };
        self.settle(local, number);
        number
    }

    /// One event more of a thread that has found no lane: now and then it looks again.
    #[cold]
    fn look_again(&self, local: &Local, word: u64) -> u32 {
        let more = one_event_more(word as u32);
        let looks = (more & !NONE) / LOOK_EVERY;
        let thread = local.thread.load(Ordering::Relaxed);
        self.keep_out_handlers(local);
        let is_due = more.is_multiple_of(LOOK_EVERY);
        let found = is_due
            .then(|| self.lane_for(thread, looks.max(1)))
            .flatten();
        let number = found.unwrap_or(more);
        self.settle(local, number);
        number
    }

    /// A handler that comes now finds no lane, and takes none.
    fn keep_out_handlers(&self, local: &Local) {
        local.lane.store(self.kept_out(), Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        local.own_ring.forget(); // a handler's, from just before
    }

    /// Its handlers are not kept out any more. False if one, for which that does not hold, has come.
    fn let_in_handlers(&self, local: &Local, word: u64) -> bool {
        let (lane, kept_out) = (&local.lane, self.kept_out());
        lane.compare_exchange(kept_out, word, Ordering::Relaxed, Ordering::Relaxed)
            .is_ok()
    }

    /// The word of a thread whose handlers are kept out.
    fn kept_out(&self) -> u64 {
        lane_word(self.attachment, OVERRUN)
    }

    /// This is what the thread has from now on, whose handlers are [kept out](Self::kept_out). One that
    /// was not, since it is of another program by now, may have set a ring amid this.
    fn settle(&self, local: &Local, number: u32) {
        match self.region.ring(number.wrapping_sub(1)) {
            Some(ring) => local.own_ring.set(ring, self.ring_mark),
            None => local.own_ring.forget(),
        }
        if !self.let_in_handlers(local, lane_word(self.attachment, number)) {
            local.own_ring.forget();
            local.lane.store(0, Ordering::Relaxed);
        }
    }

    /// The number plus 1 of a lane that is this thread's from now on.
    fn lane_for(&self, thread: u64, looks: u32) -> Option<u32> {
        let claimant = Claimant {
            thread: thread as u32,
            owner: self.attach_id.into(),
            looks,
            is_gone: P::is_gone,
            introduce: |number| self.introduce(number as u32, thread),
        };
        let latest = |number| {
            let ring = self.region.ring(number as u32);
            ring.map_or(0, |it| it.latest_at())
        };
        let pool = self.region.pool();
        let number = match self.region.is_overwritten {
            false => claimant.claim(pool),
            true if looks.is_multiple_of(LOOK_FOR_OLDEST_EVERY) => {
                claimant.claim_oldest(pool, latest)
            }
            true => None,
        };
        number.map(|number| number as u32 + 1)
    }

    /// Says in a lane whose it is from here on. False if there is no room.
    fn introduce(&self, index: u32, thread: u64) -> bool {
        let Some(ring) = self.region.ring(index) else {
            return false;
        };
        ring.take_over();
        if ring.room() == Room::NONE {
            return false; // and nothing is lost
        }
        let (at_ns, place) = ring.reserve(P::now_ns);
        let payload = Payload {
            kind: DeedKind::Begin as u8,
            station: self.attach_id.into(),
            n: ring.lost().into(),
            arg: thread,
            ..Payload::default()
        };
        place
            .inspect(|place| place.commit(at_ns, payload))
            .is_some()
    }

    /// This thread is about to end: its lane is for others at once. Without this call it is so
    /// once the thread is known to be gone. Not in a signal handler that goes back into one of these
    /// calls: what that has begun would be told in a lane that may be another thread's by then.
    pub fn thread_ends(self) {
        let Some(local) = local::<P>().filter(|_| self.is_live()) else {
            return;
        };
        if self.own_lane(local.lane.load(Ordering::Relaxed)).is_none() {
            return;
        }
        self.tell(Payload {
            kind: DeedKind::End as u8,
            station: self.attach_id.into(),
            arg: P::thread_in(self.attachment),
            ..Payload::default()
        });
        self.leave_lane(local);
    }

    /// Gives it back, unless a handler has done so since.
    fn leave_lane(&self, local: &Local) {
        let word = local.lane.swap(self.kept_out(), Ordering::Relaxed);
        local.own_ring.forget();
        let number = self.own_lane(word);
        if let Some(lane) = number.and_then(|it| self.region.pool().get(it as usize)) {
            lane::give_back(lane);
        }
        self.let_in_handlers(local, 0);
    }

    /// The number of the lane that a thread with this word has.
    fn own_lane(&self, word: u64) -> Option<u32> {
        let is_of_now = word >> 32 == u64::from(self.attachment);
        let number = (word as u32 & !OVERRUN).checked_sub(1)?;
        (is_of_now && !is_none(word as u32)).then_some(number)
    }
}

/// Is that the word of a thread that found no lane?
fn is_none(number: u32) -> bool {
    number & (NONE | OVERRUN) == NONE
}

/// That word, of one event later.
fn one_event_more(number: u32) -> u32 {
    NONE | number.wrapping_add(1) & (NONE - 1)
}

/// Looks how much room there is in this thread's ring. None, if it has a loss to tell first: what was
/// found before that loss is used up by then.
pub(crate) fn look(local: &Local, ring: Ring<'static>) {
    let room = ring.room();
    let has_loss = || local.lane.load(Ordering::Relaxed) & u64::from(OVERRUN) != 0;
    if !has_loss() {
        local.own_ring.has_room(ring, room);
    }
    if has_loss() {
        local.own_ring.has_no_room(); // a handler's
    }
}

/// The next record that finds room comes after one that tells of the loss.
#[cold]
pub(crate) fn remember_loss(local: &Local) {
    local.lane.fetch_or(OVERRUN.into(), Ordering::Relaxed);
    local.own_ring.has_no_room();
}
