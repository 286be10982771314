//! Text from a program, wherever it is printed: what a terminal might obey, and what cannot be seen.

use std::fs;

use ctp_trace::Writer;
use ctp_trace::escape::is_unsafe;
use ctp_trace::record::*;

use crate::room::{Room, Run, trace, trace_of};

/// A control sequence, C1, directions, no width, line separators, fillers, and what XML refuses.
const EVIL: &str =
    "x\u{1b}[31m\u{9b}2J\r\n\t\u{7f}\u{202e}\u{2066}\u{200b}\u{2028}\u{3164}\u{34f}\u{fffe}y";

const PROCESS: ProcessId = ProcessId(1);
/// An address in the module.
const ADDRESS: u64 = 0x1800;

/// The same with a character that names of files and arguments cannot have.
fn evil() -> String {
    format!("\0{EVIL}")
}

/// A trace of three coroutines with such text in every field that can hold text.
fn evil_trace(module: &str) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), &evil_start()).unwrap();
    let coroutines = (1..=3).flat_map(evil_coroutine);
    for record in process(module).chain(evil_sites()).chain(coroutines) {
        writer.write(&record).unwrap();
    }
    let end = End {
        at: Nanos(9_000_000_000),
        coroutines: 3,
        events: 9,
        ..End::default()
    };
    writer.finish(&end).unwrap()
}

fn evil_start() -> Start {
    Start {
        recorder: evil(),
        host: evil(),
        argv: vec![
            EVIL.into(),
            format!("-{EVIL}").into(),
            b"\xff\0\x1b[2J".to_vec(),
        ],
        ..Start::default()
    }
}

/// A process with this file mapped.
fn process(module: &str) -> impl Iterator<Item = Record> {
    let process = Process {
        id: PROCESS,
        pid: 7,
        attached: Nanos(0),
    };
    let module = Module {
        process: PROCESS,
        start: 0x1000,
        end: 0x2000,
        path: module.into(),
        build_id: vec![1, 2],
        ..Module::default()
    };
    [Record::Process(process), Record::Module(module)].into_iter()
}

/// Sites 1 to 3: a source line, a function, and an address.
fn evil_sites() -> impl Iterator<Item = Record> {
    let line = Place::Source {
        file: format!("src/{}.rs", evil()),
        line: 1,
        column: 1,
    };
    let function = Place::Function {
        address: ADDRESS,
        name: format!("f::{}", evil()),
    };
    let places = [line, function, Place::Address(ADDRESS)];
    (1..).map(SiteId).zip(places).map(|(id, place)| {
        let process = PROCESS;
        Record::Site(Site { id, process, place })
    })
}

/// The birth of a coroutine and its first events; it waits at the site of its own number.
fn evil_coroutine(number: u32) -> impl Iterator<Item = Record> {
    let coroutine = CoroutineId(number);
    let birth = Birth {
        coroutine,
        process: PROCESS,
        name: format!("{}{number}", evil()),
        spawn_site: SiteId(number % 3 + 1),
        ..Birth::default()
    };
    let kinds = [EventKind::Birth, EventKind::Run, EventKind::Suspend];
    let events = (0..).zip(kinds).map(move |(n, kind)| {
        Record::Event(Event {
            coroutine,
            n: n + 1,
            at: Nanos(1000 * n),
            tid: 7,
            kind,
            site: SiteId(number),
            ..Event::default()
        })
    });
    [Record::Birth(birth)].into_iter().chain(events)
}

fn assert_safe(what: &str, text: &str) {
    let unsafe_at = text.find(|c| c != '\n' && is_unsafe(c));
    assert_eq!(unsafe_at, None, "{what}: {text:?}");
}

fn assert_run_safe(args: &[&str], run: &Run) {
    assert_safe(&format!("{args:?} out"), &run.stdout);
    assert_safe(&format!("{args:?} err"), &run.stderr);
}

// CT-19
#[test]
fn no_view_prints_control_characters() {
    let room = Room::new();
    let module = room.write(&format!("m{}", EVIL.replace('\n', "")), b"no program");
    room.write("ctp.data", &evil_trace(module.to_str().unwrap()));
    let views: [&[&str]; 26] = [
        &[],
        &["--json"],
        &["--width", "40"],
        &["--stuck", "--json"],
        &["--stuck", "--width", "40"],
        &["--tree", "--json"],
        &["--tree", "--width", "40"],
        &["--why", "--id", "1-3"],
        &["--why", "--id", "1-3", "--json"],
        &["--last-words", "--json"],
        &["--export", "chrome"],
        &["--verbose"],
        &["--stuck"],
        &["--stuck", "--verbose", "--ids"],
        &["--tree"],
        &["--why", "1"],
        &["--last-words"],
        &["--histogram"],
        &["--check", "stuck>=0,busy>=0s", "--verbose"],
        &["diff", "ctp.data", "ctp.data"],
        &["--dump"],
        &["--flame", "-"],
        &["--folded", "-"],
        &["--timeline", "-"],
        &["--markdown", "-"],
        &["--html", "-"],
    ];
    for view in views {
        let run = room.run(view);
        assert_eq!(run.status, Some(0), "{view:?} {run:?}");
        assert!(run.stdout.contains("\\u{1b}[31m"), "{view:?} {run:?}");
        assert_run_safe(view, &run);
    }
}

#[test]
fn titles_of_charts_are_text() {
    let room = Room::new();
    room.write("ctp.data", &evil_trace("/none"));
    for view in ["--flame", "--timeline", "--html"] {
        let args = [view, "-", "--title", EVIL];
        assert_run_safe(&args, &room.run(&args));
    }
}

#[test]
fn no_message_prints_control_characters() {
    let room = Room::new();
    let evil = EVIL.replace('/', "");
    let whole = trace_of(Vec::new());
    fs::create_dir(room.path(&format!("d{evil}"))).unwrap();
    room.write(&format!("t{evil}"), &whole);
    room.write(&format!("b{evil}"), b"\x1b]0;title\x07");
    room.write("ctp.data", &whole);
    let (directory, bad) = (format!("d{evil}"), format!("b{evil}"));
    let (good, output) = (format!("t{evil}"), format!("o{evil}"));
    let runs: [&[&str]; 11] = [
        &["-i", &evil],
        &["-i", &directory],
        &["-i", &bad],
        &["-i", &good],
        &["-i", &good, "--run", "1"],
        &["--flame", &output],
        &["--timeline", &output],
        &["--export", "chrome", "-o", &output],
        &["--export", "jsonl", "-o", &directory],
        &["--sort", &evil],
        &[&evil, &evil],
    ];
    for args in runs {
        let run = room.run(args);
        assert!(!(run.stdout + &run.stderr).is_empty(), "{args:?}");
        assert_run_safe(args, &room.run(args));
    }
}

#[test]
fn colours_of_our_own_stay() {
    let room = Room::new();
    let place = Place::Source {
        file: format!("{EVIL}.rs"),
        line: 1,
        column: 1,
    };
    room.write("ctp.data", &trace(Vec::new(), EVIL, place));
    let run = room.run(&["--stuck", "--color", "always"]);
    assert!(run.stdout.contains("\u{1b}[1m"), "{run:?}");
    assert_safe("but for colours", &without_colours(&run.stdout));
}

fn without_colours(text: &str) -> String {
    let mut parts = text.split('\u{1b}');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once('m').unwrap().1)
}
