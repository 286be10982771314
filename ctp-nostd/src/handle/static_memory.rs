//! Memory for a program without an operating system: a static, found by its magic.

use core::mem::MaybeUninit;

use crate::memory::Region;
use crate::memory::layout::{
    EXT_MAGIC, EXT_REV, Header, Interned, LAYOUT_HASH, MAGIC, Span, Station, VERSION,
};
use crate::platform::Platform;
use crate::platform::Probe;
use crate::protocol::aggregate::{Bins, MODE_SUMMARY};
use crate::sync::{AtomicU32, AtomicU64};

/// The whole shared memory as a static: a header, `STATIONS` coroutines, and room for `ENTRIES`
/// sites and as many names. Dump it and read it with `ctp-record --image`.
#[repr(C, align(1024))]
pub struct Memory<const STATIONS: usize, const ENTRIES: usize = 16> {
    header: Header,
    stations: [Station; STATIONS],
    sites: [Interned; ENTRIES],
    names: [Interned; ENTRIES],
}

impl<const STATIONS: usize, const ENTRIES: usize> core::fmt::Debug for Memory<STATIONS, ENTRIES> {
    fn fmt(&self, out: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        out.debug_struct("Memory")
            .field("stations", &STATIONS)
            .field("entries", &ENTRIES)
            .finish_non_exhaustive()
    }
}

impl<const STATIONS: usize, const ENTRIES: usize> Default for Memory<STATIONS, ENTRIES> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const STATIONS: usize, const ENTRIES: usize> Memory<STATIONS, ENTRIES> {
    /// Creates memory that is ready for use, at compile time.
    #[expect(unsafe_code, reason = "every layout is valid when it is all zero")]
    pub const fn new() -> Self {
        // SAFETY: a struct of structs of the layout. All of them are made of atomics, for which
        // every bit pattern is a value.
        let mut memory: Self = unsafe { MaybeUninit::zeroed().assume_init() };
        let sites = size_of::<Header>() + STATIONS * size_of::<Station>();
        let names = sites + ENTRIES * size_of::<Interned>();
        memory.header.magic = AtomicU64::new(MAGIC);
        memory.header.version = AtomicU32::new(VERSION);
        memory.header.max_stations = AtomicU32::new(STATIONS as u32);
        memory.header.ext_version = AtomicU32::new(EXT_REV as u32);
        memory.header.file_bytes = AtomicU64::new(size_of::<Self>() as u64);
        memory.header.layout_hash = AtomicU64::new(LAYOUT_HASH);
        memory.header.sites = span(sites, ENTRIES);
        memory.header.names = span(names, ENTRIES);
        memory.header.ext_magic = AtomicU64::new(EXT_MAGIC);
        memory
    }

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

    /// Creates the probe of this memory. A memory must have a single probe.
    pub fn probe<P: Platform>(&'static self) -> Probe<P> {
        let region = Region {
            sites: &self.sites,
            names: &self.names,
            extended: true,
            ..Region::plain(&self.header, &self.stations)
        };
        Probe::new(region, 1)
    }

    /// The address and size in bytes of the memory to dump.
    pub const fn extent(&'static self) -> (*const u8, usize) {
        (core::ptr::from_ref(self).cast(), size_of::<Self>())
    }
}

const fn span(offset: usize, entries: usize) -> Span {
    Span {
        offset_bytes: AtomicU64::new(offset as u64),
        entries: AtomicU32::new(entries as u32),
        entry_bytes: AtomicU32::new(size_of::<Interned>() as u32),
    }
}
