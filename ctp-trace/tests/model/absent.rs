//! Traces with a stuck coroutine from which a part is missing: the coroutine still looks stuck, or
//! the trace has a gap.

use ctp_trace::model::Gap;
use ctp_trace::record::*;
use ctp_trace::{Reader, TraceModel, Writer};

use super::{SECOND, birth, thread_event, wake};
use crate::facts::{end, event, event_counts};
use crate::frames::{frames, renumbered};

const MS: u64 = 1_000_000;

fn suspend(id: u32, n: u64, at: u64, change: impl FnOnce(&mut Event)) -> Record {
    let Record::Event(mut suspend) = event(id, n, at, EventKind::Suspend) else {
        unreachable!("`event` returns an event")
    };
    change(&mut suspend);
    Record::Event(suspend)
}

/// The coroutine waits for a descriptor that is closed, and is not resumed.
fn closed() -> Vec<Record> {
    let close = Close {
        wait: WaitKind::Readable,
        arg: 5,
        site: SiteId(9),
    };
    vec![
        birth(1),
        event(1, 0, 1, EventKind::Birth),
        event(1, 1, 2, EventKind::Run),
        suspend(1, 2, 3, |event| event.arg = 5),
        thread_event(4, Act::Close(close)),
        wake(1, 0, 0),
        event_counts(1, 3, 3),
    ]
}

/// Coroutine 1 was woken and not run, while coroutine 2 became ready later and ran.
fn passed_over() -> Vec<Record> {
    let mut records = vec![
        birth(1),
        birth(2),
        event(1, 0, 1, EventKind::Birth),
        event(1, 1, 2, EventKind::Run),
        suspend(1, 2, 3, |_| ()),
        event(1, 3, 4, EventKind::Run),
        suspend(1, 4, 5, |event| event.wake_seen = 1),
    ];
    for i in 0..20 {
        let at = 10 + u64::from(i) * SECOND.0;
        records.push(event(2, 2 * u64::from(i), at, EventKind::Run));
        records.push(suspend(2, 2 * u64::from(i) + 1, at + 1, |event| {
            event.wake_seen = i
        }));
        records.push(wake(2, u32::from(i) + 1, at + SECOND.0 - 1));
    }
    records.extend([
        wake(1, 2, 6 + MS),
        event_counts(1, 5, 5),
        event_counts(2, 40, 40),
    ]);
    records
}

/// The last waker of the coroutine was dropped.
fn abandoned() -> Vec<Record> {
    let account = EventCounts {
        coroutine: CoroutineId(1),
        attempted: 5,
        recorded: 5,
        wakers: Some(0),
        ..EventCounts::default()
    };
    vec![
        Record::ThreadEvent(ThreadEvent::default()),
        birth(1),
        event(1, 0, 0, EventKind::Birth),
        event(1, 1, 1, EventKind::Run),
        event(1, 2, 2, EventKind::Suspend),
        event(1, 3, 4, EventKind::Run),
        suspend(1, 4, 5, |event| event.wake_seen = 1),
        wake(1, 1, 3),
        Record::EventCounts(account),
    ]
}

/// Two looks saw that the awaited descriptor was closed.
fn seen_closed() -> Vec<Record> {
    let look = |second| {
        Record::Look(Look {
            coroutine: CoroutineId(1),
            since: Nanos(3),
            at: Nanos(second * SECOND.0),
            fd: 5,
            thing: Thing::Pipe,
            seen: Seen::Closed,
        })
    };
    vec![
        birth(1),
        event(1, 0, 1, EventKind::Birth),
        event(1, 1, 2, EventKind::Run),
        suspend(1, 2, 3, |event| event.arg = 5),
        wake(1, 0, 0),
        look(5),
        look(29),
        event_counts(1, 3, 3),
    ]
}

fn all() -> [(&'static str, Vec<Record>); 4] {
    [
        ("closed", closed()),
        ("passed over", passed_over()),
        ("no-waker", abandoned()),
        ("seen closed", seen_closed()),
    ]
}

/// The end record that a recorder writes after these records.
fn end_of(records: &[Record]) -> End {
    let count = |is: fn(&Record) -> bool| records.iter().filter(|record| is(record)).count() as u64;
    End {
        at: Nanos(30 * SECOND.0),
        events: count(|record| matches!(record, Record::Event(_))),
        coroutines: count(|record| matches!(record, Record::Birth(_))),
        records: records.len() as u64,
        ..End::default()
    }
}

/// The bytes of the trace, with a chunk for each record.
fn written(records: &[Record], end: &End) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), &Start::default()).unwrap();
    for record in records {
        writer.write(record).unwrap();
        writer.flush().unwrap();
    }
    writer.finish(end).unwrap()
}

