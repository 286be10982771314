//! Decodes the words of a header and a station for the recorder. Reads each word once.

use core::ops::AddAssign;

use crate::memory::RegionOf;
use crate::memory::alloc;
use crate::memory::layout::{
    EXT_REV, FEATURE_NO_CALLS, FEATURE_PRECISE_CHAINS, FLAG_COUNTS_WAKERS, FLAG_RECORDS_WAKES,
    Header, Layout, SLOTS, Slot, Station, StationOf, WAKER_IS_THREAD,
};
use crate::protocol::live_wakers;
use crate::protocol::slot::index_in;
use crate::protocol::wake;
use crate::sync::{AtomicU32, Ordering, fence};

/// Line 0 of a station: identifies its coroutine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The coroutine's id, unique in a recording if the station is extended.
    pub probe_id: u64,
    /// Nanoseconds on the monotonic clock.
    pub birth_ts: u64,
    /// The coroutine has ended.
    pub is_dead: bool,
    /// The probe uses the extension; otherwise the fields below have no meaning.
    pub is_extended: bool,
    /// The coroutine's runtime records wakes.
    pub records_wakes: bool,
    /// A [`crate::Kind`]'s code.
    pub kind: u8,
    /// Uses of the station so far, times two.
    pub generation: u32,
    /// Attach id of the process.
    pub owner: u32,
    /// Id in the table of names.
    pub meta: u32,
    /// Index of the coroutine's first event.
    pub base_n: u64,
}

/// The wake word and the words that describe the latest wake.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WakeState {
    /// Wakes so far, modulo 2^20.
    pub count: u32,
    /// The source of the latest wake: see [`WokenBy`].
    pub by: WokenBy,
    /// Time of the latest wake, nanoseconds on the monotonic clock.
    pub at_ns: u64,
}

/// The caller of `wake()`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WokenBy {
    /// The waker is not known.
    #[default]
    Unknown,
    /// A thread that ran no coroutine.
    Thread(u32),
    /// The coroutine with this [`coroutine_word`](crate::layout::coroutine_word).
    Coroutine(u32),
}

impl WokenBy {
    /// From the word that a waker stores.
    pub const fn from_word(word: u32) -> Self {
        match word {
            0 => WokenBy::Unknown,
            thread if thread & WAKER_IS_THREAD != 0 => WokenBy::Thread(thread & !WAKER_IS_THREAD),
            coroutine_word => WokenBy::Coroutine(coroutine_word),
        }
    }
}

impl<L: Layout> StationOf<L> {
    /// Identifies the coroutine; `None` while a coroutine is moving in.
    pub fn identity(&self) -> Option<Identity> {
        let generation = self.generation.load(Ordering::Acquire);
        if generation % 2 == 1 {
            return None;
        }
        let flags = self.flags.load(Ordering::Relaxed);
        let identity = Identity {
            probe_id: self.probe_id.load(Ordering::Relaxed),
            birth_ts: self.birth_ts.load(Ordering::Relaxed),
            is_dead: self.is_dead.load(Ordering::Acquire) != 0,
            is_extended: generation != 0 && self.ext_rev.load(Ordering::Relaxed) == EXT_REV,
            records_wakes: flags & FLAG_RECORDS_WAKES != 0,
            kind: self.kind.load(Ordering::Relaxed),
            generation,
            owner: self.owner.load(Ordering::Relaxed),
            meta: self.meta.load(Ordering::Relaxed),
            base_n: self.base_n.load(Ordering::Relaxed),
        };
        fence(Ordering::Acquire); // pairs with the fence of `describe` in a coroutine that moves in
        (self.generation.load(Ordering::Relaxed) == generation).then_some(identity)
    }

    /// Events so far of all coroutines of the station; changes with every event of this probe.
    #[inline]
    pub fn event_head(&self) -> u64 {
        self.event_head.load(Ordering::Acquire)
    }

    /// Time of the latest event, or of an event that is being written: nanoseconds on the monotonic
    /// clock.
    pub fn latest_event_ns(&self) -> u64 {
        self.last_ts.load_whole(Ordering::Relaxed).unwrap_or(0)
    }

