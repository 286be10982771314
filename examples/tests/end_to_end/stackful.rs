//! The call stacks of coroutines with stacks of their own, read while the coroutines run. The program says which
//! functions call each other in each wait.

use std::collections::{BTreeSet, HashMap};
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use ctp_trace::record::{CoroutineId, CoroutineStack, EventKind, Nanos, Record};
use serde_json::Value;
use tempfile::tempdir;

use crate::support::{program, record, report, report_json};

/// Functions of the program have less code than this.
const CODE_BYTES: u64 = 8 << 10;
/// One of this many coroutines runs only once, as in the program.
const SILENT: u64 = 100;
/// Stacks of waits of this length are read in any case.
const SCANNED_AFTER: Nanos = Nanos(1_000_000_000);
/// How often a recording is tried again because the machine was slow.
const TRIES: usize = 5;

/// What the program says of itself.
#[derive(Default)]
struct Truth {
    /// Its functions by address.
    functions: Vec<(u64, String)>,
    /// The functions of each wait, innermost first.
    waits: HashMap<u64, Vec<String>>,
}

impl Truth {
    /// Reads until the program is ready.
    fn read(output: ChildStdout) -> Self {
        let mut truth = Truth::default();
        let lines = BufReader::new(output)
            .lines()
            .map(|line| line.expect("text"));
        lines
            .take_while(|line| line != "ready")
            .for_each(|line| truth.add(&line));
        truth.functions.sort_unstable();
        truth
    }

    fn add(&mut self, line: &str) {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["function", name, address] => {
                let address = address.parse().expect("an address");
                self.functions.push((address, name.to_owned()));
            }
            ["wait", number, ref names @ ..] => {
                let names = names.iter().map(|name| (*name).to_owned()).collect();
                self.waits.insert(number.parse().expect("a number"), names);
            }
            _ => panic!("{line}"),
        }
    }

    fn function(&self, address: u64) -> &str {
        let after = self
            .functions
            .partition_point(|(start, _)| *start <= address);
        match self.functions[..after].last() {
            Some((start, name)) if address - start < CODE_BYTES => name,
            _ => "another",
        }
    }
}

/// The program, running. It is killed when this is dropped.
struct Program(Child);

