//! Writes and reads arbitrary records, and reads arbitrary bytes.

mod frames;
mod properties;
mod strategies;

use std::io::{self, Write};

use proptest::collection::vec;
use proptest::prelude::*;

use ctp_trace::record::{
    Birth, CoroutineId, End, Event, EventCounts, Module, Nanos, Process, Record, Site, Start, Wake,
};
use ctp_trace::{Completeness, Error, Reader, Writer};
use frames::{frame, frames, renumbered};
use properties::{
    Reading, any_beginning_can_be_read, any_bytes_can_be_read, any_records_survive, written,
};

proptest! {
    #[test]
    fn records_survive(records in strategies::traces()) {
        any_records_survive(&records);
    }

    #[test]
    fn bytes_are_read_without_panic(bytes in vec(any::<u8>(), 0..2000)) {
        any_bytes_can_be_read(&bytes);
    }

    #[test]
    fn chunks_of_any_bytes_are_read_without_panic(
        chunks in vec((0..22u16, 0..3u16, vec(any::<u8>(), 0..200)), 0..5),
    ) {
        let mut bytes = written(&[]);
        let rest = bytes.split_off(frames(&bytes)[1]);
        for (number, (kind, flags, payload)) in (1..).zip(&chunks) {
            bytes.extend(frame(*kind, *flags, number, payload));
        }
        bytes.extend(rest);
        any_bytes_can_be_read(&bytes);
    }

    #[test]
    fn a_block_of_any_columns_is_read_without_panic(
        columns in vec((0..28u8, vec(any::<u8>(), 0..60)), 0..28),
    ) {
        let payload: Vec<u8> = columns
            .iter()
            .flat_map(|(number, column)| [&[*number, column.len() as u8][..], column].concat())
            .collect();
        let mut bytes = written(&[]);
        bytes.truncate(frames(&bytes)[1]);
        bytes.extend(frame(6, 0, 1, &payload));
        any_bytes_can_be_read(&bytes);
    }

    #[test]
    fn a_damaged_trace_is_read_without_panic(
        records in strategies::traces(),
        damage in vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = written(&records);
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        bytes.truncate(cut.index(bytes.len() * 2));
        any_bytes_can_be_read(&bytes);
    }
}

#[test]
fn a_trace_can_be_cut_off_at_every_byte() {
    let bytes = sample();
    for length in 0..=bytes.len() {
        any_beginning_can_be_read(&bytes, length);
    }
}

#[test]
fn each_damaged_byte_costs_at_most_the_chunk() {
    let bytes = sample();
    let whole = Reading::of(&bytes).unwrap().records();
    let starts = frames(&bytes);
    for at in starts[1]..*starts.last().unwrap() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x10;
        let reading = Reading::of(&damaged).unwrap();
        let chunk = *starts.iter().rfind(|&&start| start <= at).unwrap() as u64;
        let error = Error::CorruptChunk {
            offset: chunk,
            what: "its checksum is wrong",
        };
        assert_eq!(reading.errors(), [error], "damaged at {at}");
        assert_eq!(reading.completeness, Completeness::Whole);
        assert!(
            reading
                .records()
                .iter()
                .all(|record| whole.contains(record))
        );
    }
}

/// The maximum number of rows in a block, from the format document.
const ROWS: u32 = 16_384;

#[test]
fn a_block_holds_up_to_the_maximum_of_rows() {
    let event = |n: u32| {
        Record::Event(Event {
            coroutine: CoroutineId(1),
            n: n.into(),
            ..Event::default()
        })
    };
    let start = Record::Start(Start::default());
    let records: Vec<Record> = [start].into_iter().chain((0..=ROWS).map(event)).collect();
    any_records_survive(&records);
    let bytes = written(&records);
    let starts = frames(&bytes);
    let blocks = starts.iter().filter(|&&start| bytes[start + 4] == 6);
    assert_eq!(blocks.count(), 2);
}

#[test]
fn a_block_that_is_too_long_is_skipped() {
    let control = |rows: u32| {
        let length = [
            rows as u8 | 0x80,
            (rows >> 7) as u8 | 0x80,
            (rows >> 14) as u8,
        ];
        [&[1][..], &length, &vec![0; rows as usize]].concat()
    };
    let skipped = |rows| {
        let mut bytes = written(&[]);
        bytes.truncate(frames(&bytes)[1]);
        bytes.extend(frame(6, 0, 1, &control(rows)));
        let errors = Reading::of(&bytes).unwrap().errors();
        errors.iter().map(Error::to_string).collect::<String>()
    };
    assert!(skipped(ROWS + 1).contains("too many rows"));
    assert!(
        skipped(ROWS).contains("ends too early"),
        "{}",
        skipped(ROWS)
    );
}