    /// The slots.
    pub fn slots(&self) -> &L::Slots {
        &self.slots
    }

    /// The slot of event `n`.
    #[inline(always)]
    pub fn slot_of(&self, n: u64) -> &Slot {
        &self.slots.as_ref()[index_in::<L>(n)]
    }

    /// Events that were started, modulo 2^32. Events ahead of the head are incomplete, or nested in
    /// an incomplete event.
    pub fn begun(&self) -> u32 {
        self.begun.load(Ordering::Relaxed)
    }

    /// Events of this coroutine that were dropped because the nesting was too deep.
    pub fn nested(&self) -> u32 {
        self.dropped_nested.load(Ordering::Relaxed)
    }

    /// How many wakers of the coroutine are alive, if they are counted. Read this before
    /// [`wakes`](Station::wakes).
    pub fn wakers(&self, generation: u32) -> Option<u32> {
        let flags = self.flags.load(Ordering::Relaxed);
        let are_counted = flags & FLAG_COUNTS_WAKERS != 0;
        live_wakers::count(&self.wakers_live, generation).filter(|_| are_counted)
    }

    /// How often the coroutine was woken, and the source of the latest wake.
    pub fn wakes(&self) -> WakeState {
        let count = wake::count(self.wake.load(Ordering::Acquire));
        let by = WokenBy::from_word(self.waker.load(Ordering::Relaxed));
        WakeState {
            count,
            by,
            at_ns: self.wake_ts.load_whole(Ordering::Relaxed).unwrap_or(0),
        }
    }
}

impl Station {
    /// Sequence numbers of all slots.
    pub fn seqs(&self) -> [u64; SLOTS] {
        core::array::from_fn(|index| self.slots[index].seq.load(Ordering::Acquire))
    }
}

/// Counters of a header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Coroutines that found no station.
    pub refused: u32,
    /// Sites, chains and names that found no room in their tables.
    pub unnamed: u32,
    /// Threads that found no lane.
    pub laneless: u32,
    /// Forks that run unrecorded without the recorder's knowledge.
    pub unreached: u32,
    /// Runs that waited up to the limit for a copy of a stack.
    pub broken_freezes: u32,
    /// Doorbell bytes that were sent.
    pub wakes_sent: u32,
    /// Doorbell bytes that did not fit into the socket, so the recorder was awake.
    pub wakes_would_block: u32,
    /// Attempts to ring that failed, because there was no socket or no recorder.
    pub wakes_failed: u32,
    /// Times when only the safety tick found new events.
    pub wakes_rescued: u32,
}

impl AddAssign for Counters {
    fn add_assign(&mut self, other: Self) {
        for (total, more) in [
            (&mut self.refused, other.refused),
            (&mut self.unnamed, other.unnamed),
            (&mut self.laneless, other.laneless),
            (&mut self.unreached, other.unreached),
            (&mut self.broken_freezes, other.broken_freezes),
            (&mut self.wakes_sent, other.wakes_sent),
            (&mut self.wakes_would_block, other.wakes_would_block),
            (&mut self.wakes_failed, other.wakes_failed),
            (&mut self.wakes_rescued, other.wakes_rescued),
        ] {
            *total = total.saturating_add(more);
        }
    }
}

impl Header {
    /// The word of the [doorbell](crate::doorbell).
    pub fn tracer_sleeping(&self) -> &AtomicU32 {
        &self.tracer_sleeping
    }

    /// Whether the probe should make no system calls, because the program may run under a system call
    /// filter.
    pub fn forbids_calls(&self) -> bool {
        self.features.load(Ordering::Relaxed) & FEATURE_NO_CALLS != 0
    }

    /// Whether the await chain of each wait is requested, although this costs clones of wakers.
    pub fn wants_precise_chains(&self) -> bool {
        self.features.load(Ordering::Relaxed) & FEATURE_PRECISE_CHAINS != 0
    }

