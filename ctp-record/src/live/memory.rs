//! A probe's memory in a running target, as a copy that is consistent.
//!
//! The target writes while it is read, and the bytes of a reading are from different times. So the memory
//! is read twice, and [`settle`] keeps what is whole. Where the number of a station's events is unknown
//! after that, the station stays as it was in the copy before.

use std::borrow::Cow;

use ctp_nostd::layout::{CHANGING, Header, Span};

use super::shape::Shape;
use super::source::{LiveSource, SourceError, while_held};
use crate::image::ring::RingReader;
use crate::image::words::offset_of;
use crate::image::{in_full_layout_with, settle};

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
    shape: Shape,
    /// The latest consistent copy.
    copy: Vec<u8>,
    /// The latest first reading.
    first: Vec<u8>,
    is_settled: bool,
    ring: RingReader,
}

impl LiveMemory {
    /// Reads the header at this address. The copy has no coroutine before the first
    /// [`refresh`](Self::refresh).
    ///
    /// # Errors
    /// The target cannot be read, or the memory is not one that this version of the probe writes.
    pub fn open(source: &mut dyn LiveSource, address: u64) -> Result<Self, SourceError> {
        let mut header = vec![0; size_of::<Header>()];
        while_held(source, |source, _| source.read(address, &mut header))?;
        let shape = Shape::of(&header)?;
        header.resize(shape.bytes, 0);
        Ok(LiveMemory {
            address,
            shape,
            first: Vec::new(),
            copy: header,
            is_settled: false,
            ring: RingReader::default(),
        })
    }

    /// The latest consistent copy, in the full layout. A ring is a lane with the records that no pass has
    /// [taken](Self::release).
    pub fn copy(&self) -> Cow<'_, [u8]> {
        in_full_layout_with(&self.copy, || self.ring.lane())
    }

    /// Notes that a pass has taken the records of the lane before `tail`.
    pub fn release(&mut self, tail: u64) {
        self.ring.release(tail);
    }

    /// Notes that nothing will be read any more. The copy then has the rest of the ring.
    pub fn end(&mut self) {
        self.ring.read(&self.copy, true);
    }

    /// Whether events may soon be lost if the target continues at its pace: half of the ring is new, or,
    /// without a ring, half of a station's slots. `most` is the most events of a coroutine since the
    /// pass before.
    pub fn is_crowded(&self, most: u64) -> bool {
        if self.ring.is_used() {
            self.ring.is_half_new()
        } else {
            self.shape.slots / 2 <= most
        }
    }

    /// Reads the target's memory again.
    ///
    /// # Errors
    /// The target cannot be read. The copy is unchanged.
    pub fn refresh(&mut self, source: &mut dyn LiveSource) -> Result<Change, SourceError> {
        while_held(source, |source, stands_still| {
            self.read(source, stands_still)
        })
    }

    fn read(
        &mut self,
        source: &mut dyn LiveSource,
        stands_still: bool,
    ) -> Result<Change, SourceError> {
        let Some(first) = self.reading(source)? else {
            return Ok(Change::Reset);
        };
        if self.is_settled && first == self.first {
            return Ok(self.unchanged());
        }
        if stands_still {
            self.is_settled = true;
            self.take(first.clone());
        } else {
            let Some(second) = self.reading(source)? else {
                return Ok(Change::Reset);
            };
            self.is_settled = first == second;
            self.take(settle(&first, &second));
        }
        self.first = first;
        Ok(Change::Changed {
            is_settled: self.is_settled,
        })
    }

    fn unchanged(&mut self) -> Change {
        if !self.ring.note_unchanged() {
            return Change::Unchanged;
        }
        self.ring.read(&self.copy, false);
        Change::Changed { is_settled: true }
    }

    /// Reads the header, the stations that are handed out, and the tables. `None` if the target was reset.
    fn reading(&self, source: &mut dyn LiveSource) -> Result<Option<Vec<u8>>, SourceError> {
        let mut reading = vec![0; size_of::<Header>()];
        source.read(self.address, &mut reading)?;
        if Shape::of(&reading).ok() != Some(self.shape) {
            return Ok(None);
        }
        let shape = self.shape;
        let used_end = shape.end_of(shape.used(&reading));
        reading.resize(shape.bytes, 0);
        for part in [
            size_of::<Header>()..used_end,
            shape.end_of(shape.stations)..shape.bytes,
        ] {
            source.read(self.address + part.start as u64, &mut reading[part])?;
        }
        Ok((!self.is_older(&reading)).then_some(reading))
    }

    /// Whether the reading is from before the copy: a station has fewer coroutines or events, or is not
    /// handed out.
    fn is_older(&self, reading: &[u8]) -> bool {
        let shape = self.shape;
        let used = shape.used(&self.copy);
        shape.used(reading) < used
            || (0..used).any(|index| {
                let stations = [&self.copy, reading].map(|memory| shape.station(memory, index));
                let generations = stations.map(|station| shape.generation(station) | 1);
                let heads = stations.map(|station| shape.event_head(station));
                generations[1] < generations[0]
                    || (!heads.into_iter().any(is_half_written) && heads[1] < heads[0])
            })
    }

    /// Replaces the copy, except for stations with an unknown number of events.
    fn take(&mut self, mut memory: Vec<u8>) {
        let shape = self.shape;
        self.ring.read(&memory, false);
        if !self.ring.is_used() {
            leave_out_lanes(&mut memory);
        }
        for index in 0..shape.used(&memory) {
            if is_half_written(shape.event_head(shape.station(&memory, index))) {
                let station = shape.end_of(index)..shape.end_of(index + 1);
                memory[station.clone()].copy_from_slice(&self.copy[station]);
            }
        }
        self.copy = memory;
    }
}

