//! Makes the golden traces.

use ctp_trace::Writer;
use ctp_trace::record::*;

use super::frames::{frame, frames, renumbered};

mod branches;
mod chains;
mod holds;
mod inspection;
mod looks;
mod since_1_2;
mod since_1_6;

use branches::{branches, copies};
use chains::{chains, precise_chains};
use holds::{holds, shared_holds};
use inspection::{inspection, recorded_task};
use looks::{looks, nothing_to_read, numbers, unwatched};
use since_1_2::{aggregates, control, flight, marks, thread_events, wakers};
use since_1_6::{leaves, poll_wakers, stacks, threads};

/// Makes the bytes of a trace.
pub type Make = fn() -> Vec<u8>;

/// Each trace since version 1.2, by file name. Those of 1.0 and 1.1 were made in the same way.
pub const ALL: &[(&str, Make)] = &[
    ("v1.2-minimal.ctp", minimal),
    ("v1.2-everything.ctp", everything),
    ("v1.2-cut.ctp", cut),
    ("v1.2-damaged.ctp", damaged),
    ("v1.2-future.ctp", future),
    ("v1.2-processes.ctp", processes),
    ("v1.2-deeds.ctp", thread_events),
    ("v1.2-aggregates.ctp", aggregates),
    ("v1.2-control.ctp", control),
    ("v1.2-marks.ctp", marks),
    ("v1.2-flight.ctp", flight),
    ("v1.2-wakers.ctp", wakers),
    ("v1.2-holds.ctp", holds),
    ("v1.2-chains.ctp", chains),
    ("v1.2-looks.ctp", looks),
    ("v1.2-numbers.ctp", numbers),
    ("v1.2-nothing-to-read.ctp", nothing_to_read),
    ("v1.2-unwatched.ctp", unwatched),
    ("v1.2-precise-chains.ctp", precise_chains),
    ("v1.3-minimal.ctp", minimal),
    ("v1.3-unrecorded.ctp", unrecorded),
    ("v1.4-minimal.ctp", minimal),
    ("v1.4-watermark.ctp", watermark),
    ("v1.5-minimal.ctp", minimal),
    ("v1.5-counted.ctp", counted),
    ("v1.6-minimal.ctp", minimal),
    ("v1.6-inspection.ctp", inspection),
    ("v1.6-recorded-task.ctp", recorded_task),
    ("v1.6-poll-wakers.ctp", poll_wakers),
    ("v1.6-threads.ctp", threads),
    ("v1.6-leaves.ctp", leaves),
    ("v1.6-stacks.ctp", stacks),
    ("v1.6-shared.ctp", shared_holds),
    ("v1.6-branches.ctp", branches),
    ("v1.6-copies.ctp", copies),
];

/// The example in the format document: a coroutine that waits forever.
pub fn minimal() -> Vec<u8> {
    let end = End {
        at: Nanos(1_000_000),
        how: ExitReason::Exited(0),
        events: 2,
        coroutines: 1,
        ..End::default()
    };
    written(&minimal_start(), &minimal_records(), &end)
}

fn minimal_start() -> Start {
    Start {
        trace_id: *b"\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f",
        recorder: "0.1.0".into(),
        host: "box".into(),
        argv: vec![b"./app".to_vec(), b"-v".to_vec()],
        started_unix_ns: 1_700_000_000_000_000_000,
        started_monotonic_ns: 5_000_000_000,
        capacity: 1024,
        precise_chains: false,
    }
}

fn minimal_records() -> [Record; 5] {
    let process = Process {
        id: ProcessId(1),
        pid: 4321,
        attached: Nanos(1000),
    };
    let place = Place::Source {
        file: "src/main.rs".into(),
        line: 9,
        column: 5,
    };
    let birth = Birth {
        coroutine: CoroutineId(1),
        process: ProcessId(1),
        probe_id: 1,
        at: Nanos(2000),
        kind: CoroutineKind::Future,
        name: "reader".into(),
        ..Birth::default()
    };
    let run = Event {
        coroutine: CoroutineId(1),
        n: 1,
        at: Nanos(2500),
        tid: 4321,
        kind: EventKind::Run,
        ..Event::default()
    };
    let suspend = Event {
        n: 2,
        at: Nanos(2900),
        kind: EventKind::Suspend,
        site: SiteId(1),
        wait: WaitKind::Readable,
        arg: 7,
        ..run
    };
    [
        Record::Process(process),
        Record::Site(Site {
            id: SiteId(1),
            process: ProcessId(1),
            place,
        }),
        Record::Birth(birth),
        Record::Event(run),
        Record::Event(suspend),
    ]
}

