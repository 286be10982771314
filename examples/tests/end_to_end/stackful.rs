//! The call stacks of coroutines with stacks of their own, read while the coroutines run. The program says which
//! functions call each other in each wait.

use std::fs::read_dir;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use ctp_trace::record::{Nanos, Record};
use serde_json::Value;
use tempfile::tempdir;

use crate::stackful_program::{Compared, Program, Recording, records, stopped_early};
use crate::support::{program, record, report, report_json};

/// One of this many coroutines runs only once, as in the program.
const SILENT: u64 = 100;
/// Stacks of waits of this length are read in any case.
const SCANNED_AFTER: Nanos = Nanos(1_000_000_000);
/// How often a recording is tried again because the machine was slow.
const TRIES: usize = 5;

/// Compares all stacks, which reach the functions with which the coroutines began.
fn stacks_are_those_of_the_program(library: &str, count: u64) {
    let compared = exact_stacks(library, count);
    assert_eq!(compared.cut.first(), None, "of {}", compared.exact);
}

/// How long programs are recorded, in seconds. If the machine was too slow to read all stacks, the next time counts.
const RECORDING_SECONDS: [u64; 3] = [3, 15, 60];

/// The times for recordings. `CTP_STACKS_SECONDS` replaces them, for slow machines.
fn recording_times() -> Vec<u64> {
    match std::env::var("CTP_STACKS_SECONDS") {
        Ok(seconds) => vec![seconds.parse().expect("a number of seconds")],
        Err(_) => RECORDING_SECONDS.to_vec(),
    }
}

/// Records the program while it runs, and compares its stacks: none is wrong or missing.
fn exact_stacks(library: &str, count: u64) -> Compared {
    for seconds in recording_times() {
        let directory = tempdir().expect("room");
        // A process can be recorded only once.
        let (program, truth) = Program::start(library, count);
        program.record(directory.path(), &["-d", &format!("{seconds}s")]);
        let records = records(directory.path());
        let compared = Compared::of(&records, &truth);
        assert_no_stack_is_wrong(&compared);
        let mut lost = stopped_early(&records).into_iter();
        assert_eq!(lost.find(|number| !number.is_multiple_of(SILENT)), None);
        // A coroutine that waits since before the recording is not recorded.
        let recorded = (0..count).filter(|number| !number.is_multiple_of(SILENT));
        let missing = recorded.filter(|number| !compared.numbers.contains(number));
        if missing.count() as u64 * 1000 <= count {
            return compared;
        }
    }
    panic!("stacks of {library} are missing");
}

fn assert_no_stack_is_wrong(compared: &Compared) {
    let Compared { exact, moving, .. } = *compared;
    let wrong = compared.wrong.len();
    assert_eq!(compared.wrong.first(), None, "{wrong} wrong, {exact} exact");
    assert!(
        moving * 1000 <= exact + moving,
        "{moving} of {exact} moving"
    );
}

// STB-04, STB-12
#[test]
fn stacks_of_ten_thousand_coroutines_are_exact() {
    stacks_are_those_of_the_program("corosensei", 10_000);
}

// STB-04, STB-20
#[test]
fn stacks_of_contexts_of_the_c_library_are_exact() {
    stacks_are_those_of_the_program("ucontext", 1_000);
}

// STB-04, STB-20
#[test]
fn stacks_of_generators_are_exact() {
    stacks_are_those_of_the_program("generator", 1_000);
}

// STB-04, STB-20
#[test]
fn stacks_of_coroutines_of_may_are_exact() {
    stacks_are_those_of_the_program("may", 1_000);
}

// STB-04
#[test]
fn stacks_of_boost_context_are_exact() {
    let Some(library) = boost_context() else {
        return eprintln!("skipped: no libboost_context.so in {LIBRARY_FOLDERS:?}");
    };
    let compared = exact_stacks(&library, 1_000);
    // Boost's first function has no unwind information, so no stack counts as whole.
    assert_eq!(compared.cut.len() as u64, compared.exact);
}

/// Where systems keep their shared libraries.
const LIBRARY_FOLDERS: [&str; 4] = [
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
];

/// The path of the shared library of Boost.Context, of any version.
fn boost_context() -> Option<String> {
    let folders = LIBRARY_FOLDERS
        .iter()
        .filter_map(|folder| read_dir(folder).ok());
    let paths = folders
        .flatten()
        .filter_map(|entry| entry.ok()?.path().into_os_string().into_string().ok());
    paths
        .into_iter()
        .find(|path| path.contains("/libboost_context.so"))
}

// STB-04, STB-20
#[test]
fn command_reads_the_stacks_of_all_waiting_coroutines() {
    let directory = tempdir().expect("room");
    let recording = Recording::start(directory.path(), &["-q"], &["corosensei", "300"]);
    let mut answer = recording.read_stacks();
    // The coroutines may not have run yet.
    while answer["stacks"].as_u64() < Some(100) {
        answer = recording.read_stacks();
    }
    let read = answer["stacks"].as_u64().expect("a number");
    let compared = recording.end(directory.path());
    assert_eq!(compared.wrong, [] as [String; 0]);
    assert!(read <= compared.exact, "{answer} {}", compared.exact);
    // The stacks of coroutines that run again and again are read by the command only.
    let running = compared.numbers.iter();
    assert!(
        100 <= running
            .filter(|number| !number.is_multiple_of(SILENT))
            .count()
    );
}