/// Leaves out lanes of a program with threads: nothing would tell a later pass which records this one reads.
fn leave_out_lanes(memory: &mut [u8]) {
    for table in ["lanes", "records"] {
        let span = offset_of(Header::FIELDS, table);
        memory[span..span + size_of::<Span>()].fill(0);
    }
}

fn is_half_written(head: u64) -> bool {
    (head >> 32) as u32 == CHANGING
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ctp_nostd::layout::{
        Compact, CompactStation, EXT_MAGIC, EXT_REV, Field, LAYOUT_HASH, Layout as _, MAGIC, Slot,
        Station, VERSION,
    };

    use super::*;
    use crate::live::search::search;

    const HEADER: usize = size_of::<Header>();
    const STATION: usize = size_of::<Station>();

    /// A target that has these bytes. With `next`, they change in the middle of a reading.
    struct Bytes {
        now: Vec<u8>,
        next: Option<(usize, Vec<u8>)>,
    }

    impl LiveSource for Bytes {
        fn name(&self) -> &str {
            "bytes"
        }

        fn find(&mut self) -> Result<Option<u64>, SourceError> {
            let end = self.now.len() as u64;
            search(self, std::iter::once(0..end))
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
        let field = Header::FIELDS.iter().find(|field| field.name == name);
        let &Field { offset, bytes, .. } = field.expect("a field of the header");
        memory[offset..offset + bytes].copy_from_slice(&word.to_le_bytes()[..bytes]);
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
            let at = offset_of(Station::FIELDS, "event_head");
            station[at..at + 8].copy_from_slice(&head.to_le_bytes());
            station[offset_of(Station::FIELDS, "generation")] = 2;
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

    /// The first bytes of the slots of the first station.
    fn slots(memory: &[u8]) -> Vec<u8> {
        let at = HEADER + offset_of(Station::FIELDS, "slots");
        let slots = memory[at..].chunks(size_of::<Slot>());
        slots.take(8).map(|slot| slot[0]).collect()
    }

    /// Sets the first bytes of the slots of the first station.
    fn set_slots(memory: &mut [u8], firsts: [u8; 8]) {
        let at = HEADER + offset_of(Station::FIELDS, "slots");
        let slots = memory[at..].chunks_mut(size_of::<Slot>());
        slots.zip(firsts).for_each(|(slot, first)| slot[0] = first);
    }

    // CTP-06
    #[test]
    fn slot_that_changes_during_a_reading_is_left_out() {
        let (mut source, mut live) = opened(memory(&[5]));
        let (mut now, mut next) = (memory(&[6]), memory(&[6]));
        set_slots(&mut now, [1, 2, 3, 4, 5, 6, 7, 8]);
        set_slots(&mut next, [1, 2, 3, 77, 5, 6, 7, 8]);
        // The first reading of the stations is the second read.
        (source.now, source.next) = (now, Some((1, next)));
        let change = live.refresh(&mut source).expect("it can be read");
        assert_eq!(change, Change::Changed { is_settled: false });
        assert_eq!(slots(&live.copy()), [1, 2, 3, 0, 5, 6, 7, 8]);
        // The next reading has the event.
        let change = live.refresh(&mut source).expect("it can be read");
        assert_eq!(change, Change::Changed { is_settled: true });
        assert_eq!(slots(&live.copy()), [1, 2, 3, 77, 5, 6, 7, 8]);
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
            assert_eq!(live.copy()[HEADER..], memory(&[5, 9])[HEADER..]);
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
        source.now = memory(&[u64::from(CHANGING) << 32]);
        live.refresh(&mut source).expect("it can be read");
        assert_eq!(live.copy()[HEADER..], memory(&[5])[HEADER..]);
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

    // CTP-01
    #[test]
    fn compact_memory_is_copied_in_the_full_layout() {
        let compact_bytes = HEADER + 2 * size_of::<CompactStation>();
        let mut now = memory(&[0, 0])[..compact_bytes].to_vec();
        for (name, word) in [
            ("magic", Compact::MAGIC),
            ("layout_hash", Compact::HASH),
            ("station_bytes", Compact::STATION_BYTES.into()),
            ("file_bytes", compact_bytes as u64),
        ] {
            set(&mut now, name, word);
        }
        let at = HEADER + size_of::<CompactStation>();
        now[at..].fill(0);
        now[at + offset_of(CompactStation::FIELDS, "event_head")] = 9;
        let (_, live) = opened(now);
        assert_eq!(
            (live.shape.slots, live.copy().len()),
            (2, HEADER + 2 * STATION)
        );
        let head = HEADER + STATION + offset_of(Station::FIELDS, "event_head");
        assert_eq!(live.copy()[head], 9);
    }
}
