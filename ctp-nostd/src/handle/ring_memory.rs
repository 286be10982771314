//! Compact memory with history.

use core::mem::MaybeUninit;

use super::static_memory::{MemoryOf, span};
use crate::memory::RegionOf;
use crate::memory::layout::{CompactWithRing, LaneRecord, RingHead, RingWords};
use crate::platform::{Platform, Probe};
use crate::protocol::history;
use crate::sync::AtomicU64;

/// Compact memory with a ring of the latest `RECORDS` records: events of all coroutines, wakes, and calls
/// of [`acquired`](Probe::acquired), [`released`](Probe::released) and [`closed`](Probe::closed). A record
/// takes 32 bytes. New records replace the oldest.
///
/// The ring is for a single core: tasks and interrupt handlers of that core may record. `RECORDS` is a
/// power of two from 8 to 65 536; other numbers do not compile.
#[repr(C)]
pub struct RingMemory<const STATIONS: usize, const RECORDS: usize, const ENTRIES: usize = 8> {
    memory: MemoryOf<CompactWithRing, STATIONS, ENTRIES>,
    head: RingHead,
    records: [LaneRecord; RECORDS],
}

impl<const STATIONS: usize, const RECORDS: usize, const ENTRIES: usize> core::fmt::Debug
    for RingMemory<STATIONS, RECORDS, ENTRIES>
{
    fn fmt(&self, out: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        out.debug_struct("RingMemory")
            .field("stations", &STATIONS)
            .field("records", &RECORDS)
            .field("entries", &ENTRIES)
            .finish_non_exhaustive()
    }
}

impl<const STATIONS: usize, const RECORDS: usize, const ENTRIES: usize> Default
    for RingMemory<STATIONS, RECORDS, ENTRIES>
{
    fn default() -> Self {
        Self::new()
    }
}

impl<const STATIONS: usize, const RECORDS: usize, const ENTRIES: usize>
    RingMemory<STATIONS, RECORDS, ENTRIES>
{
    /// The size without the padding behind the records.
    const BYTES: usize = core::mem::offset_of!(Self, records) + size_of::<[LaneRecord; RECORDS]>();

    /// Creates memory that is ready for use, at compile time.
    #[expect(unsafe_code, reason = "every layout is valid when it is all zero")]
    pub const fn new() -> Self {
        const {
            assert!(RECORDS.is_power_of_two());
            assert!(history::MIN_RECORDS <= RECORDS && RECORDS <= history::MAX_RECORDS);
        }
        // SAFETY: a struct of structs of the layout. All of them are made of atomics, for which every
        // bit pattern is a value.
        let mut whole: Self = unsafe { MaybeUninit::zeroed().assume_init() };
        let head = core::mem::offset_of!(Self, head);
        let records = core::mem::offset_of!(Self, records);
        whole.memory = MemoryOf::new();
        whole.memory.header.lanes = span::<RingHead>(head, 1);
        whole.memory.header.records = span::<LaneRecord>(records, RECORDS);
        whole.memory.header.file_bytes = AtomicU64::new(Self::BYTES as u64);
        whole
    }

    /// Creates the probe of this memory. A memory must have a single probe.
    pub fn probe<P: Platform>(&'static self) -> Probe<P, CompactWithRing> {
        let region = RegionOf {
            ring: Some(RingWords {
                head: &self.head,
                records: &self.records,
            }),
            ..self.memory.region()
        };
        Probe::new(region, 1)
    }

    /// The address and size in bytes of the memory to dump.
    pub const fn extent(&'static self) -> (*const u8, usize) {
        (core::ptr::from_ref(self) as *const u8, Self::BYTES)
    }
}