// LT-24
#[test]
fn a_trace_that_ends_in_zeros_is_truncated() {
    let mut bytes = sample();
    let last = *frames(&bytes).last().unwrap();
    bytes[last..].fill(0);
    let reading = Reading::of(&bytes).unwrap();
    assert_eq!(reading.errors(), []);
    let expected = Completeness::Truncated {
        offset: last as u64,
        lost_so_far: 7,
    };
    assert_eq!(reading.completeness, expected);
}

// LT-24
#[test]
fn a_missing_chunk_is_reported_at_the_right_offset() {
    let bytes = sample();
    let starts = frames(&bytes);
    let without = [&bytes[..starts[2]], &bytes[starts[3]..]].concat();
    let reading = Reading::of(&without).unwrap();
    let missing = Error::MissingChunk {
        offset: starts[2] as u64,
        expected: 2,
        found: 3,
    };
    assert_eq!(reading.errors(), [missing]);
    assert_eq!(reading.completeness, Completeness::Whole);
}

// LT-24
#[test]
fn chunks_in_another_order_are_reported() {
    let bytes = sample();
    let starts = frames(&bytes);
    let [first, second, third] = [starts[1], starts[2], starts[3]];
    let swapped = [
        &bytes[..first],
        &bytes[second..third],
        &bytes[first..second],
        &bytes[third..],
    ]
    .concat();
    let reading = Reading::of(&swapped).unwrap();
    let found: Vec<_> = reading
        .errors()
        .iter()
        .map(|error| match error {
            Error::MissingChunk {
                expected, found, ..
            } => (*expected, *found),
            _ => panic!("{error}"),
        })
        .collect();
    assert_eq!(found, [(1, 2), (3, 1), (2, 3)]);
    assert_eq!(
        reading.records().len(),
        Reading::of(&bytes).unwrap().records().len()
    );
}

#[test]
fn an_unknown_chunk_type_is_skipped() {
    let bytes = sample();
    let starts = frames(&bytes);
    let mut longer = bytes[..starts[2]].to_vec();
    longer.extend(frame(0x7777, 0x8000, 2, b"from a later version"));
    for (number, pair) in (3..).zip(starts[2..].windows(2)) {
        longer.extend(renumbered(&bytes[pair[0]..pair[1]], number));
    }
    let last = &bytes[*starts.last().unwrap()..];
    longer.extend(renumbered(last, starts.len() as u32));
    let reading = Reading::of(&longer).unwrap();
    assert_eq!(reading.errors(), []);
    assert_eq!(reading.completeness, Completeness::Whole);
    assert_eq!(reading.records(), Reading::of(&bytes).unwrap().records());
}

#[test]
fn fields_appended_by_a_later_version_are_skipped() {
    let mut bytes = written(&[]);
    bytes.truncate(frames(&bytes)[1]);
    bytes.extend(frame(2, 0, 1, &[5, 1, 2, 3, 99, 99, 3, 4, 5, 6]));
    let end = [&[9, 2, 0, 1, 2, 3, 4, 5, 6][..], b"more"].concat();
    bytes.extend(frame(7, 0, 2, &end));
    let reading = Reading::of(&bytes).unwrap();
    assert_eq!(reading.errors(), []);
    assert_eq!(reading.completeness, Completeness::Whole);
    assert_eq!(reading.records().len(), 4);
}

#[test]
fn bytes_after_the_end_are_not_read() {
    let mut bytes = sample();
    let records = Reading::of(&bytes).unwrap().records();
    bytes.extend(b"anything");
    let reading = Reading::of(&bytes).unwrap();
    assert_eq!(reading.records(), records);
    assert_eq!(reading.completeness, Completeness::Whole);
}

#[test]
fn a_trace_without_a_start_is_refused() {
    let bytes = written(&[]);
    let error = Reader::new(&bytes[..40]).err();
    assert_eq!(error, Some(Error::NoStart { offset: 32 }));
}

#[test]
fn flushed_records_are_readable_during_recording() {
    let mut writer = Writer::new(Vec::new(), &Start::default()).unwrap();
    writer.write(&Record::Event(event(0))).unwrap();
    writer.set_lost(3);
    writer.flush().unwrap();
    writer.write(&Record::Event(event(1))).unwrap();
    let length = writer.bytes();
    let bytes = writer.finish(&End::default()).unwrap();
    let reading = Reading::of(&bytes[..length as usize]).unwrap();
    assert_eq!(reading.records()[1..], [Record::Event(event(0))]);
    let expected = Completeness::Truncated {
        offset: length,
        lost_so_far: 3,
    };
    assert_eq!(reading.completeness, expected);
}

