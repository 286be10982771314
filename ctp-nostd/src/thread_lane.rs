//! Which lane a thread has, and what it tells there that is not of one coroutine.

use core::panic::Location;

use crate::lane::{self, Claimant, Deed, Payload, Ring};
use crate::platform::{Local, Platform};
use crate::probe::Probe;
use crate::sync::Ordering;
use crate::wait::Resource;

/// A record that this thread has reserved in its lane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    ring: Ring<'static>,
    pub at: u64,
}

impl Place {
    /// In one attempt: the time, and the first of so many places in the ring if there is one. Nothing
    /// if there is no room, a handler came between, or the time cannot be told at once.
    #[inline(always)]
    pub fn take(
        ring: Option<Ring<'static>>,
        places: u64,
        now: impl FnOnce() -> Option<u64>,
    ) -> Option<(u64, Option<Place>)> {
        let Some(ring) = ring else {
            return Some((now()?, None));
        };
        let (at_ns, at) = ring.reserve_at_once(places, now)?;
        Some((at_ns, Some(Place { ring, at })))
    }

    /// The place behind it.
    #[inline(always)]
    pub fn next(&self) -> Place {
        let Place { ring, at } = *self;
        let at = at.wrapping_add(1);
        Place { ring, at }
    }

    /// Fills it in.
    #[inline(always)]
    pub fn commit(&self, at_ns: u64, payload: Payload) {
        self.ring.commit(self.at, at_ns, payload);
    }
}

/// In a thread's word of its lane: this one was full, which the lane has not told yet.
const OVERRUN: u32 = 1 << 31;

/// The same: there was no lane for this thread; the bits below count its events since, modulo 2^30.
const NONE: u32 = 1 << 30;

/// A thread without a lane looks for one again after so many events.
const LOOK_EVERY: u32 = 256;

/// Where the oldest one is to be found it asks of all long lanes, at every so many looks.
const ASK_ALL_EVERY: u32 = 16;

/// {attachment | number of a lane + 1}.
fn lane_word(attachment: u32, number: u32) -> u64 {
    u64::from(attachment) << 32 | u64::from(number)
}

impl<P: Platform> Probe<P> {
    /// The time, and a place in this thread's lane if there is one.
    #[cold]
    #[inline(never)]
    pub(crate) fn reserve(&self, now: impl Fn() -> u64) -> (u64, Option<Place>) {
        let with_ring = |local| Some((local, self.ring(local)?));
        let Some((local, ring)) = P::local().and_then(with_ring) else {
            return (now(), None);
        };
        let (at_ns, place) = ring.reserve(now);
        if place.is_none() {
            remember_loss(local);
        }
        (at_ns, place.map(|at| Place { ring, at }))
    }