    /// Whether the recorder issues a `membarrier` before each sleep.
    pub fn declares_barrier(&self) -> bool {
        self.recorder_barrier.load(Ordering::Relaxed) == 1
    }

    /// All counters of the header.
    pub fn counters(&self) -> Counters {
        Counters {
            refused: self.refused.load(Ordering::Relaxed),
            unnamed: self.unnamed.load(Ordering::Relaxed),
            laneless: self.laneless.load(Ordering::Relaxed),
            unreached: self.unreached.load(Ordering::Relaxed),
            broken_freezes: self.broken_freezes.load(Ordering::Relaxed),
            wakes_sent: self.wakes_sent.load(Ordering::Relaxed),
            wakes_would_block: self.wakes_would_block.load(Ordering::Relaxed),
            wakes_failed: self.wakes_failed.load(Ordering::Relaxed),
            wakes_rescued: self.wakes_rescued.load(Ordering::Relaxed),
        }
    }

    /// Probe: counts a fork that runs unrecorded without the recorder's knowledge.
    pub fn count_unreached(&self) {
        self.unreached.fetch_add(1, Ordering::Relaxed);
    }

    /// Recorder: counts events that only the safety tick found.
    pub fn count_rescue(&self) {
        self.wakes_rescued.fetch_add(1, Ordering::Relaxed);
    }

    /// Recorder: resets a count beyond the maximum, see [`alloc::limit_claims`].
    pub fn limit_claims(&self, max: u32) {
        alloc::limit_claims(&self.allocated_count, max, &self.refused);
    }
}

impl<L: Layout> RegionOf<'_, L> {
    /// Whether there is no station for a new coroutine.
    pub fn is_full(&self) -> bool {
        self.left() == 0
    }

    /// Stations left for new coroutines: stations that were put back, and stations that were never
    /// used.
    pub fn left(&self) -> usize {
        let taken = self.header.free_head.load(Ordering::Relaxed);
        let put = self.header.free_tail.load(Ordering::Relaxed);
        let fresh = self.stations.len() - self.allocated().len();
        (put.wrapping_sub(taken) as usize).saturating_add(fresh)
    }

    /// Recorder: whether slots of this memory may be empty although they had events. That is so in a
    /// copy of a compact memory in the full layout, and in a copy made of two readings.
    pub fn has_vacant_slots(&self) -> bool {
        self.is_extended && self.header.station_bytes.load(Ordering::Relaxed) != 0
    }

    /// Recorder: whether so many stations are left that they last for a while.
    pub fn has_many_stations(&self) -> bool {
        self.stations.len() / 2 <= self.left()
    }

    /// Probe: whether the recorder should free stations soon.
    pub fn is_short_of_stations(&self) -> bool {
        self.left() < self.stations.len() / 4
    }

    /// Puts back the station with this index after its coroutine has ended and its `next_n` events
    /// have been read. If the coroutine's thread was killed within an event, the head may lag
    /// behind. This resets the head, because the station would otherwise be
    /// [inside](Station::is_inside) an event for ever.
    pub fn put_back(&self, index: u32, next_n: u64) {
        if let Some(station) = self.stations.get(index as usize) {
            station.event_head.store(next_n, Ordering::Relaxed);
            station.begun.store(next_n as u32, Ordering::Relaxed);
            station.state.store(0, Ordering::Relaxed);
            station.dropped_filtered.store(0, Ordering::Relaxed);
            alloc::put_back(&self.header.free_tail, self.free, index);
        }
    }
}

impl crate::memory::layout::Attach {
    /// The process in this row, if any.
    pub fn pid(&self) -> Option<u32> {
        let pid = self.pid.load(Ordering::Relaxed);
        (self.ready.load(Ordering::Acquire) != 0 && pid != 0).then_some(pid)
    }

    /// Time when the process attached, on the clock of its events: nanoseconds. Valid only if the
    /// row has a process.
    pub fn attached_ns(&self) -> u64 {
        self.attached_ns.load(Ordering::Relaxed)
    }
}
