//! Traces for which a view could need far more memory than the trace: rows, names and proofs for each
//! coroutine, place or group.

use std::fs;
use std::path::Path;

use ctp_trace::Writer;
use ctp_trace::record::*;

use crate::room::{MIB, Room};

/// Every view, and its document in JSON where there is one.
const VIEWS: [&[&str]; 34] = [
    &[],
    &["--verbose"],
    &["--json"],
    &["--stuck"],
    &["--stuck", "--ids"],
    &["--stuck", "--json"],
    &["--tree"],
    &["--tree", "--json"],
    &["--why", "1"],
    &["--why", "--id", "1-30000", "--ids"],
    &["--why", "--id", "1-30000", "--json"],
    &["--histogram"],
    &["--histogram", "--json"],
    &["--last-words", "--json"],
    &["--flame", "-"],
    &["--folded", "-"],
    &["--folded", "-", "--json"],
    &["--timeline", "-"],
    &["--markdown", "-"],
    &["--html", "-"],
    &["--export", "jsonl"],
    &["--export", "chrome"],
    &["--export", "perfetto", "-o", "tracks"],
    &["--export", "firefox"],
    &["--export", "otlp"],
    &["--export", "pprof", "-o", "profile"],
    &["--export", "speedscope"],
    &["--export", "ctf", "-o", "traces"],
    &["--export", "csv-tables", "-o", "tables"],
    &["--check", "stuck>=0,busy>=0s,max(run,site=x)>=0s"],
    &["diff", "ctp.data", "ctp.data"],
    &["diff", "ctp.data", "ctp.data", "--json"],
    &["--dump"],
    &["--dump", "--json"],
];

const PROCESS: ProcessId = ProcessId(1);

/// A trace of so many coroutines, each of which waits at a place of its own.
fn trace(coroutines: u32, place: impl Fn(u32) -> Place) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), &Start::default()).unwrap();
    for number in 1..=coroutines {
        let site = Site {
            id: SiteId(number),
            process: PROCESS,
            place: place(number),
        };
        writer.write(&Record::Site(site)).unwrap();
        for record in coroutine(number) {
            writer.write(&record).unwrap();
        }
    }
    let end = End {
        at: Nanos(9_000_000_000),
        ..End::default()
    };
    writer.finish(&end).unwrap()
}

fn coroutine(number: u32) -> [Record; 3] {
    let coroutine = CoroutineId(number);
    let birth = Birth {
        coroutine,
        process: PROCESS,
        name: format!("task {number}, of many"),
        spawn_site: SiteId(number),
        ..Birth::default()
    };
    let run = Event {
        coroutine,
        n: 1,
        at: Nanos(1000),
        tid: 7,
        kind: EventKind::Run,
        ..Event::default()
    };
    let suspend = Event {
        n: 2,
        kind: EventKind::Suspend,
        site: SiteId(number),
        ..run
    };
    [
        Record::Birth(birth),
        Record::Event(run),
        Record::Event(suspend),
    ]
}

fn line(file: String, line: u32) -> Place {
    let column = 1;
    Place::Source { file, line, column }
}

/// Each view either is written or says that it takes too much.
fn check(trace: &[u8], views: &[&[&str]], allowed: &[&str], most: u64) {
    let room = Room::new();
    room.write("ctp.data", trace);
    for view in views {
        let run = room.run(&[view, allowed].concat());
        assert!(run.peak_bytes < most, "{view:?}: {}", run.peak_bytes);
        match run.status {
            Some(0) => {}
            Some(1) => assert!(run.stderr.contains("--max-memory"), "{view:?} {run:?}"),
            other => panic!("{view:?} {other:?} {}", run.stderr),
        }
    }
}

// CT-21
#[test]
fn each_view_of_long_names_is_bounded() {
    let long = "n".repeat(16 << 10);
    let trace = trace(1200, |number| line(format!("{number}{long}.rs"), number));
    check(&trace, &VIEWS, &["--max-memory", "64M"], 64 * MIB);
}

// CT-21
#[test]
fn names_of_a_mebibyte_are_cut_in_each_view() {
    let long = "n".repeat(1 << 20);
    let function = |number| Place::Function {
        address: 0x1000,
        name: format!("{number}{long}"),
    };
    let of_lines = trace(3, |number| line(format!("{number}{long}.rs"), number));
    for trace in [of_lines, trace(3, function)] {
        let room = Room::new();
        room.write("ctp.data", &trace);
        for view in VIEWS.into_iter().chain([&["--stuck", "--width", "40"][..]]) {
            let run = room.run(view);
            assert_eq!(run.status, Some(0), "{view:?} {}", run.stderr);
            let length = run.stdout.len();
            assert!(length < 1 << 20, "{view:?}: {length} bytes");
        }
        for output in ["tracks", "profile", "traces", "tables"] {
            let length = bytes(&room.path(output));
            assert!((1..1 << 20).contains(&length), "{output}: {length} bytes");
        }
    }
}

/// The size of a file, or of all files in a folder.
fn bytes(path: &Path) -> u64 {
    let metadata = fs::metadata(path).unwrap();
    if metadata.is_file() {
        return metadata.len();
    }
    let entries = fs::read_dir(path).unwrap();
    entries.map(|entry| bytes(&entry.unwrap().path())).sum()
}

// CT-21
#[test]
fn each_view_of_many_groups_is_bounded() {
    let trace = trace(25_000, |number| line("src/main.rs".to_owned(), number));
    check(&trace, &VIEWS, &["--max-memory", "64M"], 64 * MIB);
}

// CT-21
#[test]
fn names_that_grow_when_escaped_are_bounded() {
    let long = "\x1b".repeat(16 << 10);
    let trace = trace(4000, |number| line(format!("{number}{long}.rs"), number));
    let most = 256 * MIB + 2 * trace.len() as u64;
    check(&trace, &[&[], &["--stuck", "--json"]], &[], most);
}

// CT-21
#[test]
fn paths_that_no_file_can_have_are_cut() {
    let long = "/\x1b".repeat(8 << 10);
    let mut writer = Writer::new(Vec::new(), &Start::default()).unwrap();
    for number in 1..4000 {
        let module = Module {
            process: PROCESS,
            start: 0x1000 * number,
            end: 0x1000 * (number + 1),
            path: format!("/{number}{long}").into(),
            ..Module::default()
        };
        writer.write(&Record::Module(module)).unwrap();
    }
    for record in coroutine(1) {
        writer.write(&record).unwrap();
    }
    let trace = writer.finish(&End::default()).unwrap();
    check(
        &trace,
        &[&["--stuck"]],
        &["--max-memory", "128M"],
        128 * MIB,
    );
}
