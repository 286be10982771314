//! The sizes of a probe's memory, according to its header.

use ctp_nostd::Refused;
use ctp_nostd::layout::{
    Compact, EXT_MAGIC, EXT_REV, Full, Header, Layout, MAX_STATIONS, StationOf, VERSION,
};

use super::source::SourceError;
use crate::image::words::{field, half_at, offset_of, word_at};

/// The largest memory that is read.
const MAX_BYTES: u64 = 64 << 20;

/// The sizes of a memory in either layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The number of stations.
    pub stations: usize,
    /// The size of a station.
    pub station_bytes: usize,
    /// The number of slots of a station.
    pub slots: u64,
    /// The size of the memory.
    pub bytes: usize,
    generation: usize,
    event_head: usize,
}

impl Shape {
    /// Checks a header, and reads the sizes.
    ///
    /// # Errors
    /// The memory is not one that this version of the probe writes.
    pub fn of(header: &[u8]) -> Result<Self, SourceError> {
        match field(header, "magic") {
            Full::MAGIC => Self::in_layout::<Full>(header),
            Compact::MAGIC => Self::in_layout::<Compact>(header),
            other => Err(SourceError::Damaged(Refused::Magic(other))),
        }
    }

    fn in_layout<L: Layout>(header: &[u8]) -> Result<Self, SourceError> {
        let word = |name| field(header, name);
        let damaged = |refused| Err(SourceError::Damaged(refused));
        if word("version") != u64::from(VERSION) {
            return damaged(Refused::Version(word("version") as u32));
        }
        let layout = [word("ext_magic"), word("ext_version"), word("layout_hash")];
        if layout != [EXT_MAGIC, EXT_REV.into(), L::HASH] {
            return Err(SourceError::OtherLayout);
        }
        let (stations, bytes) = (word("max_stations"), word("file_bytes"));
        let station_bytes = size_of::<StationOf<L>>();
        let least = size_of::<Header>() as u64 + stations * station_bytes as u64;
        match stations {
            0 => damaged(Refused::NoStations),
            _ if u64::from(MAX_STATIONS) < stations || MAX_BYTES < bytes || bytes < least => {
                damaged(Refused::TooShort(bytes as usize, least as usize))
            }
            _ => Ok(Shape {
                stations: stations as usize,
                station_bytes,
                slots: L::SLOTS,
                bytes: bytes as usize,
                generation: offset_of(StationOf::<L>::FIELDS, "generation"),
                event_head: offset_of(StationOf::<L>::FIELDS, "event_head"),
            }),
        }
    }

    /// Where the first stations end, of which there are this many.
    pub fn end_of(&self, stations: usize) -> usize {
        size_of::<Header>() + stations * self.station_bytes
    }

    /// The number of stations that a memory has handed out.
    pub fn used(&self, memory: &[u8]) -> usize {
        (field(memory, "allocated_count") as usize).min(self.stations)
    }

    /// The bytes of a station.
    pub fn station<'m>(&self, memory: &'m [u8], index: usize) -> &'m [u8] {
        memory
            .get(self.end_of(index)..self.end_of(index + 1))
            .unwrap_or_default()
    }

    /// The generation in the bytes of a station; odd while a coroutine moves in.
    pub fn generation(&self, station: &[u8]) -> u32 {
        half_at(station, self.generation)
    }

    /// How many events a station had.
    pub fn event_head(&self, station: &[u8]) -> u64 {
        word_at(station, self.event_head)
    }
}
