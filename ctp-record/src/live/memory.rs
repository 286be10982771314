//! A probe's memory in a running target, as a copy that is consistent.
//!
//! The target writes while it is read, and the bytes of a reading are from different times. So each
//! station is read twice, and then the tables of sites and names:
//!
//! - A slot that is equal in both readings was not written between them, so its event is whole if its
//!   number is even. A slot that differs is marked as being written, and the next pass reads it again.
//! - The number of events comes from the first reading. All these events are in the second reading, are
//!   overwritten, or are in slots that differ.
//! - Whatever an event refers to was complete before the event, and is in the tables, which are read last.

use ctp_nostd::layout::{
    EXT_MAGIC, EXT_REV, Header, LAYOUT_HASH, MAGIC, MAX_STATIONS, Slot, Station, VERSION,
};
use ctp_nostd::{Refused, layout};

use super::source::{Source, SourceError};
use super::words::{self, header_word};

/// The largest memory that is read.
const MAX_BYTES: u64 = 64 << 20;

/// What a reading has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Nothing new.
    Unchanged,
    /// The copy is new. `is_settled` is false if some slots changed during the reading.
    Changed {
        /// Nothing changed while it was read.
        is_settled: bool,
    },
    /// The target was reset: the memory is gone, or begins again. The copy is the one before that.
    Reset,
}

/// The copy of a probe's memory.
#[derive(Debug)]
pub struct LiveMemory {
    address: u64,
    stations: usize,
    /// The latest consistent copy.
    copy: Vec<u8>,
    /// The latest first reading of header and stations.
    first: Vec<u8>,
    is_settled: bool,
}

impl LiveMemory {
    /// Reads the header at this address. The copy has no coroutine before the first
    /// [`refresh`](Self::refresh).
    ///
    /// # Errors
    /// The target cannot be read, or the memory is not one that this version of the probe writes.
    pub fn open(source: &mut dyn Source, address: u64) -> Result<Self, SourceError> {
        let mut header = vec![0; size_of::<Header>()];
        source.read(address, &mut header)?;
        let (stations, bytes) = shape(&header)?;
        header.resize(bytes, 0);
        Ok(LiveMemory {
            address,
            stations,
            first: Vec::new(),
            copy: header,
            is_settled: false,
        })
    }

    /// The latest consistent copy.
    pub fn copy(&self) -> &[u8] {
        &self.copy
    }

    /// Reads the target's memory again.
    ///
    /// # Errors
    /// The target cannot be read. The copy is unchanged.
    pub fn refresh(&mut self, source: &mut dyn Source) -> Result<Change, SourceError> {
        let stands_still = source.hold()?;
        let change = self.read(source, stands_still);
        source.release()?;
        change
    }

    fn read(&mut self, source: &mut dyn Source, stands_still: bool) -> Result<Change, SourceError> {
        let mut first = self.read_header(source)?;
        if shape(&first).ok() != Some((self.stations, self.copy.len())) {
            return Ok(Change::Reset);
        }
        let used = self.used_stations(&first);
        self.read_stations(source, used, &mut first)?;
        if self.is_older(&first) {
            return Ok(Change::Reset);
        }
        if has_half_written_head(&first) || (self.is_settled && first == self.first) {
            return Ok(Change::Unchanged);
        }
        let mut settled = first.clone();
        self.is_settled = stands_still || {
            let mut second = first.clone();
            self.read_stations(source, used, &mut second)?;
            settle(&mut settled, &second)
        };
        self.read_tables(source)?;
        self.copy[..settled.len()].copy_from_slice(&settled);
        self.first = first;
        Ok(Change::Changed {
            is_settled: self.is_settled,
        })
    }

    fn read_header(&self, source: &mut dyn Source) -> Result<Vec<u8>, SourceError> {
        let mut header = vec![0; size_of::<Header>()];
        source.read(self.address, &mut header)?;
        Ok(header)
    }

    /// The number of stations that the target has handed out.
    fn used_stations(&self, header: &[u8]) -> usize {
        let count = header_word(header, "allocated_count") as usize;
        count.min(self.stations)
    }

    /// Reads this many stations behind the header.
    fn read_stations(
        &self,
        source: &mut dyn Source,
        used: usize,
        into: &mut Vec<u8>,
    ) -> Result<(), SourceError> {
        let header = size_of::<Header>();
        into.resize(header + used * size_of::<Station>(), 0);
        source.read(self.address + header as u64, &mut into[header..])
    }

    /// Reads everything behind the stations.
    fn read_tables(&mut self, source: &mut dyn Source) -> Result<(), SourceError> {
        let begin = size_of::<Header>() + self.stations * size_of::<Station>();
        let mut tables = vec![0; self.copy.len() - begin];
        source.read(self.address + begin as u64, &mut tables)?;
        self.copy[begin..].copy_from_slice(&tables);
        Ok(())
    }

