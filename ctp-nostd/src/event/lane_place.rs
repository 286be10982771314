//! What a thread tells in its lane.

use core::panic::Location;

use super::thread_lane::{look, remember_loss};
use crate::handle::probe::Probe;
use crate::platform::mode::{ANY, RecordingMode, in_mode};
use crate::platform::{Local, Platform, local};
use crate::protocol::lane::{DeedKind, Payload, Place};
use crate::protocol::wait::Resource;

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

    /// The time, and a place in this thread's lane if there is one, if all is as it mostly is.
    #[inline(always)]
    pub(crate) fn reserve_at_once<const MODE: RecordingMode>(
        &self,
        local: &Local,
        now: impl FnOnce() -> Option<u64>,
    ) -> Option<(u64, Option<Place<'static>>)> {
        let Some((ring, room)) = self.at_hand::<MODE>(local)? else {
            return Some((now()?, None));
        };
        let (at_ns, at) = ring.reserve_in(room, 1, now)?;
        Some((at_ns, ring.place_in(room, at)))
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

    /// A record of its own. Gives its time.
    pub(crate) fn tell(&self, payload: Payload) -> u64 {
        let whose = Payload::whose(payload.station, payload.uses);
        in_mode!(self, MODE => self.tell_as::<MODE>(whose, || payload))
    }

    /// A record of its own of [somebody](Payload::whose), whatever the payload says of that, which is asked for
    /// where it is needed, since there are too few registers to keep it.
    #[inline(always)]
    pub(crate) fn tell_as<const MODE: RecordingMode>(
        &self,
        whose: u64,
        payload: impl Fn() -> Payload,
    ) -> u64 {
        let at_once = |local| self.reserve_at_once::<MODE>(local, || self.ns_at_once::<MODE>());
        let Some((at_ns, place)) = local::<P>().and_then(at_once) else {
            return self.tell_slowly(whose, payload());
        };
        if let Some(place) = place {
            place.commit_of(whose, at_ns, payload());
            self.call_recorder::<MODE>();
        }
        at_ns
    }

    #[cold]
    #[inline(never)]
    fn tell_slowly(&self, whose: u64, payload: Payload) -> u64 {
        let (at_ns, place) = self.reserve(P::now_ns);
        if let Some(place) = place {
            place.commit_of(whose, at_ns, payload);
            self.call_recorder::<ANY>();
        }
        at_ns
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
}
