//! A place in the lane of the calling thread, and a record there of what the thread does.

use crate::platform::mode::{ANY, RecordingMode, USUAL, USUAL_FLIGHT, in_mode};
use crate::platform::{Local, Platform, Probe, local};
use crate::protocol::lane::{Payload, Place, Ring, Room};
use crate::sync::Ordering;

impl<P: Platform> Probe<P> {
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

    /// The ring of this thread with the room that it is known to have, or that nobody has a lane, if that
    /// is known. Then the thread's id is known too.
    #[inline(always)]
    pub(crate) fn at_hand<const MODE: RecordingMode>(
        &self,
        local: &Local,
    ) -> Option<Option<(Ring<'static>, Room)>> {
        match local.own_ring.at_hand(self.ring_mark) {
            Some((ring, room)) => {
                let is_overwritten = match MODE {
                    USUAL => false,
                    USUAL_FLIGHT => true,
                    _ => self.region.is_overwritten,
                };
                Some(Some((ring.overwritten(is_overwritten), room)))
            }
            None if MODE != ANY => None,
            None => {
                let is_laneless = local.lane.load(Ordering::Relaxed) == self.laneless_word;
                is_laneless.then_some(None)
            }
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
}