    /// Whether the reading is from before the copy: a station has fewer coroutines or events, or is not
    /// handed out.
    fn is_older(&self, reading: &[u8]) -> bool {
        let known = self.used_stations(&self.copy);
        let before = stations_of(&self.copy).take(known);
        let mut now = stations_of(reading);
        before.into_iter().any(|before| {
            let Some(now) = now.next() else { return true };
            let generations = [before, now].map(|station| words::generation(station) | 1);
            let heads = [before, now].map(words::event_head);
            generations[1] < generations[0]
                || matches!(heads, [Some(before), Some(now)] if now < before)
        })
    }
}

/// The number of stations, and the size of a memory in bytes.
pub fn shape(header: &[u8]) -> Result<(usize, usize), SourceError> {
    let word = |name| header_word(header, name);
    let damaged = |refused| Err(SourceError::Damaged(refused));
    if word("magic") != MAGIC {
        return damaged(Refused::Magic(word("magic")));
    }
    if word("version") != u64::from(VERSION) {
        return damaged(Refused::Version(word("version") as u32));
    }
    let layout = [word("ext_magic"), word("ext_version"), word("layout_hash")];
    if layout != [EXT_MAGIC, EXT_REV.into(), LAYOUT_HASH] {
        return Err(SourceError::OtherLayout);
    }
    let (stations, bytes) = (word("max_stations"), word("file_bytes"));
    let least = size_of::<Header>() as u64 + stations * size_of::<Station>() as u64;
    match stations {
        0 => damaged(Refused::NoStations),
        _ if u64::from(MAX_STATIONS) < stations || MAX_BYTES < bytes || bytes < least => {
            damaged(Refused::TooShort(bytes as usize, least as usize))
        }
        _ => Ok((stations as usize, bytes as usize)),
    }
}

/// The stations of a reading. Behind the stations of a copy, tables look like stations.
fn stations_of(reading: &[u8]) -> impl Iterator<Item = &[u8]> {
    let stations = reading.get(size_of::<Header>()..).unwrap_or_default();
    stations.chunks_exact(size_of::<Station>())
}

fn has_half_written_head(reading: &[u8]) -> bool {
    stations_of(reading).any(|station| words::event_head(station).is_none())
}

/// Marks what differs in the second reading. Returns whether nothing differs.
fn settle(first: &mut [u8], second: &[u8]) -> bool {
    let stations = first[size_of::<Header>()..].chunks_exact_mut(size_of::<Station>());
    let mut is_settled = true;
    for (station, again) in stations.zip(stations_of(second)) {
        if station == again {
            continue;
        }
        is_settled = false;
        if words::generation(station) != words::generation(again) {
            words::mark_moving_in(station);
        }
        settle_slots(station, again);
    }
    is_settled
}