/// Whether any coroutine looks stuck, and what is missing.
fn read(bytes: &[u8]) -> (bool, Vec<Gap>) {
    let mut reader = Reader::new(bytes).unwrap();
    let mut trace_model = TraceModel::new();
    for record in reader.by_ref() {
        match record {
            Ok(record) => drop(trace_model.consume(&record)),
            Err(_) => trace_model.note_damage(),
        }
    }
    trace_model.finish_reading(&reader);
    let judged = trace_model.judge(SECOND);
    let is_stuck = judged
        .iter()
        .any(|(_, judgement)| judgement.verdict.is_stuck());
    (is_stuck, trace_model.gaps(judged, SECOND))
}

fn passes(bytes: &[u8]) -> bool {
    let (is_stuck, gaps) = read(bytes);
    !is_stuck && gaps.is_empty()
}

fn without<T: Clone>(all: &[T], index: usize) -> Vec<T> {
    let (before, after) = all.split_at(index);
    [before, &after[1..]].concat()
}

// CT-24
#[test]
fn whole_traces_have_no_gap() {
    for (name, records) in all() {
        let (is_stuck, gaps) = read(&written(&records, &end_of(&records)));
        assert!(is_stuck, "{name}");
        assert_eq!(gaps, [], "{name}");
    }
}

// CT-24
#[test]
fn every_missing_record_is_noticed() {
    for (name, records) in all() {
        let end = end_of(&records);
        for index in 0..records.len() {
            let rest = written(&without(&records, index), &end);
            assert!(!passes(&rest), "{name}: {:?}", records[index]);
        }
    }
}

/// Older recorders did not count all records, so a missing thread event or look goes unnoticed.
// CT-24
#[test]
fn no_older_trace_passes_without_a_counted_record() {
    for (name, records) in all() {
        let end = End {
            records: 0,
            ..end_of(&records)
        };
        for index in 0..records.len() {
            let is_counted = !matches!(records[index], Record::ThreadEvent(_) | Record::Look(_));
            let rest = written(&without(&records, index), &end);
            let says_all = records[index] == wake(1, 0, 0);
            assert!(
                !is_counted || says_all || !passes(&rest),
                "{name}: {:?}",
                records[index]
            );
        }
    }
}

fn chunks(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut bounds = frames(bytes);
    bounds.push(bytes.len());
    let pairs = bounds.windows(2);
    pairs.map(|pair| bytes[pair[0]..pair[1]].to_vec()).collect()
}

/// A file header and chunks, of which the first is the start and the last is the end.
fn joined(header: &[u8], chunks: &[Vec<u8>], is_renumbered: bool) -> Vec<u8> {
    let mut bytes = header.to_vec();
    for (number, chunk) in chunks.iter().enumerate() {
        if is_renumbered {
            bytes.extend(renumbered(chunk, number as u32));
        } else {
            bytes.extend(chunk);
        }
    }
    bytes
}

// CT-24
#[test]
fn every_missing_chunk_is_noticed() {
    for (name, records) in all() {
        let whole = written(&records, &end_of(&records));
        let chunks = chunks(&whole);
        for index in 1..chunks.len() {
            for is_renumbered in [true, false] {
                let rest = joined(&whole[..32], &without(&chunks, index), is_renumbered);
                assert!(!passes(&rest), "{name}: chunk {index}");
            }
        }
    }
}

// CT-24
#[test]
fn no_trace_passes_with_a_damaged_chunk() {
    for (name, records) in all() {
        let whole = written(&records, &end_of(&records));
        for at in frames(&whole).into_iter().skip(1) {
            for byte in [at, at + 4, at + 24, at + 32] {
                let mut damaged = whole.clone();
                damaged[byte] ^= 0xff;
                assert!(!passes(&damaged), "{name}: byte {byte}");
            }
        }
    }
}

// CT-24
#[test]
fn no_cut_trace_with_an_appended_end_passes() {
    for (name, records) in all() {
        let whole = written(&records, &end_of(&records));
        let chunks = chunks(&whole);
        let last = chunks.len() - 1;
        for length in 1..last {
            let cut = joined(&whole[..32], &chunks[..length], false);
            assert!(!passes(&cut), "{name}: {length}");
            let ended = [&chunks[..length], &chunks[last..]].concat();
            for is_renumbered in [true, false] {
                let ended = joined(&whole[..32], &ended, is_renumbered);
                assert!(!passes(&ended), "{name}: {length}");
            }
        }
    }
}

