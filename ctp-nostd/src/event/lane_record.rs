//! A position in the lane of the calling thread, and records of thread events there.

use crate::platform::mode::{ANY, RecordingMode, USUAL, USUAL_FLIGHT, in_mode};
use crate::platform::{Local, Platform, Probe, ProbeLayout, local};
use crate::protocol::lane::{Payload, ReservedRecord, Ring, Room};
use crate::sync::{HAS_LANES, Ordering};

impl<P: Platform, L: ProbeLayout> Probe<P, L> {
    /// Fast path: the time, and a position in this thread's lane, if the thread has a lane.
    #[inline(always)]
    pub(crate) fn reserve_fast<const MODE: RecordingMode>(
        &self,
        local: &Local,
        now: impl FnOnce() -> Option<u64>,
    ) -> Option<(u64, Option<ReservedRecord<'static>>)> {
        let Some((ring, room)) = self.cached_ring::<MODE>(local)? else {
            return Some((now()?, None));
        };
        let (at_ns, at) = ring.reserve_in(room, 1, now)?;
        Some((at_ns, ring.place_in(room, at)))
    }

    /// The ring of this thread with its known room; `Some(None)` if there are no lanes; `None` if
    /// neither is known. In the first two cases the thread's id is known too.
    #[inline(always)]
    pub(crate) fn cached_ring<const MODE: RecordingMode>(
        &self,
        local: &Local,
    ) -> Option<Option<(Ring<'static>, Room)>> {
        if !HAS_LANES {
            return Some(None);
        }
        match local.own_ring.cached(self.ring_mark) {
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

    /// Emits a thread event as a record of its own. Returns its time.
    pub(crate) fn emit_record(&self, payload: Payload) -> u64 {
        let owner_bits = Payload::owner_bits(payload.station, payload.uses);
        in_mode!(self, MODE => self.emit_record_for::<MODE>(owner_bits, || payload))
    }

    /// Emits a thread event for this [owner](Payload::owner_bits), and ignores the owner that the
    /// payload names. The payload is created only where it is needed, since there are too few
    /// registers to keep it.
    #[inline(always)]
    pub(crate) fn emit_record_for<const MODE: RecordingMode>(
        &self,
        owner_bits: u64,
        payload: impl Fn() -> Payload,
    ) -> u64 {
        let reserved = local::<P>()
            .and_then(|local| self.reserve_fast::<MODE>(local, || self.ns_at_once::<MODE>()));
        let Some((at_ns, place)) = reserved else {
            return self.emit_record_slowly(owner_bits, payload());
        };
        if let Some(place) = place {
            place.commit_for(owner_bits, at_ns, payload());
            self.call_recorder::<MODE>();
        }
        L::keep(self.region.ring, owner_bits, at_ns, payload);
        at_ns
    }
}
