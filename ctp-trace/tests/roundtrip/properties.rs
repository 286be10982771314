//! Properties of every trace and of every sequence of bytes.
//!
//! These are plain functions over plain data, so a fuzz target can include this file and call them.

use ctp_trace::record::{End, Record, Start};
use ctp_trace::{Completeness, Error, Reader, Writer};

/// The items that a reader returns, including errors.
pub struct Reading {
    pub items: Vec<Result<Record, Error>>,
    pub completeness: Completeness,
}

impl Reading {
    pub fn of(bytes: &[u8]) -> Result<Self, Error> {
        let mut reader = Reader::new(bytes)?;
        let items = reader.by_ref().collect();
        Ok(Reading {
            items,
            completeness: reader.completeness(),
        })
    }

    pub fn records(&self) -> Vec<Record> {
        self.items.iter().flatten().cloned().collect()
    }

    pub fn errors(&self) -> Vec<Error> {
        self.items
            .iter()
            .filter_map(|item| item.clone().err())
            .collect()
    }
}

/// Checks that any bytes are read without panic, that error offsets lie within the bytes, and that
/// the records can be written and read again.
pub fn any_bytes_can_be_read(bytes: &[u8]) {
    let reading = match Reading::of(bytes) {
        Ok(reading) => reading,
        Err(error) => return assert_within(&error, bytes),
    };
    reading
        .errors()
        .iter()
        .for_each(|error| assert_within(error, bytes));
    if let Completeness::Truncated { offset, .. } = reading.completeness {
        assert!(offset <= bytes.len() as u64, "{offset} of {}", bytes.len());
    }
    any_records_survive(&reading.records());
}

/// Checks that valid records are read as they were written, and that each still comes after the
/// records that it may refer to. The first must be the start.
pub fn any_records_survive(records: &[Record]) {
    let bytes = written(records);
    let reading = Reading::of(&bytes).expect("what was written can be read");
    assert_eq!(reading.errors(), []);
    assert_eq!(reading.completeness, Completeness::Whole);
    let mut read = reading.records();
    if !matches!(records.last(), Some(Record::End(_))) {
        read.pop();
    }
    assert_same_but_for_order(records, &read);
    assert_no_record_precedes_the_references(records, &read);
}

/// Checks that a trace cut off anywhere yields the first records of the whole trace, and no error.
pub fn any_beginning_can_be_read(bytes: &[u8], length: usize) {
    let whole = Reading::of(bytes).expect("a trace").records();
    let Ok(cut) = Reading::of(&bytes[..length]) else {
        return;
    };
    assert_eq!(cut.errors(), [], "cut at {length}");
    let read = cut.records();
    assert!(whole.starts_with(&read), "cut at {length}");
    let is_whole = cut.completeness == Completeness::Whole;
    assert_eq!(is_whole, read.len() == whole.len(), "cut at {length}");
}

/// Writes `records`, of which the first is the start. An end is added if there is none.
pub fn written(records: &[Record]) -> Vec<u8> {
    let Some((Record::Start(start), rest)) = records.split_first() else {
        return written(&[Record::Start(Start::default())]);
    };
    let mut writer = Writer::new(Vec::new(), start).expect("memory");
    let mut last = End::default();
    for record in rest {
        match record {
            Record::End(end) => last = *end,
            _ => writer.write(record).expect("memory"),
        }
    }
    writer.finish(&last).expect("memory")
}

/// Checks that the offset of the error is that of a byte, or of the end of the bytes.
fn assert_within(error: &Error, bytes: &[u8]) {
    assert!(
        error.offset() <= bytes.len() as u64,
        "{error}, but there are {} bytes",
        bytes.len()
    );
}

fn assert_same_but_for_order(written: &[Record], read: &[Record]) {
    assert_eq!(written.len(), read.len());
    for class in 0..CLASSES {
        let of_class = |record: &&Record| self::class(record) == class;
        assert!(
            written
                .iter()
                .filter(of_class)
                .eq(read.iter().filter(of_class)),
            "class {class}"
        );
    }
}

/// Checks that reading keeps each record behind all records that it may refer to.
fn assert_no_record_precedes_the_references(written: &[Record], read: &[Record]) {
    let mut read = by_class(read).map(Vec::into_iter);
    for (class, records) in by_class(written).into_iter().enumerate() {
        for before in records {
            let after = read[class].next().expect("as many records");
            let kept = (0..class).all(|other| before[other] <= after[other]);
            assert!(
                kept,
                "a record of class {class} precedes a record that it may refer to"
            );
        }
    }
}

const CLASSES: usize = 18;

/// A record may refer to records of a class with a smaller number.
fn class(record: &Record) -> usize {
    match record {
        Record::Start(_) => 0,
        Record::Process(_) => 1,
        Record::Module(_) => 2,
        Record::Site(_) => 3,
        Record::Birth(_) => 4,
        Record::Aggregate(_) => 5,
        Record::Window(_) | Record::Earlier(_) | Record::EndedSums(_) => 6,
        Record::Chain(_) => 7,
        Record::Look(_) => 8,
        Record::Branches(_) => 9,
        Record::Inspection(_)
        | Record::AwaitStack(_)
        | Record::InspectedTask(_)
        | Record::InspectedThread(_)
        | Record::InspectionEnd(_) => 10,
        Record::Threads(_) => 11,
        Record::Sockets(_) => 12,
        Record::Leaf(_) => 13,
        Record::CoroutineStack(_) => 14,
        Record::ProcessEnd(_) | Record::Control(_) | Record::Watermark(_) => 16,
        Record::End(_) => 17,
        _ => 15,
    }
}

/// For each record of each class, the number of preceding records of each class.
fn by_class(records: &[Record]) -> [Vec<[usize; CLASSES]>; CLASSES] {
    let mut before = [0; CLASSES];
    let mut result = [const { Vec::new() }; CLASSES];
    for record in records {
        result[class(record)].push(before);
        before[class(record)] += 1;
    }
    result
}
