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
    Attach, EXT_MAGIC, EXT_REV, Header, Interned, LAYOUT_HASH, Lane, LaneRecord, MAGIC,
    MAX_STATIONS, Station, VERSION,
};
use crate::sync::{AtomicU32, Ordering};

impl core::error::Error for Refused {}

/// The shared memory: header, stations, and the tables of the extension (empty without it).
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Region<'m> {
    /// The first KiB.
    pub header: &'m Header,
    /// All stations that both sides agree on.
    pub stations: &'m [Station],
    /// Source positions and functions of the program.
    pub sites: &'m [Interned],
    /// Await chains, see [`crate::chain`].
    pub chains: &'m [Interned],
    /// Names of coroutines.
    pub names: &'m [Interned],
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
    /// Whether new records overwrite the oldest ones in the lanes. Constant for a memory.
    pub is_overwritten: bool,
    /// Whether the free bytes are used as `LAYOUT.md` says.
    pub extended: bool,
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

impl fmt::Debug for Region<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Region")
            .field("stations", &self.stations.len())
            .field("extended", &self.extended)
            .finish_non_exhaustive()
    }
}

impl<'m> Region<'m> {
    /// Checks the memory at `base` and returns a view of it, with at most `limit` stations.
    ///
    /// # Errors
    /// [`Refused`], if the memory is not cTP v1 or is too short for what its header says.
    ///
    /// # Safety
    /// - `base .. base + bytes` is mapped readable and writable for all of `'m`, and is not
    ///   truncated meanwhile;
    /// - this program touches it only through this crate's atomics.
    pub unsafe fn new(base: *mut u8, bytes: usize, limit: u32) -> Result<Self, Refused> {
        // SAFETY: the caller's promise.
        let raw = unsafe { MappedMemory::of(base, bytes) }?;
        Region::of(&raw, limit)
    }

    /// Returns a view of this memory, with at most `limit` stations.
    pub(crate) fn of(raw: &MappedMemory<'m>, limit: u32) -> Result<Self, Refused> {
        let header = raw.header()?;
        let count = check(header)?.min(limit).min(MAX_STATIONS);
        let plain = Region::plain(header, raw.stations(count)?);
        Ok(if is_extended(header) {
            plain.with_tables(raw)
        } else {
            plain
        })
    }

    /// A view without the tables of the extension.
    pub(crate) fn plain(header: &'m Header, stations: &'m [Station]) -> Self {
        Region {
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
            is_overwritten: false,
            extended: false,
        }
    }

    /// Adds the tables of the extension. A table that the header describes wrongly, or that is not
    /// mapped, is empty.
    fn with_tables(self, raw: &MappedMemory<'m>) -> Self {
        let header = self.header;
        let (lanes, records) = raw.lanes(&header.lanes, &header.records);
        let free = raw.span(&header.free);
        Region {
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
            extended: true,
            ..self
        }
    }

    /// Whether the recorder made lanes. A process with a low memory limit may have mapped none of them.
    pub(crate) fn declares_lanes(&self) -> bool {
        self.extended && self.header.lanes.entries.load(Ordering::Relaxed) != 0
    }

    /// Whether the header is still what the recorder wrote. If not, a stray write has changed the
    /// memory, and no word of it can be trusted.
    pub fn is_intact(&self) -> bool {
        check(self.header).is_ok() && (!self.extended || is_extended(self.header))
    }

    /// Stations that were claimed. With v1 peers, which add without a bound, this can exceed the
    /// number of stations.
    pub fn claimed(&self) -> u32 {
        self.header.allocated_count.load(Ordering::Acquire)
    }

    /// Stations that were handed out. Only these need to be read: reading more would make the
    /// kernel allocate pages.
    pub fn allocated(&self) -> &'m [Station] {
        let count = self.header.allocated_count.load(Ordering::Acquire) as usize;
        &self.stations[..count.min(self.stations.len())]
    }
}

fn check(header: &Header) -> Result<u32, Refused> {
    match header.magic.load(Ordering::Acquire) {
        MAGIC => {}
        other => return Err(Refused::Magic(other)),
    }
    match header.version.load(Ordering::Relaxed) {
        VERSION => Ok(header.max_stations.load(Ordering::Relaxed)),
        other => Err(Refused::Version(other)),
    }
}

fn is_extended(header: &Header) -> bool {
    header.ext_magic.load(Ordering::Acquire) == EXT_MAGIC
        && header.ext_version.load(Ordering::Relaxed) == u32::from(EXT_REV)
        && header.layout_hash.load(Ordering::Relaxed) == LAYOUT_HASH
}
