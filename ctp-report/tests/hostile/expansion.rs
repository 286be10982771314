//! Traces in which a few bytes expand to very much data.

use ctp_trace::Writer;
use ctp_trace::record::*;

use crate::room::{MIB, Room};

const VIEWS: [&[&str]; 3] = [&[], &["--stuck"], &["--export", "jsonl"]];

fn written(records: impl Iterator<Item = Record>) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), &Start::default()).unwrap();
    for record in records {
        writer.write(&record).unwrap();
    }
    writer.finish(&End::default()).unwrap()
}

/// Each view either is written or says that it takes too much, within what the trace's size allows.
fn check(room: &Room, trace: &[u8]) {
    room.write("ctp.data", trace);
    for view in VIEWS {
        let run = room.run(view);
        let most = 256 * MIB + 2 * trace.len() as u64;
        assert!(
            run.peak_bytes < most,
            "{view:?}: {} > {most}",
            run.peak_bytes
        );
        assert_eq!(run.status, Some(1), "{view:?} {run:?}");
        assert!(run.stderr.contains("--max-memory"), "{view:?} {run:?}");
    }
}

fn name(number: u32) -> String {
    format!("{number}{}", "n".repeat(16 << 10))
}

// CT-21
#[test]
fn names_of_mebibytes_are_no_names() {
    let room = Room::new();
    let escapes = "\x1b".repeat(10 << 20);
    let sites = (1..15).map(|number| {
        Record::Site(Site {
            id: SiteId(number),
            process: ProcessId(1),
            place: Place::Source {
                file: format!("{number}{escapes}"),
                line: 1,
                column: 1,
            },
        })
    });
    room.write("ctp.data", &written(sites));
    let run = room.run(&["--dump"]);
    assert!(run.peak_bytes < 64 * MIB, "{}", run.peak_bytes);
    assert!(!run.stdout.contains("1b}"), "no such site is shown");
}

// CT-21
#[test]
fn names_that_expand_a_thousandfold_are_bounded() {
    let room = Room::new();
    let births = (1..20_000).map(|number| {
        Record::Birth(Birth {
            coroutine: CoroutineId(number),
            name: name(number),
            ..Birth::default()
        })
    });
    let trace = written(births);
    assert!((trace.len() as u64) < 4 * MIB, "{}", trace.len());
    check(&room, &trace);
}

#[test]
fn sites_that_expand_a_thousandfold_are_bounded() {
    let room = Room::new();
    let sites = (1..20_000).map(|number| {
        Record::Site(Site {
            id: SiteId(number),
            process: ProcessId(1),
            place: Place::Function {
                address: 0,
                name: name(number),
            },
        })
    });
    check(&room, &written(sites));
}

#[test]
fn a_million_coroutines_of_a_byte_each_are_bounded() {
    let room = Room::new();
    let events = (1..900_000).map(|number| {
        Record::Event(Event {
            coroutine: CoroutineId(number),
            kind: EventKind::Suspend,
            ..Event::default()
        })
    });
    let trace = written(events);
    assert!((trace.len() as u64) < MIB, "{}", trace.len());
    check(&room, &trace);
}

#[test]
fn numbers_are_no_indices() {
    let room = Room::new();
    let (coroutine, site, process) = (CoroutineId(u32::MAX), SiteId(u32::MAX), ProcessId(u32::MAX));
    let place = Place::Address(u64::MAX);
    let event = |n| Event {
        coroutine,
        n,
        at: Nanos(u64::MAX >> 1),
        tid: u64::MAX,
        kind: EventKind::Suspend,
        site,
        ..Event::default()
    };
    let records = [
        Record::Process(Process {
            id: process,
            pid: u32::MAX,
            attached: Nanos(0),
        }),
        Record::Site(Site {
            id: site,
            process,
            place,
        }),
        Record::Birth(Birth {
            coroutine,
            process,
            station: u32::MAX,
            spawn_site: site,
            ..Birth::default()
        }),
        Record::Event(event(1 << 60)),
        Record::Event(event(u64::MAX)),
    ];
    room.write("ctp.data", &written(records.into_iter()));
    for view in VIEWS.iter().chain(&[
        &["--dump"][..],
        &["--timeline", "-"],
        &["--histogram"],
        &["--html", "-"],
    ]) {
        let run = room.run(view);
        assert_eq!(run.status, Some(0), "{view:?} {run:?}");
        assert!(run.peak_bytes < 64 * MIB, "{view:?} {run:?}");
    }
}

#[test]
fn more_memory_can_be_allowed() {
    let room = Room::new();
    let births = (1..14_000).map(|number| {
        Record::Birth(Birth {
            coroutine: CoroutineId(number),
            name: name(number),
            ..Birth::default()
        })
    });
    room.write("ctp.data", &written(births));
    assert_eq!(room.run(&["--export", "csv"]).status, Some(1));
    let run = room.run(&["--export", "csv", "--max-memory", "4G"]);
    assert_eq!(run.status, Some(0), "{}", run.stderr);
}

#[test]
fn what_is_just_read_leaves_room_for_each_view() {
    let room = Room::new();
    let of = |number| {
        let coroutine = CoroutineId(number);
        let birth = Birth {
            coroutine,
            name: format!("c{number}"),
            ..Birth::default()
        };
        let suspend = Event {
            coroutine,
            kind: EventKind::Suspend,
            ..Event::default()
        };
        [Record::Birth(birth), Record::Event(suspend)]
    };
    let trace = written((1..250_000).flat_map(of));
    room.write("ctp.data", &trace);
    let views: [&[&str]; 3] = [&[], &["--stuck", "--ids"], &["--tree"]];
    for view in views {
        let run = room.run(view);
        let most = 256 * MIB + 2 * trace.len() as u64;
        assert_eq!(run.status, Some(0), "{view:?} {}", run.stderr);
        assert!(
            run.peak_bytes < most,
            "{view:?}: {} > {most}",
            run.peak_bytes
        );
    }
}