    /// The long ring of this thread or that it has none, if that is known and no loss is to be told. Then
    /// the thread's id is known too.
    #[inline(always)]
    pub(crate) fn at_hand(&self, local: &Local) -> Option<Option<Ring<'static>>> {
        let word = local.lane.load(Ordering::Relaxed);
        if word >> 32 != u64::from(self.attachment) {
            return None;
        }
        match word as u32 {
            0 => Some(None),
            number => Some(Some(self.region.long_ring(number.wrapping_sub(1))?)),
        }
    }

    /// The same, also where the ring is a short one, or there was no lane for this thread.
    #[cold]
    pub(crate) fn any_at_hand(&self, local: &Local) -> Option<Option<Ring<'static>>> {
        let at_hand = self.at_hand(local);
        let word = local.lane.load(Ordering::Relaxed);
        if at_hand.is_some() || word >> 32 != u64::from(self.attachment) {
            return at_hand;
        }
        match word as u32 {
            number if is_none(number) => Some(None),
            number => self.region.ring(number.wrapping_sub(1)).map(Some),
        }
    }

    /// Gives up a place in this thread's lane that was taken.
    #[cold]
    pub(crate) fn void(&self, place: Option<u64>, at_ns: u64) {
        if let Some(place) = self.place_again(place) {
            let payload = Payload {
                kind: Deed::Void as u8,
                ..Payload::default()
            };
            place.commit(at_ns, payload);
        }
    }

    /// A place in this thread's lane that was taken.
    pub(crate) fn place_again(&self, at: Option<u64>) -> Option<Place> {
        let number = self.own_lane(P::local()?)?;
        let ring = self.region.ring(number)?;
        Some(Place { ring, at: at? })
    }

    /// The ring of this thread, if there is one for it.
    #[inline]
    fn ring(&self, local: &Local) -> Option<Ring<'static>> {
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
        let payload = Payload {
            kind: Deed::Loss as u8,
            n: ring.lost().into(),
            ..Payload::default()
        };
        let (at_ns, place) = ring.reserve(P::now_ns);
        ring.commit(place?, at_ns, payload);
        let word = lane_word(self.attachment, number);
        local.lane.store(word, Ordering::Relaxed);
        Some(ring)
    }

    /// Looks for a lane: gives its number plus 1; [`NONE`] if there was none for it, which is
    /// counted; 0 where nobody has one.
    #[cold]
    fn claim_lane(&self, local: &Local) -> u32 {
        let thread = P::thread_in(self.attachment);
        local.thread.store(thread, Ordering::Relaxed);
        let number = match self.lane_for(thread, 0) {
            Some(number) => number,
            None if self.region.lanes.is_empty() => 0,
            None => {
                self.region.header.laneless.fetch_add(1, Ordering::Relaxed);
                NONE
            }
        };
        let word = lane_word(self.attachment, number);
        local.lane.store(word, Ordering::Relaxed);
        number
    }

    /// One event more of a thread that has found no lane: now and then it looks again.
    #[cold]
    fn look_again(&self, local: &Local, word: u64) -> u32 {
        let more = one_event_more(word as u32);
        let looks = (more & !NONE) / LOOK_EVERY;
        let thread = local.thread.load(Ordering::Relaxed);
        let is_due = more.is_multiple_of(LOOK_EVERY);
        let found = is_due
            .then(|| self.lane_for(thread, looks.max(1)))
            .flatten();
        let number = found.unwrap_or(more);
        let word = lane_word(self.attachment, number);
        local.lane.store(word, Ordering::Relaxed);
        number
    }

    /// The number plus 1 of a lane that is this thread's from now on.
    fn lane_for(&self, thread: u64, looks: u32) -> Option<u32> {
        let claimant = Claimant {
            thread: thread as u32,
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
            true if looks.is_multiple_of(ASK_ALL_EVERY) => claimant.claim_oldest(pool, latest),
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
        let (at_ns, place) = ring.reserve(P::now_ns);
        let payload = Payload {
            kind: Deed::Begin as u8,
            station: self.attach_id.into(),
            n: ring.lost().into(),
            arg: thread,
            ..Payload::default()
        };
        place
            .inspect(|place| ring.commit(*place, at_ns, payload))
            .is_some()
    }

    /// Something is gone for which coroutines may wait: nothing that still comes of it will resume
    /// them, so they will wait for ever unless somebody wakes them now. Call it just before the call
    /// that closes or frees it: afterwards its number may be another's, whose coroutines it would be
    /// told of. Of a file with several numbers tell the last one by which it is waited for. The caller
    /// is where.
    #[track_caller]
    pub fn closed(self, resource: impl Into<Resource>) {
        let Resource { kind, number } = resource.into();
        if self.is_live() && !self.region.header.is_stopped() {
            self.tell(Payload {
                kind: Deed::Close as u8,
                wait_kind: kind as u8,
                site: self.site(Location::caller()).0,
                arg: number,
                ..Payload::default()
            });
        }
    }

    /// This thread is about to end: its lane is for others at once. Without this call it is so
    /// once the thread is known to be gone.
    pub fn thread_ends(self) {
        let Some(local) = P::local().filter(|_| self.is_live()) else {
            return;
        };
        let Some(number) = self.own_lane(local) else {
            return;
        };
        self.tell(Payload {
            kind: Deed::End as u8,
            station: self.attach_id.into(),
            arg: P::thread_in(self.attachment),
            ..Payload::default()
        });
        // A handler that comes now finds no lane, and takes none.
        let none = lane_word(self.attachment, 0);
        local.lane.store(none, Ordering::Relaxed);
        if let Some(lane) = self.region.pool().get(number as usize) {
            lane::give_back(lane);
        }
        local.lane.store(0, Ordering::Relaxed);
    }

    /// The number of the lane that this thread has.
    fn own_lane(&self, local: &Local) -> Option<u32> {
        let word = local.lane.load(Ordering::Relaxed);
        let is_of_now = word >> 32 == u64::from(self.attachment);
        let number = (word as u32 & !OVERRUN).checked_sub(1)?;
        (is_of_now && !is_none(word as u32)).then_some(number)
    }

    /// A record of its own. Gives its time.
    #[inline]
    pub(crate) fn tell(&self, payload: Payload) -> u64 {
        let (at_ns, place) = match P::local().and_then(|local| self.take(local)) {
            Some(taken) => taken,
            None => self.reserve(P::now_ns),
        };
        if let Some(place) = place {
            place.commit(at_ns, payload);
            self.call_recorder();
        }
        at_ns
    }

    /// [`reserve`](Probe::reserve), if all is as it mostly is.
    #[inline(always)]
    fn take(&self, local: &Local) -> Option<(u64, Option<Place>)> {
        Place::take(self.at_hand(local)?, 1, || self.ns_at_once())
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

/// The next record that finds room comes after one that tells of the loss.
#[cold]
fn remember_loss(local: &Local) {
    let word = local.lane.load(Ordering::Relaxed);
    let flagged = word | u64::from(OVERRUN);
    local.lane.store(flagged, Ordering::Relaxed);
}
