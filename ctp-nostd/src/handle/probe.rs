//! What the attached program tells of its threads: waits, closed resources, and locks that are held.

use core::marker::PhantomData;
use core::panic::Location;

use crate::event::{RunsHere, announce, laneless_word};
use crate::memory::{Region, layout};
use crate::platform::mode::{ANY, USUAL, USUAL_FLIGHT};
use crate::platform::{Platform, Probe, attachment, local};
use crate::protocol::lane::{
    DeedKind, HELD_BY_COROUTINE, HELD_BY_THREAD, HELD_BY_UNKNOWN, Payload, RingMark,
};
use crate::protocol::wait::{Resource, Wait};

impl<P: Platform> Probe<P> {
    /// A probe on this memory. `attach_id` tells apart the processes that share it.
    pub fn new(region: Region<'static>, attach_id: u16) -> Self {
        Self::attached(region, attach_id, attachment::<P>())
    }

    /// A probe on this memory, of an attachment that is about to be the platform's.
    pub(crate) fn attached(region: Region<'static>, attach_id: u16, attachment: u32) -> Self {
        let bins = region.header.bins().filter(|_| region.extended);
        Probe {
            region,
            attach_id,
            attachment,
            ring_mark: RingMark::of(attachment),
            laneless_word: laneless_word(attachment),
            is_ordered: false,
            bins: bins.unwrap_or_default(),
            has_bins: bins.is_some(),
            mode: ANY,
            platform: PhantomData,
        }
    }

    /// This probe, in a process that the recorder's `membarrier` reaches (or that nobody
    /// needs to ring for): its events need no fence, see [`crate::doorbell`].
    pub fn ordered_by_recorder(self, is_ordered: bool) -> Self {
        let Region {
            extended,
            is_overwritten,
            lanes,
            ..
        } = self.region;
        let mode = match (is_overwritten, self.has_bins) {
            (false, false) => USUAL,
            (true, true) => USUAL_FLIGHT,
            _ => ANY,
        };
        let is_known = is_ordered && extended && !lanes.is_empty();
        Probe {
            is_ordered,
            mode: if is_known { mode } else { ANY },
            ..self
        }
    }

    /// A leaf future is about to return `Pending`: says what the coroutine that runs here waits
    /// for. Its next suspend carries it. Of several in one run the last is kept, and marked. It is void
    /// once another one runs on this thread, or this one ends, or waits for what it says itself.
    #[inline]
    pub fn waits_for(self, wait: Wait) {
        let Some(local) = local::<P>().filter(|_| self.is_live()) else {
            return;
        };
        announce::note(local, self.site(wait.place), &wait);
    }

    /// Something is gone for which coroutines may wait: nothing that still comes of it will resume
    /// them, so they will wait for ever unless somebody wakes them now. Call it just before the call
    /// that closes or frees it: afterwards its number may be another's, whose coroutines it would be
    /// told of. Of a file with several numbers tell the last one by which it is waited for. The caller
    /// is where. Its type says what it is: an `i32` a descriptor, a `usize` the address of a lock or a
    /// channel, a `u64` something of the program's own, even if it is an address.
    #[track_caller]
    pub fn closed(self, resource: impl Into<Resource>) {
        let Resource { kind, number } = resource.into();
        if self.is_live() && !self.region.header.is_stopped() {
            self.tell(Payload {
                kind: DeedKind::Close as u8,
                wait_kind: kind as u8,
                site: self.site(Location::caller()).0,
                arg: number,
                ..Payload::default()
            });
        }
    }

    /// The coroutine that runs on this thread holds a lock from now on; if none runs here, the
    /// thread does. Call it just after the lock was taken, in every way in which it can be. The
    /// caller is where. A lock is named by its address as a `usize`; as a `u64` it is something else.
    ///
    /// Whoever holds it at the end of the recording is said to keep those that
    /// [wait](crate::Wait::lock) for it, so tell only of what nobody else can give back: a lock, and
    /// not a semaphore to which others may add; of one that can be shared, only of who has it alone.
    /// A guard that goes to another coroutine, or out of one that ends, is
    /// [`released`](Probe::released) here and acquired there. Of one that may be in the output of a
    /// `traced()` future, it is not known who has it from then on, until it is released.
    #[inline]
    #[track_caller]
    pub fn acquired(self, resource: impl Into<Resource>) {
        self.acquired_at(resource, Location::caller());
    }

    /// Like [`acquired`](Self::acquired), at this place, where the caller is no line of the user's: a future
    /// that takes a lock was made at one, as its [`Wait`] was.
    #[inline]
    pub fn acquired_at(self, resource: impl Into<Resource>, place: &'static Location<'static>) {
        self.tell_hold(DeedKind::Acquire, resource.into(), place);
    }

    /// It is given back, by a name of the same type. Call it just before, so that what comes next of
    /// that lock is told later.
    /// What was not [`acquired`](Probe::acquired) while anybody recorded is passed over.
    #[inline]
    #[track_caller]
    pub fn released(self, resource: impl Into<Resource>) {
        self.tell_hold(DeedKind::Release, resource.into(), Location::caller());
    }

    #[inline(never)]
    fn tell_hold(self, deed: DeedKind, resource: Resource, place: &'static Location<'static>) {
        if !self.is_live() || self.region.header.is_stopped() {
            return;
        }
        let (told, holder) = match RunsHere::find::<P>(self.region.stations) {
            RunsHere::Nobody => (HELD_BY_THREAD, None),
            RunsHere::Coroutine(word) => (HELD_BY_COROUTINE, Some(word)),
            RunsHere::Unsure => (HELD_BY_UNKNOWN, None),
        };
        self.tell(Payload {
            kind: deed as u8,
            wait_kind: resource.kind as u8,
            uses: holder.map_or(0, layout::uses_of) as u8,
            station: holder.and_then(layout::station_of).unwrap_or(0),
            n: told,
            site: self.site(place).0,
            arg: resource.number,
        });
    }
}
