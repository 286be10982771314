//! Lays out fresh memory. Only the recorder uses this module.
#![allow(
    unsafe_code,
    reason = "the caller vouches for the memory that is laid out"
)]

use crate::memory::layout::{
    Attach, EXT_MAGIC, EXT_REV, FEATURE_NO_CALLS, FEATURE_PRECISE_CHAINS, Header, Interned,
    LAYOUT_HASH, Lane, LaneRecord, MAGIC, Span, Station, VERSION,
};
use crate::memory::{MappedMemory, Refused, Region};
use crate::protocol::aggregate::Bins;
use crate::sync::{AtomicU32, Ordering};

/// Number of sites that a recording has room for, and likewise of chains and of names.
pub const ENTRIES: u32 = 4096;
const PAGE_BYTES: u64 = 4096;
/// Processes that can attach to a recording.
pub const ATTACHES: u32 = 1024;

/// Records of a short lane, unless the long lanes have even fewer.
pub const SHORT_RECORDS: u32 = 2048;

/// Sizes that determine the offset of each table in a memory. Untouched pages cost nothing in a
/// sparse file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Coroutines that can be recorded at the same time.
    pub stations: u32,
    /// Threads that can have a long lane at the same time.
    pub lanes: u32,
    /// Records per long lane, a power of two.
    pub lane_records: u32,
    /// Further threads that can have a short lane, with at most [`SHORT_RECORDS`] records each.
    pub short_lanes: u32,
}

impl Plan {
    /// Slots only: no history beyond the eight slots of each coroutine.
    pub const fn without_lanes(stations: u32) -> Self {
        Plan {
            stations,
            lanes: 0,
            lane_records: 0,
            short_lanes: 0,
        }
    }

    /// Bytes of the whole memory.
    pub const fn bytes(self) -> u64 {
        self.short_records() + self.all_short_records() as u64 * size_of::<LaneRecord>() as u64
    }

    const fn all_short_records(self) -> u32 {
        let longest = if self.lane_records < SHORT_RECORDS {
            self.lane_records
        } else {
            SHORT_RECORDS
        };
        self.short_lanes * longest
    }

    const fn short_records(self) -> u64 {
        let end = self.short_lanes() + self.short_lanes as u64 * size_of::<Lane>() as u64;
        end.next_multiple_of(PAGE_BYTES)
    }

    /// Behind everything else, so that a process which maps too little memory still has the long
    /// lanes.
    const fn short_lanes(self) -> u64 {
        let end = self.records() + self.all_records() as u64 * size_of::<LaneRecord>() as u64;
        end.next_multiple_of(PAGE_BYTES)
    }

    const fn all_records(self) -> u32 {
        self.lanes * self.lane_records
    }

    /// Page-aligned. Each lane's records then start on a page of their own too.
    const fn records(self) -> u64 {
        let end = self.lanes() + self.lanes as u64 * size_of::<Lane>() as u64;
        end.next_multiple_of(PAGE_BYTES)
    }

    const fn lanes(self) -> u64 {
        let end = self.free() + self.ring() as u64 * size_of::<AtomicU32>() as u64;
        end.next_multiple_of(PAGE_BYTES)
    }

    const fn free(self) -> u64 {
        self.attaches() + ATTACHES as u64 * size_of::<Attach>() as u64
    }

    /// Entries of the ring of stations to reuse.
    const fn ring(self) -> u32 {
        self.stations.next_power_of_two()
    }

    const fn sites(self) -> u64 {
        size_of::<Header>() as u64 + self.stations as u64 * size_of::<Station>() as u64
    }

    const fn names(self) -> u64 {
        self.sites() + ENTRIES as u64 * size_of::<Interned>() as u64
    }

    const fn chains(self) -> u64 {
        self.names() + ENTRIES as u64 * size_of::<Interned>() as u64
    }

    const fn attaches(self) -> u64 {
        self.chains() + ENTRIES as u64 * size_of::<Interned>() as u64
    }

    /// Writes the header of zeroed memory, except for the magic that makes it valid.
    pub(crate) fn describe(self, header: &Header) {
        header.max_stations.store(self.stations, Ordering::Relaxed);
        header.file_bytes.store(self.bytes(), Ordering::Relaxed);
        place::<Interned>(&header.sites, self.sites(), ENTRIES);
        place::<Interned>(&header.chains, self.chains(), ENTRIES);
        place::<Interned>(&header.names, self.names(), ENTRIES);
        place::<Attach>(&header.attaches, self.attaches(), ATTACHES);
        place::<AtomicU32>(&header.free, self.free(), self.ring());
        place::<Lane>(&header.lanes, self.lanes(), self.lanes);
        place::<LaneRecord>(&header.records, self.records(), self.all_records());
        place::<Lane>(&header.short_lanes, self.short_lanes(), self.short_lanes);
        let short_records = self.all_short_records();
        place::<LaneRecord>(&header.short_records, self.short_records(), short_records);
    }
}

