//! A station while a coroutine of this program owns it, and an event that the coroutine has
//! started.

use crate::memory::layout::{EXT_REV, Layout, StationOf, coroutine_word};
use crate::platform::mode::ANY;
use crate::platform::{Platform, Probe, ProbeLayout};
use crate::protocol::lane::{Payload, ReservedRecord};
use crate::protocol::wake;
use crate::sync::{Ordering, fence};

/// A station and what its coroutine needs at every event, most needed fields first.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct StationHandle<P, L: Layout> {
    pub station: &'static StationOf<L>,
    /// Identifies this coroutine in a lane record.
    pub owner_bits: u64,
    pub index: u32,
    pub generation: u32,
    /// Identifies this coroutine in the word of its thread.
    pub word: u32,
    pub probe: Probe<P, L>,
}

/// An event that has its index `n`, its time and its position in the lane.
#[derive(Debug)]
pub(crate) struct StartedEvent {
    pub n: u64,
    pub at: u64,
    pub thread: u64,
    pub place: Option<ReservedRecord<'static>>,
    /// The station's `state` before the event, with the mark of dropped events.
    pub state: u32,
    /// How many started but unpublished events of the same coroutine this event is nested in.
    pub depth: u32,
}

impl StartedEvent {
    /// An event that is not nested, and has no dropped events before it.
    #[inline(always)]
    pub fn alone(n: u64, at: u64, thread: u64, place: Option<ReservedRecord<'static>>) -> Self {
        StartedEvent {
            n,
            at,
            thread,
            place,
            state: 0,
            depth: 0,
        }
    }
}

impl<P: Platform, L: ProbeLayout> StationHandle<P, L> {
    /// Unique in a recording: {attach id 16 | use of the station 24 | station + 1, 24}.
    pub fn probe_id(&self) -> u64 {
        let uses = u64::from(self.generation / 2) & 0xFF_FFFF;
        u64::from(self.probe.attach_id) << 48 | uses << 24 | (u64::from(self.index) + 1)
    }

    /// Moves into a station that was just claimed: fills in its line 0. `generation` is odd during
    /// the call. `born_ns` is the time of the coroutine's birth.
    pub fn move_in(probe: Probe<P, L>, index: u32, kind: u8, meta: u32, born_ns: u64) -> Self {
        let station = &probe.region.stations[index as usize];
        let generation = station.generation.load(Ordering::Relaxed).wrapping_add(2) & !1;
        let handle = StationHandle::of_use(probe, index, generation);
        station
            .generation
            .store(generation.wrapping_sub(1), Ordering::Relaxed);
        fence(Ordering::Release); // pairs with the fence of `identity`
        handle.describe(kind, meta, born_ns);
        station.generation.store(generation, Ordering::Release);
        handle
    }

    /// The handle of the coroutine in the station, for an owner that kept only the index.
    #[cfg(not(loom))]
    pub fn of_station(probe: Probe<P, L>, index: u32) -> Self {
        let station = &probe.region.stations[index as usize];
        StationHandle::of_use(probe, index, station.generation.load(Ordering::Relaxed))
    }

    fn of_use(probe: Probe<P, L>, index: u32, generation: u32) -> Self {
        StationHandle {
            station: &probe.region.stations[index as usize],
            index,
            generation,
            word: coroutine_word(index, generation),
            owner_bits: Payload::owner_bits(index, (generation / 2) as u8),
            probe,
        }
    }

    fn describe(&self, kind: u8, meta: u32, born_ns: u64) {
        let station = self.station;
        let base_n = station.event_head.load(Ordering::Relaxed);
        station.base_n.store(base_n, Ordering::Relaxed);
        station.begun.store(base_n as u32, Ordering::Relaxed);
        station.dropped_nested.store(0, Ordering::Relaxed);
        station.probe_id.store(self.probe_id(), Ordering::Relaxed);
        station.birth_ts.store(born_ns, Ordering::Relaxed);
        station.flags.store(0, Ordering::Relaxed);
        station.state.store(0, Ordering::Relaxed);
        station.dropped_filtered.store(0, Ordering::Relaxed);
        station.waker.store(0, Ordering::Relaxed);
        station.wake_ts.store(0, Ordering::Relaxed);
        station.kind.store(kind, Ordering::Relaxed);
        let wake = wake::word(self.generation);
        station.wake.store(wake, Ordering::Relaxed);
        station.wakers_live.store(wake, Ordering::Relaxed);
        let owner = self.probe.attach_id.into();
        station.owner.store(owner, Ordering::Relaxed);
        station.meta.store(meta, Ordering::Relaxed);
        station.is_dead.store(0, Ordering::Relaxed);
        if let Some(station) = L::as_full(station).filter(|_| self.probe.bins::<ANY>().is_some()) {
            station.clear_aggregates();
        }
        if self.probe.region.is_extended {
            station.ext_rev.store(EXT_REV, Ordering::Relaxed);
        }
    }
}
