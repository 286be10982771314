//! Memory for a program without an operating system: a static, found by its magic.

use core::mem::MaybeUninit;

use crate::memory::RegionOf;
use crate::memory::layout::{
    Compact, EXT_MAGIC, EXT_REV, Full, Header, InternedOf, Layout, Span, StationOf, VERSION,
};
use crate::platform::{Platform, Probe, ProbeLayout};
use crate::protocol::aggregate::{Bins, MODE_SUMMARY};
use crate::sync::{AtomicU32, AtomicU64};

/// Memory of the full layout, which readers of plain cTP v1 understand: a coroutine takes 1 KiB, and
/// keeps its latest eight events. An entry takes 256 bytes.
pub type Memory<const STATIONS: usize, const ENTRIES: usize = 16> =
    MemoryOf<Full, STATIONS, ENTRIES>;

/// Memory for small microcontrollers: a coroutine takes 256 bytes, and keeps its latest two events. An
/// entry takes 64 bytes, and keeps the last 24 bytes of its text. `CompactMemory<16>` takes 6 KiB.
///
/// There are no [statistics](crate::aggregate) and no call stacks. Of the events that an interrupt
/// handler records within an event of the same coroutine, one is kept, and more are counted.
pub type CompactMemory<const STATIONS: usize, const ENTRIES: usize = 8> =
    MemoryOf<Compact, STATIONS, ENTRIES>;

/// The whole shared memory as a static: a header, `STATIONS` coroutines, and room for `ENTRIES`
/// sites and as many names. Dump it and read it with `ctp-record --image`. The layout `L` is that of
/// [`Memory`] or [`CompactMemory`].
#[repr(C)]
pub struct MemoryOf<L: Layout, const STATIONS: usize, const ENTRIES: usize> {
    pub(super) header: Header,
    stations: [StationOf<L>; STATIONS],
    sites: [InternedOf<L>; ENTRIES],
    names: [InternedOf<L>; ENTRIES],
}

impl<L: Layout, const STATIONS: usize, const ENTRIES: usize> core::fmt::Debug
    for MemoryOf<L, STATIONS, ENTRIES>
{
    fn fmt(&self, out: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        out.debug_struct("Memory")
            .field("stations", &STATIONS)
            .field("entries", &ENTRIES)
            .finish_non_exhaustive()
    }
}

impl<L: Layout, const STATIONS: usize, const ENTRIES: usize> Default
    for MemoryOf<L, STATIONS, ENTRIES>
{
    fn default() -> Self {
        Self::new()
    }
}

impl<const STATIONS: usize, const ENTRIES: usize> Memory<STATIONS, ENTRIES> {
    /// This memory with statistics of waiting and running for each coroutine, see
    /// [`aggregate`](crate::aggregate). The statistics are exact, however few events the slots
    /// keep.
    #[must_use]
    pub const fn with_aggregates(mut self, bins: Bins) -> Self {
        self.header.lane_mode = AtomicU32::new(MODE_SUMMARY);
        self.header.bin_lo = AtomicU32::new(bins.lo());
        self.header.bin_step = AtomicU32::new(bins.step());
        self
    }
}

impl<L: Layout, const STATIONS: usize, const ENTRIES: usize> MemoryOf<L, STATIONS, ENTRIES> {
    /// Creates memory that is ready for use, at compile time.
    #[expect(unsafe_code, reason = "every layout is valid when it is all zero")]
    pub const fn new() -> Self {
        // SAFETY: a struct of structs of the layout. All of them are made of atomics, for which
        // every bit pattern is a value.
        let mut memory: Self = unsafe { MaybeUninit::zeroed().assume_init() };
        let sites = size_of::<Header>() + STATIONS * size_of::<StationOf<L>>();
        let names = sites + ENTRIES * size_of::<InternedOf<L>>();
        memory.header.magic = AtomicU64::new(L::MAGIC);
        memory.header.version = AtomicU32::new(VERSION);
        memory.header.max_stations = AtomicU32::new(STATIONS as u32);
        memory.header.ext_version = AtomicU32::new(EXT_REV as u32);
        memory.header.file_bytes = AtomicU64::new(size_of::<Self>() as u64);
        memory.header.layout_hash = AtomicU64::new(L::HASH);
        memory.header.station_bytes = AtomicU32::new(L::STATION_BYTES);
        memory.header.sites = span::<InternedOf<L>>(sites, ENTRIES);
        memory.header.names = span::<InternedOf<L>>(names, ENTRIES);
        memory.header.ext_magic = AtomicU64::new(EXT_MAGIC);
        memory
    }

    /// Creates the probe of this memory. A memory must have a single probe.
    pub fn probe<P: Platform>(&'static self) -> Probe<P, L>
    where
        L: ProbeLayout,
    {
        Probe::new(self.region(), 1)
    }

    pub(super) fn region(&'static self) -> RegionOf<'static, L> {
        RegionOf {
            sites: &self.sites,
            names: &self.names,
            is_extended: true,
            ..RegionOf::plain(&self.header, &self.stations)
        }
    }

    /// The address and size in bytes of the memory to dump.
    pub const fn extent(&'static self) -> (*const u8, usize) {
        (core::ptr::from_ref(self) as *const u8, size_of::<Self>())
    }
}

/// Describes a table of these entries.
pub(super) const fn span<T>(offset: usize, entries: usize) -> Span {
    Span {
        offset_bytes: AtomicU64::new(offset as u64),
        entries: AtomicU32::new(entries as u32),
        entry_bytes: AtomicU32::new(size_of::<T>() as u32),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // CTP-01
    #[test]
    fn sixteen_compact_tasks_take_6_kib() {
        assert_eq!(size_of::<CompactMemory<16>>(), 6 * 1024);
        assert_eq!(size_of::<CompactMemory<4, 4>>(), 1024 + 4 * 256 + 8 * 64);
        assert_eq!(size_of::<Memory<16>>(), (1 + 16 + 8) * 1024);
    }
}
