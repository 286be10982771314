//! A checked view of the shared memory, for both sides.
//!
//! Creating the view proves once that the memory is long enough. After that, every access is an
//! atomic behind `&`, within bounds that were copied and are not read again. A target that changes
//! its header later cannot move these bounds.
#![allow(
    unsafe_code,
    reason = "the creator of a view vouches for the memory below it"
)]

use core::fmt;

use super::raw::MappedMemory;
use super::refused::Refused;
use crate::memory::layout::{
    Attach, Compact, EXT_MAGIC, EXT_REV, Full, Header, Interned, InternedOf, Lane, LaneRecord,
    Layout, MAX_STATIONS, Span, StationOf, VERSION,
};
use crate::sync::{AtomicU32, Ordering};

impl core::error::Error for Refused {}

/// A view of a memory of the full layout, which is cTP v1.
pub type Region<'m> = RegionOf<'m, Full>;

/// A view of a memory of the compact layout.
pub type CompactRegion<'m> = RegionOf<'m, Compact>;

/// The shared memory: header, stations, and the tables of the extension (empty without it).
#[derive(Clone, Copy)]
#[repr(C)]
pub struct RegionOf<'m, L: Layout> {
    /// The first KiB.
    pub header: &'m Header,
    /// All stations that both sides agree on.
    pub stations: &'m [StationOf<L>],
    /// Source positions and functions of the program.
    pub sites: &'m [InternedOf<L>],
    /// Await chains, see [`crate::chain`]. A compact memory has none.
    pub chains: &'m [Interned],
    /// Names of coroutines.
    pub names: &'m [InternedOf<L>],
    /// Processes that attached.
    pub attaches: &'m [Attach],
    /// The ring of stations to reuse, see [`crate::alloc`]; its length is a power of two.
    pub free: &'m [AtomicU32],
    /// The long lanes of threads, see [`crate::lane`].
    pub lanes: &'m [Lane],
    /// The records of all long lanes.
    pub records: &'m [LaneRecord],
    /// Short lanes, for threads that find no long lane.
    pub short: ShortLanes<'m>,
    /// The ring of a program without threads, if the layout has a ring.
    pub ring: L::Ring,
    /// Whether new records overwrite the oldest ones in the lanes. Constant for a memory.
    pub is_overwritten: bool,
    /// Whether the free bytes are used as `LAYOUT.md` says.
    pub is_extended: bool,
}

/// Lanes for the threads that find no long lane.
#[derive(Clone, Copy, Debug, Default)]
pub struct ShortLanes<'m> {
    /// The lanes.
    pub lanes: &'m [Lane],
    /// The records of all short lanes.
    pub records: &'m [LaneRecord],
}

impl<'m> ShortLanes<'m> {
    fn of(raw: &MappedMemory<'m>, header: &Header) -> Self {
        let (lanes, records) = raw.lanes(&header.short_lanes, &header.short_records);
        ShortLanes { lanes, records }
    }
}

impl<L: Layout> fmt::Debug for RegionOf<'_, L> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Region")
            .field("stations", &self.stations.len())
            .field("is_extended", &self.is_extended)
            .finish_non_exhaustive()
    }
}

impl<'m, L: Layout> RegionOf<'m, L> {
    /// Checks the memory at `base` and returns a view of it, with at most `limit` stations.
    ///
    /// # Errors
    /// [`Refused`], if the memory has another layout or is too short for what its header says.
    ///
    /// # Safety
    /// - `base .. base + bytes` is mapped readable and writable for all of `'m`, and is not
    ///   truncated meanwhile;
    /// - this program touches it only through this crate's atomics.
    pub unsafe fn new(base: *mut u8, bytes: usize, limit: u32) -> Result<Self, Refused> {
        // SAFETY: the caller's promise.
        let raw = unsafe { MappedMemory::of(base, bytes) }?;
        Self::of(&raw, limit)
    }

    /// Returns a view of this memory, with at most `limit` stations.
    pub(crate) fn of(raw: &MappedMemory<'m>, limit: u32) -> Result<Self, Refused> {
        let header = raw.header()?;
        let count = check::<L>(header)?.min(limit).min(MAX_STATIONS);
        let plain = Self::plain(header, raw.stations(count)?);
        Ok(if is_extended::<L>(header) {
            plain.with_tables(raw)
        } else {
            plain
        })
    }