/// The gaps of a trace with a single, ended coroutine and this end record.
fn gaps_of(end: End) -> Vec<Gap> {
    let records = [
        birth(1),
        event(1, 0, 1, EventKind::Birth),
        event(1, 1, 2, EventKind::Death),
        event_counts(1, 5, 2),
    ];
    read(&written(&records, &end)).1
}

// CT-24
#[test]
fn counts_beyond_the_records_are_gaps() {
    let end = |change: fn(&mut End)| {
        let mut end = End {
            events: 2,
            lost: 3,
            coroutines: 1,
            records: 4,
            ..End::default()
        };
        change(&mut end);
        end
    };
    for (end, gaps) in [
        (end(|_| ()), vec![]),
        (end(|end| end.events = 4), vec![Gap::AbsentEvents(2)]),
        (
            end(|end| end.coroutines = 2),
            vec![Gap::AbsentCoroutines(1)],
        ),
        (end(|end| end.lost = 10), vec![Gap::UnattributedLosses(7)]),
        (end(|end| end.records = 9), vec![Gap::AbsentRecords(5)]),
        (
            end(|end| (end.events, end.records) = (3, 5)),
            vec![Gap::AbsentEvents(1)],
        ),
        (
            end(|end| (end.lost, end.records) = (10, 9)),
            vec![Gap::UnattributedLosses(7), Gap::AbsentRecords(5)],
        ),
        (
            end(|end| end.events = u64::MAX),
            vec![Gap::AbsentEvents(u64::MAX - 2)],
        ),
    ] {
        assert_eq!(gaps_of(end), gaps, "{end:?}");
    }
}

// CT-24
#[test]
fn an_unattributed_loss_in_a_chunk_header_is_a_gap() {
    for (attempted, gaps) in [(9, vec![]), (2, vec![Gap::UnattributedLosses(7)])] {
        let mut writer = Writer::new(Vec::new(), &Start::default()).unwrap();
        writer.set_lost(7);
        writer.write(&birth(1)).unwrap();
        writer.flush().unwrap();
        writer.set_lost(0);
        for record in [
            event(1, 0, 1, EventKind::Birth),
            event(1, 1, 2, EventKind::Death),
            event_counts(1, attempted, 2),
        ] {
            writer.write(&record).unwrap();
        }
        let bytes = writer.finish(&End::default()).unwrap();
        assert_eq!(read(&bytes).1, gaps);
    }
}

// CT-24
#[test]
fn without_trusted_counts_no_loss_is_in_excess() {
    let account = EventCounts {
        coroutine: CoroutineId(1),
        inexact: true,
        ..EventCounts::default()
    };
    let records = [
        birth(1),
        event(1, 0, 1, EventKind::Death),
        Record::EventCounts(account),
    ];
    let end = End {
        lost: 12,
        ..End::default()
    };
    assert_eq!(read(&written(&records, &end)).1, []);
}

// CT-24
#[test]
fn chunks_of_a_later_version_are_a_gap() {
    let later = include_bytes!("../golden/v1.2-future.ctp");
    let (_, gaps) = read(later);
    let is_of_later = |gap: &Gap| matches!(gap, Gap::UnknownChunks(count) if 0 < *count);
    assert!(gaps.iter().any(is_of_later), "{gaps:?}");
}

// CT-24
#[test]
fn a_trace_without_an_end_has_a_gap() {
    let trace_model = crate::facts::trace_model(&[birth(1)]);
    assert_eq!(trace_model.gaps([], SECOND), [Gap::NoEnd]);
    let mut trace_model = crate::facts::trace_model(&[birth(1), end(5)]);
    trace_model.note_damage();
    assert_eq!(trace_model.gaps([], SECOND), [Gap::Unreadable(1)]);
}

// CT-24
#[test]
fn a_long_wait_without_event_counts_is_a_gap() {
    for (at, gaps) in [(9 * SECOND.0, vec![Gap::Lost(1)]), (5, vec![])] {
        let records = [birth(1), event(1, 0, 1, EventKind::Suspend), end(at)];
        let trace_model = crate::facts::trace_model(&records);
        assert_eq!(
            trace_model.gaps(trace_model.judge(SECOND), SECOND),
            gaps,
            "{at}"
        );
    }
}