fn place<T>(span: &Span, offset: u64, entries: u32) {
    span.offset_bytes.store(offset, Ordering::Relaxed);
    span.entries.store(entries, Ordering::Relaxed);
    span.entry_bytes
        .store(size_of::<T>() as u32, Ordering::Relaxed);
}

/// Identifies the recorder and the start of the recording.
#[derive(Clone, Copy, Debug, Default)]
pub struct Recording {
    /// Random, the same as in the trace.
    pub trace_id: [u8; 16],
    /// Start of the recording by the wall clock, nanoseconds since 1970.
    pub realtime_ns: u64,
    /// Start of the recording by the monotonic clock, nanoseconds.
    pub monotonic_ns: u64,
    /// Process id of the recorder.
    pub pid: u32,
    /// Number of this memory in the recording, from 0.
    pub memory: u32,
    /// The program may run under a system call filter: see [`FEATURE_NO_CALLS`].
    pub no_calls: bool,
    /// Record the await chain of each wait: see [`FEATURE_PRECISE_CHAINS`].
    pub precise_chains: bool,
    /// The recorder issues a `membarrier` before each sleep, so that events need no fence.
    pub barrier: bool,
    /// What is written for each event, one of the `MODE_` numbers of [`crate::aggregate`].
    pub mode: u32,
    /// The bins of the aggregates, if the mode has any.
    pub bins: Bins,
}

impl Recording {
    pub(crate) fn describe(&self, header: &Header) {
        for (word, bytes) in header.trace_id.iter().zip(self.trace_id.chunks_exact(8)) {
            let mut half = [0; 8];
            half.copy_from_slice(bytes);
            word.store(u64::from_le_bytes(half), Ordering::Relaxed);
        }
        header
            .start_realtime_ns
            .store(self.realtime_ns, Ordering::Relaxed);
        header
            .start_monotonic_ns
            .store(self.monotonic_ns, Ordering::Relaxed);
        header.features.store(self.features(), Ordering::Relaxed);
        header.memory_number.store(self.memory, Ordering::Relaxed);
        header.recorder_pid.store(self.pid, Ordering::Relaxed);
        header
            .recorder_barrier
            .store(self.barrier.into(), Ordering::Relaxed);
        header.bin_lo.store(self.bins.lo(), Ordering::Relaxed);
        header.bin_step.store(self.bins.step(), Ordering::Relaxed);
        header.lane_mode.store(self.mode, Ordering::Relaxed);
    }

    fn features(&self) -> u32 {
        let no_calls = u32::from(self.no_calls) * FEATURE_NO_CALLS;
        let precise_chains = u32::from(self.precise_chains) * FEATURE_PRECISE_CHAINS;
        no_calls | precise_chains
    }
}

impl Region<'_> {
    /// Recorder: lays out zeroed memory at `base`. The magic is written last, so that an early
    /// probe finds either nothing or everything.
    ///
    /// # Errors
    /// [`Refused`], if the memory is too short for the plan or not aligned.
    ///
    /// # Safety
    /// As for [`Region::new`], and the memory is all zero.
    pub unsafe fn create(
        base: *mut u8,
        bytes: usize,
        plan: Plan,
        recording: &Recording,
    ) -> Result<Self, Refused> {
        // SAFETY: the caller's promise.
        let raw = unsafe { MappedMemory::of(base, bytes) }?;
        if (bytes as u64) < plan.bytes() {
            return Err(Refused::TooShort(bytes, plan.bytes() as usize));
        }
        let header = raw.header()?;
        plan.describe(header);
        recording.describe(header);
        header.version.store(VERSION, Ordering::Relaxed);
        header.ext_version.store(EXT_REV.into(), Ordering::Relaxed);
        header.layout_hash.store(LAYOUT_HASH, Ordering::Relaxed);
        header.ext_magic.store(EXT_MAGIC, Ordering::Release);
        header.magic.store(MAGIC, Ordering::Release);
        Region::of(&raw, plan.stations)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    // LT-03
    #[test]
    fn lanes_share_no_page_and_lane_heads_no_cache_line() {
        const LINE_BYTES: u64 = 64;
        let plan = Plan {
            stations: 7,
            lanes: 5,
            lane_records: 1 << 11,
            short_lanes: 3,
        };
        let bytes = |records: u32| u64::from(records) * size_of::<LaneRecord>() as u64;
        let of_records = [
            plan.records(),
            bytes(plan.lane_records),
            plan.short_records(),
            bytes(SHORT_RECORDS),
        ];
        let of_heads = [plan.lanes(), plan.short_lanes(), size_of::<Lane>() as u64];
        assert!(of_records.iter().all(|at| at.is_multiple_of(PAGE_BYTES)));
        assert!(of_heads.iter().all(|at| at.is_multiple_of(LINE_BYTES)));
    }
}
