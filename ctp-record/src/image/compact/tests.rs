//! Tests that read whole dumps of compact memory.

use ctp_nostd::layout::{EXT_MAGIC, EXT_REV, RingHead, VERSION};
use ctp_nostd::slot::{final_seq_in, index_in};
use ctp_nostd::{Region, half_written};
use ctp_trace::record::{EventCounts, Record};
use proptest::prelude::*;

use super::*;
use crate::harvest::{Harvest, Sink, TraceNumbers};
use crate::image::{Firmware, memory_of};
use crate::memory::shm::Copy;

const STATIONS: u64 = 2;
const ENTRIES: u64 = 2;
const RECORDS: u64 = 8;

/// The words of the memory of a probe, as bytes.
struct Dump(Vec<u8>);

impl Dump {
    fn new() -> Self {
        let station_bytes = STATIONS as usize * size_of::<CompactStation>();
        let table = size_of::<Header>() + station_bytes;
        let head = table + ENTRIES as usize * size_of::<CompactInterned>();
        let records = head + size_of::<RingHead>();
        let bytes = records + RECORDS as usize * size_of::<LaneRecord>();
        let mut dump = Dump(vec![0; bytes]);
        for (name, word) in [
            ("magic", COMPACT_MAGIC),
            ("version", u64::from(VERSION) | STATIONS << 32),
            ("allocated_count", STATIONS),
            ("ext_magic", EXT_MAGIC),
            ("ext_version", EXT_REV.into()),
            ("file_bytes", bytes as u64),
            ("layout_hash", Compact::HASH),
            ("clock_index", u64::from(Compact::STATION_BYTES) << 32),
            ("names", table as u64),
            ("lanes", head as u64),
            ("records", records as u64),
        ] {
            put(&mut dump.0, offset_of(Header::FIELDS, name), word);
        }
        for (table, entries, entry_bytes) in [
            ("names", ENTRIES, size_of::<CompactInterned>()),
            ("lanes", 1, size_of::<RingHead>()),
            ("records", RECORDS, size_of::<LaneRecord>()),
        ] {
            let sizes = offset_of(Header::FIELDS, table) + size_of::<u64>();
            put(&mut dump.0, sizes, entries | (entry_bytes as u64) << 32);
        }
        dump
    }

    fn put_in_station(&mut self, station: usize, field: &str, word: u64) {
        let station = size_of::<Header>() + station * size_of::<CompactStation>();
        let at = station + offset_of(CompactStation::FIELDS, field);
        put(&mut self.0, at, word);
    }

    /// A coroutine whose first events are `first`, with `events` complete events. With `is_torn`, the
    /// memory was dumped within one more event.
    fn with_coroutine(
        mut self,
        station: usize,
        (first, events): (u64, u64),
        is_torn: bool,
    ) -> Self {
        let head = first + events;
        let started = head + u64::from(is_torn);
        for (field, word) in [
            ("birth_ts", 100),
            ("is_dead", u64::from(EXT_REV) << 8 | 2 << 32), // and the generation
            ("base_n", first),
            ("event_head", head),
            ("last_ts", 1000 + started),
            ("state", started << 32), // and the events started
        ] {
            self.put_in_station(station, field, word);
        }
        (first..started).for_each(|n| self.put_event(station, n, n < head));
        self
    }

    fn put_event(&mut self, station: usize, n: u64, is_whole: bool) {
        let station = size_of::<Header>() + station * size_of::<CompactStation>();
        let slots = station + offset_of(CompactStation::FIELDS, "slots");
        let slot = slots + index_in::<Compact>(n) * size_of::<Slot>();
        let kind = if n.is_multiple_of(2) { 2 } else { 3 };
        let seq = final_seq_in::<Compact>(n) - u64::from(!is_whole);
        for (field, word) in [
            ("timestamp", 1000 + n),
            ("seq", seq),
            ("generation", 2),
            ("tail", kind),
        ] {
            put(&mut self.0, slot + offset_of(Slot::FIELDS, field), word);
        }
    }
}

#[derive(Default)]
struct Records(Vec<Record>);

impl Sink for Records {
    fn take(&mut self, record: Record) {
        self.0.push(record);
    }
}

/// The records of a dump. `None` if the memory is refused.
fn read(dump: &[u8]) -> Option<Vec<Record>> {
    let memory = memory_of(dump)?.ok()?;
    let copy = Copy::of(&memory).expect("there is memory for it");
    let region: Region<'_> = copy.region().expect("the search has checked the header");
    half_written::repair(&region);
    let mut firmware = Firmware {
        modules: Vec::new(),
        is_described: false,
        numbers: TraceNumbers::default(),
    };
    let mut records = Records::default();
    Harvest::new(0).finish(&region, &mut firmware, &mut records);
    Some(records.0)
}

fn numbers(records: &[Record]) -> Vec<u64> {
    let events = records.iter().filter_map(|record| match record {
        Record::Event(event) => Some(event.n),
        _ => None,
    });
    events.collect()
}

fn counts(records: &[Record]) -> Vec<EventCounts> {
    let counts = records.iter().filter_map(|record| match record {
        Record::EventCounts(counts) => Some(*counts),
        _ => None,
    });
    counts.collect()
}

proptest! {
    // CTP-11, CTP-27
    #[test]
    fn latest_two_events_are_read_and_the_others_are_lost(
        first in prop_oneof![0..20_u64, (1 << 32) - 9..(1 << 32) + 9_u64],
        events in 1..40_u64,
        is_torn: bool,
    ) {
        let dump = Dump::new().with_coroutine(1, (first, events), is_torn);
        let records = read(&dump.0).expect("the memory is whole");
        // An event in progress has overwritten the older of the two.
        let held = events.min(if is_torn { 1 } else { 2 });
        prop_assert_eq!(numbers(&records), (events - held..events).collect::<Vec<_>>());
        let [counts] = counts(&records)[..] else { panic!("one coroutine") };
        prop_assert_eq!((counts.attempted, counts.recorded), (events, held));
        prop_assert_eq!((counts.torn, counts.inexact), (is_torn.then_some(events), false));
    }

    // CTP-27, CTP-28
    #[test]
    fn hostile_memory_is_read_without_panic(
        words in prop::collection::vec(
            (0..250_usize, prop_oneof![any::<u64>(), 0..9_u64, (u64::MAX - 9)..=u64::MAX]),
            0..12,
        ),
        cut in prop_oneof![4 => Just(usize::MAX), 1 => 0..1700_usize],
    ) {
        let mut dump = Dump::new().with_coroutine(0, (0, 5), false).with_coroutine(1, (0, 9), true).0;
        for (at, word) in words {
            put(&mut dump, at * 8, word);
        }
        dump.truncate(cut);
        for counts in read(&dump).iter().flat_map(|records| counts(records)) {
            prop_assert!(counts.recorded <= counts.attempted);
        }
    }
}

// CTP-27
#[test]
fn other_sizes_than_those_of_the_layout_are_refused() {
    let dump = Dump::new().with_coroutine(0, (0, 5), false).0;
    assert!(read(&dump).is_some());
    let station_bytes = offset_of(Header::FIELDS, "station_bytes");
    let layout_hash = offset_of(Header::FIELDS, "layout_hash");
    for (at, byte) in [(station_bytes, 1), (station_bytes + 1, 4), (layout_hash, 1)] {
        let mut other = dump.clone();
        other[at] ^= byte;
        assert_eq!(read(&other), None, "{at:#x}");
    }
}