#[test]
fn a_start_or_an_end_inside_a_trace_is_refused() {
    let mut writer = Writer::new(Vec::new(), &Start::default()).unwrap();
    for record in [Record::Start(Start::default()), Record::End(End::default())] {
        let error = writer.write(&record).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    }
}

#[test]
fn a_too_large_record_is_refused_and_harms_no_other() {
    let birth = |id, name| {
        Record::Birth(Birth {
            coroutine: CoroutineId(id),
            name,
            ..Birth::default()
        })
    };
    let mut writer = Writer::new(Vec::new(), &Start::default()).unwrap();
    writer.write(&birth(7, "before".into())).unwrap();
    let error = writer.write(&birth(8, "x".repeat(16 << 20))).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    writer.write(&birth(9, "x".repeat(1 << 20))).unwrap();
    writer.write(&birth(10, "after".into())).unwrap();
    let bytes = writer.finish(&End::default()).unwrap();
    let ids: Vec<u32> = Reading::of(&bytes)
        .unwrap()
        .records()
        .iter()
        .filter_map(|record| match record {
            Record::Birth(birth) => Some(birth.coroutine.0),
            _ => None,
        })
        .collect();
    assert_eq!(ids, [7, 9, 10]);
}

#[test]
fn a_full_disk_loses_unwritten_records_and_is_reported() {
    let disk = Disk {
        bytes: Vec::new(),
        full_at: 250,
    };
    let mut writer = Writer::new(disk, &Start::default()).unwrap();
    let mut failed = 0;
    for n in 0..100 {
        writer.write(&Record::Event(event(n))).unwrap();
        writer.write(&birth(n as u32)).unwrap();
        failed += u32::from(writer.flush().is_err());
    }
    let disk = writer.finish(&End::default()).unwrap();
    assert!((1..100).contains(&failed), "{failed} of 100");
    let reading = Reading::of(&disk.bytes).unwrap();
    assert_eq!(reading.completeness, Completeness::Whole);
    assert!(!reading.errors().is_empty());
    let records = reading.records();
    let valid = |record: &Record| match record {
        Record::Event(read) => *read == event(read.n),
        Record::Birth(read) => *record == birth(read.coroutine.0),
        _ => true,
    };
    assert!(records.len() > 50 && records.iter().all(valid));
}

/// A disk that fails one write when full, and then has room again.
struct Disk {
    bytes: Vec<u8>,
    full_at: usize,
}

impl Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = self.full_at - self.bytes.len();
        if room == 0 {
            self.full_at += 1000;
            return Err(io::ErrorKind::StorageFull.into());
        }
        let taken = bytes.len().min(room);
        self.bytes.extend(&bytes[..taken]);
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Every kind of chunk, some of them compressed, and some events lost.
fn sample() -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), &Start::default()).expect("memory");
    writer.set_lost(7);
    for round in 0..3 {
        writer
            .write(&Record::Process(Process::default()))
            .expect("memory");
        let path = b"/usr/lib/a-library.so".repeat(round as usize * 5);
        writer
            .write(&Record::Module(Module {
                path,
                ..Module::default()
            }))
            .expect("memory");
        writer
            .write(&Record::Site(Site::default()))
            .expect("memory");
        writer.write(&birth(round)).expect("memory");
        for n in 0..u64::from(round) * 100 {
            writer.write(&Record::Event(event(n))).expect("memory");
        }
        writer
            .write(&Record::Wake(Wake::default()))
            .expect("memory");
        writer
            .write(&Record::EventCounts(EventCounts::default()))
            .expect("memory");
        writer.flush().expect("memory");
    }
    writer.finish(&End::default()).expect("memory")
}

fn birth(id: u32) -> Record {
    let name = format!("coroutine {id}");
    Record::Birth(Birth {
        coroutine: CoroutineId(id),
        name,
        ..Birth::default()
    })
}

fn event(n: u64) -> Event {
    Event {
        coroutine: CoroutineId(1 + n as u32 % 3),
        n,
        at: Nanos(n * n * 777),
        ..Event::default()
    }
}

#[test]
fn a_list_that_is_too_long_is_refused() {
    let skipped = |frames: u8| {
        let stack = [1, 1, 0x80 | frames, 0x20];
        let mut bytes = written(&[]);
        bytes.truncate(end_of_start(&bytes));
        bytes.extend(frame(
            20,
            0,
            1,
            &[&[stack.len() as u8][..], &stack].concat(),
        ));
        let errors = Reading::of(&bytes).unwrap().errors();
        errors.iter().map(Error::to_string).collect::<String>()
    };
    assert!(skipped(1).contains("a list is too long"), "{}", skipped(1));
    assert!(skipped(0).contains("ends too early"), "{}", skipped(0));
}

fn end_of_start(bytes: &[u8]) -> usize {
    frames(bytes)[1]
}