#[test]
fn flight_recorder_refuses_to_read_stacks() {
    let directory = tempdir().expect("room");
    let options = ["-q", "--flight-recorder"];
    let recording = Recording::start(directory.path(), &options, &["corosensei", "10"]);
    let mut command = Command::new(program("ctp-record"));
    command.args(["control", &recording.recorder.id().to_string(), "stacks"]);
    let output = command.output().expect("the client runs");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        message.contains("a flight recorder reads no stacks"),
        "{message}"
    );
    assert_eq!(recording.end(directory.path()).exact, 0);
}

/// Whether any stack was read before the scan for waits of a second reads it.
fn has_early_stack(records: &[Record]) -> bool {
    let mut stacks = records.iter().filter_map(|record| match record {
        Record::CoroutineStack(stack) => Some(stack),
        _ => None,
    });
    stacks.any(|stack| stack.at.0 - stack.since.0 < SCANNED_AFTER.0)
}

// STB-04
#[test]
fn stack_is_read_when_a_stuck_coroutine_is_reported() {
    let is_early = (0..TRIES).any(|_| {
        let directory = tempdir().expect("room");
        let options = ["-q", "--stuck-after", "200ms"];
        let recording = Recording::start(directory.path(), &options, &["corosensei", "300"]);
        sleep(Duration::from_millis(1500));
        recording.end(directory.path());
        has_early_stack(&records(directory.path()))
    });
    assert!(is_early);
}

// STB-25
#[test]
fn coroutine_that_waits_for_long_has_a_call_stack() {
    let directory = tempdir().expect("room");
    let recorded = record(directory.path(), "stackful", &["corosensei", "300", "4"]);
    assert!(recorded.status.success(), "{recorded:?}");
    let json = report_json(directory.path(), &["--stacks"]);
    let tasks = json["tasks"].as_array().expect("tasks");
    let coroutines: Vec<&Value> = tasks
        .iter()
        .filter(|task| task["kind"] == "coroutine" && task["state"] == "waiting")
        .collect();
    // Numbers 0, 100 and 200 run only once.
    assert_eq!(coroutines.len(), 3, "{json}");
    let expected = [
        "wait_here",
        "even",
        "digit_0",
        "digit_2",
        "digit_0",
        "digit_0",
        "session",
    ];
    let is_200 = |coroutine: &&&Value| functions(coroutine)[..7] == expected;
    let found = coroutines.iter().find(is_200);
    let found = found.unwrap_or_else(|| panic!("{json}"));
    assert_eq!(found["whole"], true);
    let innermost = &found["frames"][0];
    let file = innermost["file"].as_str().unwrap_or_default();
    assert!(file.ends_with("chain.rs"), "{innermost}");
    assert!(innermost["line"].as_u64().is_some_and(|line| 0 < line));
    let id = found["id"].as_u64().expect("an id").to_string();
    let page = report(directory.path(), &["--stacks", &id]);
    let page = String::from_utf8_lossy(&page.stdout).into_owned();
    assert!(
        page.contains("1 coroutine  session: waiting for "),
        "{page}"
    );
    assert!(page.contains("#0  stackful::chain::wait_here"), "{page}");
}

/// The functions of a coroutine that are not inlined, without their module.
fn functions(coroutine: &Value) -> Vec<&str> {
    let frames = coroutine["frames"].as_array().expect("frames").iter();
    let frames = frames.filter(|frame| frame["inlined"] == false);
    let functions = frames.map(|frame| frame["function"].as_str().unwrap_or_default());
    functions
        .map(|function| function.rsplit("::").next().unwrap_or_default())
        .collect()
}

#[test]
fn place_of_a_stuck_coroutine_is_its_call_stack() {
    let directory = tempdir().expect("room");
    record(directory.path(), "stackful", &["corosensei", "300", "4"]);
    let page = report(directory.path(), &["--stuck"]);
    let page = String::from_utf8_lossy(&page.stdout).into_owned();
    let (_, stack) = page
        .split_once("  stack of id ")
        .unwrap_or_else(|| panic!("{page}"));
    assert!(stack.contains("stackful::chain::wait_here"), "{page}");
    assert!(stack.contains("stackful::chain::session"), "{page}");
}

// STB-05
#[test]
fn running_coroutine_has_the_stack_of_the_thread() {
    let directory = tempdir().expect("room");
    let recorded = record(directory.path(), "stackful", &["blocked", "1", "4"]);
    assert!(recorded.status.success(), "{recorded:?}");
    let page = report(directory.path(), &["--stuck"]);
    let page = String::from_utf8_lossy(&page.stdout).into_owned();
    let (coroutine, stack) = page
        .split_once("  stack of tid ")
        .unwrap_or_else(|| panic!("{page}"));
    let tid = stack.split(' ').next().expect("a thread");
    assert!(coroutine.contains("as blocker"), "{page}");
    assert!(
        coroutine.contains(&format!("keeps        tid {tid}\n")),
        "{page}"
    );
    for function in ["block_here", "serve"] {
        let name = format!("stackful::blocked::{function} ");
        assert!(stack.contains(&name), "{page}");
    }
}