fn settle_slots(station: &mut [u8], again: &[u8]) {
    let slots = words::SLOTS..words::SLOTS + layout::SLOTS * size_of::<Slot>();
    let before = station[slots.clone()].chunks_exact_mut(size_of::<Slot>());
    for (slot, again) in before.zip(again[slots].chunks_exact(size_of::<Slot>())) {
        if slot != again {
            words::mark_torn(slot);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::live::search::search;

    const HEADER: usize = size_of::<Header>();
    const STATION: usize = size_of::<Station>();

    /// A target that has these bytes. With `next`, they change in the middle of a reading.
    struct Bytes {
        now: Vec<u8>,
        next: Option<(usize, Vec<u8>)>,
    }

    impl Source for Bytes {
        fn name(&self) -> &str {
            "bytes"
        }

        fn find(&mut self) -> Result<Option<u64>, SourceError> {
            let end = self.now.len() as u64;
            search(self, 0..end)
        }

        fn read(&mut self, address: u64, buffer: &mut [u8]) -> Result<(), SourceError> {
            let begin = address as usize;
            let bytes = self.now.get(begin..begin + buffer.len());
            buffer.copy_from_slice(bytes.ok_or(SourceError::Disappeared)?);
            match &mut self.next {
                Some((0, next)) => self.now.clone_from(next),
                Some((reads, _)) => *reads -= 1,
                None => {}
            }
            Ok(())
        }

        fn hold(&mut self) -> Result<bool, SourceError> {
            Ok(false)
        }

        fn release(&mut self) -> Result<(), SourceError> {
            Ok(())
        }

        fn pause(&self) -> Duration {
            Duration::ZERO
        }
    }

    fn set(memory: &mut [u8], name: &str, word: u64) {
        let field = Header::FIELDS.iter().find(|(field, _, _)| *field == name);
        let &(_, at, size) = field.expect("a field of the header");
        memory[at..at + size].copy_from_slice(&word.to_le_bytes()[..size]);
    }

    /// A memory of two stations, which has handed out as many as there are counts of events.
    fn memory(heads: &[u64]) -> Vec<u8> {
        let mut memory = vec![0; HEADER + 2 * STATION];
        for (name, word) in [
            ("magic", MAGIC),
            ("version", VERSION.into()),
            ("max_stations", 2),
            ("allocated_count", heads.len() as u64),
            ("ext_magic", EXT_MAGIC),
            ("ext_version", EXT_REV.into()),
            ("layout_hash", LAYOUT_HASH),
            ("file_bytes", (HEADER + 2 * STATION) as u64),
        ] {
            set(&mut memory, name, word);
        }
        for (station, head) in memory[HEADER..].chunks_exact_mut(STATION).zip(heads) {
            let field = |name: &str| Station::FIELDS.iter().find(|field| field.0 == name);
            let at = field("event_head").expect("a field").1;
            station[at..at + 8].copy_from_slice(&head.to_le_bytes());
            station[field("generation").expect("a field").1] = 2;
        }
        memory
    }

    fn opened(now: Vec<u8>) -> (Bytes, LiveMemory) {
        let mut source = Bytes { now, next: None };
        let address = source.find().expect("it can be read").expect("a memory");
        let mut memory = LiveMemory::open(&mut source, address).expect("a whole memory");
        let first = memory.refresh(&mut source).expect("it can be read");
        assert_eq!(first, Change::Changed { is_settled: true });
        (source, memory)
    }

    // CTP-06
    #[test]
    fn slot_that_changes_during_a_reading_is_torn() {
        let (mut source, mut live) = opened(memory(&[5]));
        let slot = HEADER + words::SLOTS + 3 * size_of::<Slot>();
        let mut next = memory(&[6]);
        next[slot] = 7; // the time of an event
        // The first reading of the stations is the second read.
        source.next = Some((1, next.clone()));
        source.now = memory(&[6]);
        let change = live.refresh(&mut source).expect("it can be read");
        assert_eq!(change, Change::Changed { is_settled: false });
        let seqs = live.copy()[HEADER + words::SLOTS..].chunks(size_of::<Slot>());
        let torn: Vec<bool> = seqs.take(8).map(|slot| slot[0x18] == 1).collect();
        assert_eq!(torn, [0, 1, 2, 3, 4, 5, 6, 7].map(|index| index == 3));
        // The next reading has the event.
        let change = live.refresh(&mut source).expect("it can be read");
        assert_eq!(change, Change::Changed { is_settled: true });
        assert_eq!(live.copy(), next);
        let change = live.refresh(&mut source).expect("it can be read");
        assert_eq!(change, Change::Unchanged);
    }

    #[test]
    fn reset_is_found_and_the_copy_stays() {
        let mut absent = memory(&[5, 9]);
        set(&mut absent, "magic", 0);
        let mut other = memory(&[5, 9]);
        set(&mut other, "file_bytes", (HEADER + 3 * STATION) as u64);
        for after in [
            memory(&[]),
            memory(&[5]),
            memory(&[4, 9]),
            memory(&[5, 0]),
            absent,
            other,
        ] {
            let (mut source, mut live) = opened(memory(&[5, 9]));
            source.now = after;
            let change = live.refresh(&mut source).expect("it can be read");
            assert_eq!(change, Change::Reset);
            assert_eq!(live.copy(), memory(&[5, 9]));
        }
        let (mut source, mut live) = opened(memory(&[5]));
        source.now = memory(&[5, 1]);
        let change = live.refresh(&mut source).expect("it can be read");
        assert_eq!(change, Change::Changed { is_settled: true });
    }

    // CTP-27
    #[test]
    fn half_written_count_is_read_again() {
        let (mut source, mut live) = opened(memory(&[5]));
        source.now = memory(&[u64::from(layout::CHANGING) << 32]);
        let change = live.refresh(&mut source).expect("it can be read");
        assert_eq!(change, Change::Unchanged);
        assert_eq!(live.copy(), memory(&[5]));
    }

    #[test]
    fn hostile_headers_are_refused() {
        let refused = |name, word| {
            let mut now = memory(&[5]);
            set(&mut now, name, word);
            let mut source = Bytes { now, next: None };
            let found = source.find();
            assert!(matches!(found, Ok(None) | Err(SourceError::OtherLayout)));
            LiveMemory::open(&mut source, 0).expect_err(name)
        };
        for (name, word) in [
            ("magic", 7),
            ("version", 2),
            ("max_stations", 0),
            ("max_stations", u64::from(u32::MAX)),
            ("file_bytes", 0),
            ("file_bytes", u64::MAX),
        ] {
            assert!(matches!(refused(name, word), SourceError::Damaged(_)));
        }
        for name in ["ext_magic", "ext_version", "layout_hash"] {
            assert!(matches!(refused(name, 99), SourceError::OtherLayout));
        }
        // More stations handed out than there are.
        let (mut source, mut live) = opened(memory(&[5, 9]));
        set(&mut source.now, "allocated_count", u32::MAX.into());
        live.refresh(&mut source).expect("it can be read");
    }

    #[test]
    fn memory_with_a_coroutine_is_found_first() {
        let mut now = vec![0; 4096];
        now.extend([memory(&[]), memory(&[1])].concat());
        let mut source = Bytes { now, next: None };
        let with_coroutine = (4096 + HEADER + 2 * STATION) as u64;
        assert_eq!(source.find().expect("it can be read"), Some(with_coroutine));
    }
}