/// Every kind of record with every kind of value, and compressed chunks.
fn everything() -> Vec<u8> {
    let start = Start {
        trace_id: [0xab; 16],
        recorder: "0.1.0".into(),
        host: "h\u{f6}st".into(),
        argv: vec![
            b"/usr/bin/server".to_vec(),
            b"--port=\xff".to_vec(),
            Vec::new(),
        ],
        started_unix_ns: 1_700_000_000_123_456_789,
        started_monotonic_ns: 86_400_000_000_000,
        capacity: 65_536,
        precise_chains: false,
    };
    let end = End {
        at: Nanos(9_000_000_000),
        how: ExitReason::Signalled(11),
        events: 409,
        lost: 12,
        refused: 3,
        coroutines: 5,
        unnamed: 2,
        quarantined: 1,
        faulting_tid: 701,
        unrecorded: 0,
        records: 0,
    };
    let records = [
        definitions(),
        births(),
        first_events(),
        many_events(),
        last_facts(),
    ]
    .concat();
    written(&start, &records, &end)
}

fn definitions() -> Vec<Record> {
    let module = |process, start, path: &[u8], build_id: &[u8]| {
        Record::Module(Module {
            process: ProcessId(process),
            start,
            end: start + 0x2000,
            file_offset: 0x1000,
            path: path.to_vec(),
            build_id: build_id.to_vec(),
        })
    };
    let site = |id, place| {
        Record::Site(Site {
            id: SiteId(id),
            process: ProcessId(1),
            place,
        })
    };
    let file = "src/reactor.rs".into();
    vec![
        Record::Process(Process {
            id: ProcessId(1),
            pid: 700,
            attached: Nanos(10),
        }),
        Record::Process(Process {
            id: ProcessId(2),
            pid: 701,
            attached: Nanos(5_000),
        }),
        module(
            1,
            0x5555_5555_0000,
            b"/usr/bin/server",
            &[0xde, 0xad, 0xbe, 0xef],
        ),
        module(2, 0x7fff_f7dd_0000, b"/tmp/odd\xfe name.so (deleted)", &[]),
        site(
            1,
            Place::Source {
                file,
                line: 112,
                column: 9,
            },
        ),
        site(
            2,
            Place::Function {
                address: 0x5555_5555_0340,
                name: "server::accept".into(),
            },
        ),
        site(3, Place::Address(0x5555_5555_0777)),
        site(4, Place::ReturnAddress(0x5555_5555_0999)),
    ]
}

fn births() -> Vec<Record> {
    let birth = |id: u32, dialect, kind, name: &str| {
        Record::Birth(Birth {
            coroutine: CoroutineId(id),
            process: ProcessId(1 + id % 2),
            station: 100 - id,
            generation: 2 * id,
            probe_id: u64::MAX - u64::from(id),
            at: Nanos(u64::from(id) * 1_000),
            dialect,
            kind,
            name: name.into(),
            spawn_site: SiteId(id),
            ..Birth::default()
        })
    };
    vec![
        birth(1, Dialect::Extended, CoroutineKind::Future, "accept loop"),
        birth(2, Dialect::V1PerSlot, CoroutineKind::Stackful, ""),
        birth(
            3,
            Dialect::V1PerStation,
            CoroutineKind::Thread,
            "w\u{f6}rker",
        ),
        birth(4, Dialect::Extended, CoroutineKind::Bare, "blinky"),
        birth(5, Dialect::Extended, CoroutineKind::Unknown, "?"),
    ]
}

/// Each kind of wait and of event once, with gaps, and times that go back.
fn first_events() -> Vec<Record> {
    let waits = [
        WaitKind::Unknown,
        WaitKind::Readable,
        WaitKind::Writable,
        WaitKind::Timer,
        WaitKind::Lock,
        WaitKind::Channel,
        WaitKind::Coroutine,
        WaitKind::User,
        WaitKind::Yield,
    ];
    let kinds = [
        EventKind::Birth,
        EventKind::Run,
        EventKind::Suspend,
        EventKind::Death,
    ];
    let event = |(number, wait)| {
        let number: u64 = number;
        Record::Event(Event {
            coroutine: CoroutineId(1 + number as u32 % 3),
            n: number * number,
            at: Nanos(1_000_000 - number * 1_000),
            tid: 700 + number % 2,
            kind: kinds[number as usize % 4],
            site: SiteId(number as u32 % 5),
            wait,
            arg: u64::MAX >> (number * 7),
            wake_seen: (number as u16).wrapping_mul(9_999),
            ..Event::default()
        })
    };
    (0..).zip(waits).map(event).collect()
}

/// A coroutine that reads and writes, with the wakes in between.
fn many_events() -> Vec<Record> {
    let mut records = Vec::new();
    for round in 0..200 {
        let at = 2_000_000 + round * 10_000 + round * round % 977;
        let run = Event {
            coroutine: CoroutineId(4),
            n: 2 * round,
            at: Nanos(at),
            tid: 700,
            kind: EventKind::Run,
            wake_seen: round as u16,
            ..Event::default()
        };
        let wait = if round % 2 == 0 {
            WaitKind::Readable
        } else {
            WaitKind::Writable
        };
        let suspend = Event {
            n: 2 * round + 1,
            at: Nanos(at + 400),
            kind: EventKind::Suspend,
            site: SiteId(1),
            wait,
            arg: 17,
            ..run
        };
        records.extend([Record::Event(run), Record::Event(suspend)]);
    }
    records
}