    /// A view without the tables of the extension.
    pub(crate) fn plain(header: &'m Header, stations: &'m [StationOf<L>]) -> Self {
        RegionOf {
            header,
            stations,
            sites: &[],
            chains: &[],
            names: &[],
            attaches: &[],
            free: &[],
            lanes: &[],
            records: &[],
            short: ShortLanes::default(),
            ring: L::Ring::default(),
            is_overwritten: false,
            is_extended: false,
        }
    }

    /// Adds the tables of the extension. A table that the header describes wrongly, or that is not
    /// mapped, is empty.
    fn with_tables(self, raw: &MappedMemory<'m>) -> Self {
        let header = self.header;
        let (lanes, records) = raw.lanes(&header.lanes, &header.records);
        let free = raw.span(&header.free);
        RegionOf {
            sites: raw.span(&header.sites).unwrap_or_default(),
            chains: raw.span(&header.chains).unwrap_or_default(),
            names: raw.span(&header.names).unwrap_or_default(),
            attaches: raw.span(&header.attaches).unwrap_or_default(),
            free: free
                .filter(|ring| ring.len().is_power_of_two())
                .unwrap_or_default(),
            lanes,
            records,
            short: if lanes.is_empty() {
                ShortLanes::default()
            } else {
                ShortLanes::of(raw, header)
            },
            is_overwritten: header.is_flight(),
            is_extended: true,
            ..self
        }
    }

    /// Whether the recorder made lanes. A process with a low memory limit may have mapped none of them.
    pub(crate) fn declares_lanes(&self) -> bool {
        let Span {
            entries,
            entry_bytes,
            ..
        } = &self.header.lanes;
        self.is_extended
            && entries.load(Ordering::Relaxed) != 0
            && entry_bytes.load(Ordering::Relaxed) as usize == size_of::<Lane>() // else a ring
    }

    /// Whether the header is still what the recorder wrote. If not, a stray write has changed the
    /// memory, and no word of it can be trusted.
    pub fn is_intact(&self) -> bool {
        check::<L>(self.header).is_ok() && (!self.is_extended || is_extended::<L>(self.header))
    }

    /// Stations that were claimed. With v1 peers, which add without a bound, this can exceed the
    /// number of stations.
    pub fn claimed(&self) -> u32 {
        self.header.allocated_count.load(Ordering::Acquire)
    }

    /// Stations that were handed out. Only these need to be read: reading more would make the
    /// kernel allocate pages.
    pub fn allocated(&self) -> &'m [StationOf<L>] {
        let count = self.header.allocated_count.load(Ordering::Acquire) as usize;
        &self.stations[..count.min(self.stations.len())]
    }
}

/// The number of stations that the header states, if the memory has this layout. Memory of the full
/// layout need not be extended, because v1 peers do not write the words of the extension.
fn check<L: Layout>(header: &Header) -> Result<u32, Refused> {
    match header.magic.load(Ordering::Acquire) {
        magic if magic == L::MAGIC => {}
        other => return Err(Refused::Magic(other)),
    }
    match header.version.load(Ordering::Relaxed) {
        VERSION => {}
        other => return Err(Refused::Version(other)),
    }
    if L::STATION_BYTES != 0 {
        check_sizes::<L>(header)?;
    }
    Ok(header.max_stations.load(Ordering::Relaxed))
}

/// Checks the sizes of stations and entries, which memory of the full layout does not state.
fn check_sizes<L: Layout>(header: &Header) -> Result<(), Refused> {
    match header.station_bytes.load(Ordering::Relaxed) {
        bytes if bytes == L::STATION_BYTES => {}
        other => return Err(Refused::StationBytes(other)),
    }
    match header.layout_hash.load(Ordering::Relaxed) {
        hash if hash == L::HASH => Ok(()),
        other => Err(Refused::LayoutHash(other)),
    }
}

fn is_extended<L: Layout>(header: &Header) -> bool {
    header.ext_magic.load(Ordering::Acquire) == EXT_MAGIC
        && header.ext_version.load(Ordering::Relaxed) == u32::from(EXT_REV)
        && header.layout_hash.load(Ordering::Relaxed) == L::HASH
}