impl Program {
    fn start(library: &str, count: u64) -> (Self, Truth) {
        let mut command = Command::new(program("stackful"));
        command.args([library, &count.to_string()]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let truth = Truth::read(child.stdout.take().expect("a pipe"));
        (Program(child), truth)
    }

    fn record(&self, directory: &Path, options: &[&str]) {
        let mut command = Command::new(program("ctp-record"));
        let pid = self.0.id().to_string();
        command.args(["-p", &pid]).args(options);
        let output = command
            .current_dir(directory)
            .output()
            .expect("the recorder runs");
        assert!(output.status.success(), "{output:?}");
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A recording of the program, which ends when standard input is closed.
struct Recording {
    recorder: Child,
    truth: Truth,
}

impl Recording {
    fn start(directory: &Path, options: &[&str], count: u64) -> Self {
        let mut command = Command::new(program("ctp-record"));
        command.args(options).arg("--").arg(program("stackful"));
        command.args(["corosensei", &count.to_string()]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut recorder = command
            .current_dir(directory)
            .spawn()
            .expect("the recorder starts");
        let truth = Truth::read(recorder.stdout.take().expect("a pipe"));
        Recording { recorder, truth }
    }

    /// The answer to `ctp-record control PID stacks`.
    fn read_stacks(&self) -> Value {
        let mut command = Command::new(program("ctp-record"));
        command.args([
            "control",
            &self.recorder.id().to_string(),
            "stacks",
            "--json",
        ]);
        let output = command.output().expect("the client runs");
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice(&output.stdout).expect("JSON")
    }

    /// Ends the program, and compares the recorded stacks with what the program says.
    fn end(mut self, directory: &Path) -> Compared {
        drop(self.recorder.stdin.take());
        let status = self.recorder.wait().expect("was started here");
        assert!(status.success(), "{status}");
        Compared::of(&records(directory), &self.truth)
    }
}

fn records(directory: &Path) -> Vec<Record> {
    let bytes = std::fs::read(directory.join("ctp.data")).expect("a trace");
    let reader = ctp_trace::Reader::new(&bytes).expect("a trace");
    reader.map(|record| record.expect("a record")).collect()
}

/// How the stacks in a trace compare with the truth.
#[derive(Debug, Default)]
struct Compared {
    exact: u64,
    moving: u64,
    wrong: Vec<String>,
    /// Stacks that do not reach the function with which the coroutine began.
    cut: Vec<String>,
    /// The coroutines with an exact stack, by their numbers in the program.
    numbers: BTreeSet<u64>,
}

impl Compared {
    fn of(records: &[Record], truth: &Truth) -> Self {
        let waits = waits(records);
        let mut compared = Compared::default();
        for record in records {
            if let Record::CoroutineStack(stack) = record {
                compared.add(stack, &waits, truth);
            }
        }
        compared
    }

    fn add(
        &mut self,
        stack: &CoroutineStack,
        waits: &HashMap<(CoroutineId, Nanos), u64>,
        truth: &Truth,
    ) {
        if stack.is_moving {
            self.moving += 1;
            return;
        }
        let wait = waits.get(&(stack.coroutine, stack.since));
        let expected = wait.and_then(|wait| truth.waits.get(wait));
        let found = stack.addresses.iter();
        let found: Vec<&str> = found.map(|address| truth.function(*address)).collect();
        match (wait, expected) {
            (Some(wait), Some(names)) if found.iter().take(names.len()).eq(names) => {
                self.exact += 1;
                if !stack.is_whole {
                    self.cut.push(format!("{:x?} {found:?}", stack.addresses));
                }
                self.numbers.insert(wait / 2);
            }
            _ => self
                .wrong
                .push(format!("{found:?} is not {wait:?} {expected:?}")),
        }
    }
}

/// The number of each wait, by its coroutine and its begin.
fn waits(records: &[Record]) -> HashMap<(CoroutineId, Nanos), u64> {
    let events = records.iter().filter_map(|record| match record {
        Record::Event(event) if event.kind == EventKind::Suspend => Some(event),
        _ => None,
    });
    events
        .map(|event| ((event.coroutine, event.at), event.arg))
        .collect()
}

fn stacks_are_those_of_the_program(library: &str, count: u64) {
    let directory = tempdir().expect("room");
    let (program, truth) = Program::start(library, count);
    program.record(directory.path(), &["-d", "3s"]);
    let compared = Compared::of(&records(directory.path()), &truth);
    let Compared { exact, moving, .. } = compared;
    assert_eq!(compared.wrong, [] as [String; 0], "{exact} exact");
    assert!(
        moving * 1000 <= exact + moving,
        "{moving} of {exact} moving"
    );
    assert_eq!(compared.cut, [] as [String; 0], "of {exact}");
    // A coroutine that waits since before the recording is not recorded.
    let recorded = (0..count).filter(|number| !number.is_multiple_of(SILENT));
    let missing = recorded.filter(|number| !compared.numbers.contains(number));
    assert!(missing.count() as u64 * 1000 <= count, "{exact} exact");
}

// STB-04, STB-12
#[test]
fn stacks_of_ten_thousand_coroutines_are_exact() {
    stacks_are_those_of_the_program("corosensei", 10_000);
}

// STB-04
#[test]
fn stacks_of_contexts_of_the_c_library_are_exact() {
    stacks_are_those_of_the_program("ucontext", 1_000);
}

// STB-04
#[test]
fn stacks_of_generators_are_exact() {
    stacks_are_those_of_the_program("generator", 1_000);
}

// STB-04
#[test]
fn command_reads_the_stacks_of_all_waiting_coroutines() {
    let directory = tempdir().expect("room");
    let recording = Recording::start(directory.path(), &["-q"], 300);
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
    let recording = Recording::start(directory.path(), &options, 10);
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
        let recording = Recording::start(directory.path(), &options, 300);
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