fn last_facts() -> Vec<Record> {
    let wake = |count, waker| {
        let (coroutine, at) = (CoroutineId(4), Nanos(4_000_000));
        Record::Wake(Wake {
            coroutine,
            count,
            waker,
            at,
        })
    };
    let event_counts = |id, torn, inexact| {
        let coroutine = CoroutineId(id);
        Record::EventCounts(EventCounts {
            coroutine,
            attempted: 12,
            recorded: 9,
            torn,
            inexact,
            ..EventCounts::default()
        })
    };
    vec![
        wake(0, Waker::Foreign),
        wake(199, Waker::Thread(700)),
        wake((1 << 20) - 1, Waker::Coroutine(CoroutineId(1))),
        event_counts(1, None, false),
        event_counts(2, Some(11), false),
        event_counts(3, Some(u64::MAX), true),
    ]
}

/// A trace of a recorder that was killed while writing.
fn cut() -> Vec<u8> {
    let mut bytes = everything();
    let last = frames(&bytes);
    bytes.truncate(last[last.len() - 2] + 50);
    bytes
}

/// A trace with a flipped bit in a chunk, and with a missing chunk.
fn damaged() -> Vec<u8> {
    let mut bytes = everything();
    let starts = frames(&bytes);
    bytes[starts[2] + 40] ^= 1;
    bytes.drain(starts[3]..starts[4]);
    bytes
}

/// A trace of a possible later version 1: another chunk type, more fields, another column.
fn future() -> Vec<u8> {
    let minimal = minimal();
    let starts = frames(&minimal);
    let mut bytes = minimal[..starts[1]].to_vec();
    bytes[10] = 9;
    let crc = crc32fast::hash(&bytes[..28]);
    bytes[28..32].copy_from_slice(&crc.to_le_bytes());
    bytes.extend(frame(
        0x1234,
        0x8000,
        1,
        b"a sort of chunk that version 1.0 does not know",
    ));
    bytes.extend(renumbered(&minimal[starts[1]..starts[2]], 2));
    bytes.extend(frame(2, 0, 3, b"\x07\x02\x05\x09more"));
    let block = [
        &b"\x01\x02\xf1\xba\x02\x01\x02\x04\x02\xc8\x64\x05\x02\x00\x00"[..],
        b"\x07\x01\x00\x08\x01\x02\x09\x01\xc8\x0a\x01\x0e",
        b"\xc8\x03new",
    ];
    bytes.extend(frame(6, 0, 4, &block.concat()));
    bytes.extend(frame(
        7,
        0,
        5,
        b"\x64\x03\x00\x02\x00\x00\x01\x00\x00\x00more",
    ));
    bytes
}

fn written(start: &Start, records: &[Record], end: &End) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), start).expect("memory");
    writer.set_lost(end.lost);
    for record in records {
        writer.write(record).expect("memory");
    }
    writer.finish(end).expect("memory")
}

/// Processes that end in each way, each with a coroutine without a death.
fn processes() -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), &Start::default()).expect("memory");
    let exit_reasons = [
        ProcessExit::Exited(3),
        ProcessExit::Signalled(9),
        ProcessExit::Exec,
        ProcessExit::Disappeared,
    ];
    for (number, how) in (1..).zip(exit_reasons) {
        let records = [
            Record::Process(Process {
                id: ProcessId(number),
                pid: 100 + number,
                attached: Nanos(10),
            }),
            Record::Birth(Birth {
                coroutine: CoroutineId(number),
                process: ProcessId(number),
                ..Birth::default()
            }),
            Record::Event(Event {
                coroutine: CoroutineId(number),
                at: Nanos(20),
                ..Event::default()
            }),
            Record::ProcessEnd(ProcessEnd {
                process: ProcessId(number),
                at: Nanos(30),
                how,
            }),
        ];
        for record in records {
            writer.write(&record).expect("memory");
        }
    }
    writer.finish(&End::default()).expect("memory")
}

/// Watermarks between and after events, with the largest possible time.
fn watermark() -> Vec<u8> {
    let event = |n, at, kind| {
        Record::Event(Event {
            coroutine: CoroutineId(1),
            n,
            at: Nanos(at),
            kind,
            ..Event::default()
        })
    };
    let records = [
        event(0, 10, EventKind::Birth),
        Record::Watermark(Nanos(2_000_000_000)),
        event(1, 3_000_000_000, EventKind::Run),
        Record::Watermark(Nanos(u64::MAX)),
    ];
    written(&Start::default(), &records, &End::default())
}

fn unrecorded() -> Vec<u8> {
    let end = End {
        unrecorded: 3,
        ..End::default()
    };
    written(&Start::default(), &[], &end)
}

fn counted() -> Vec<u8> {
    let records = [Record::Watermark(Nanos(7))];
    let end = End {
        records: 1,
        ..End::default()
    };
    written(&Start::default(), &records, &end)
}
