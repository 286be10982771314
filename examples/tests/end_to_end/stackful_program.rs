//! The program `stackful`, which says which functions call each other in each wait, and the comparison with the
//! recorded call stacks.

use std::collections::{BTreeSet, HashMap};
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use ctp_trace::record::{CoroutineId, CoroutineStack, EventKind, Nanos, Record};
use serde_json::Value;

use crate::support::program;

/// Functions of the program have less code than this.
const CODE_BYTES: u64 = 8 << 10;

/// What the program says of itself.
#[derive(Default)]
pub struct Truth {
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
pub struct Program(Child);

impl Program {
    pub fn start(library: &str, count: u64) -> (Self, Truth) {
        let mut command = Command::new(program("stackful"));
        command.args([library, &count.to_string()]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let truth = Truth::read(child.stdout.take().expect("a pipe"));
        (Program(child), truth)
    }

    pub fn record(&self, directory: &Path, options: &[&str]) {
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
pub struct Recording {
    pub recorder: Child,
    truth: Truth,
}

impl Recording {
    /// Records the program with these arguments.
    pub fn start(directory: &Path, options: &[&str], arguments: &[&str]) -> Self {
        let mut command = Command::new(program("ctp-record"));
        command.args(options).arg("--").arg(program("stackful"));
        command.args(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut recorder = command
            .current_dir(directory)
            .spawn()
            .expect("the recorder starts");
        let truth = Truth::read(recorder.stdout.take().expect("a pipe"));
        Recording { recorder, truth }
    }

    /// The answer to `ctp-record control PID stacks`.
    pub fn read_stacks(&self) -> Value {
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
    pub fn end(mut self, directory: &Path) -> Compared {
        drop(self.recorder.stdin.take());
        let status = self.recorder.wait().expect("was started here");
        assert!(status.success(), "{status}");
        Compared::of(&records(directory), &self.truth)
    }
}

pub fn records(directory: &Path) -> Vec<Record> {
    let bytes = std::fs::read(directory.join("ctp.data")).expect("a trace");
    let reader = ctp_trace::Reader::new(&bytes).expect("a trace");
    reader.map(|record| record.expect("a record")).collect()
}

/// How the stacks in a trace compare with the truth.
#[derive(Debug, Default)]
pub struct Compared {
    pub exact: u64,
    pub moving: u64,
    pub wrong: Vec<String>,
    /// Stacks that do not reach the function with which the coroutine began.
    pub cut: Vec<String>,
    /// The coroutines with an exact stack, by their numbers in the program.
    pub numbers: BTreeSet<u64>,
}

impl Compared {
    pub fn of(records: &[Record], truth: &Truth) -> Self {
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
            _ => self.wrong.push(format!(
                "{stack:x?}: {found:?} is not {wait:?} {expected:?}"
            )),
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

/// The coroutines of which no event is recorded in the second half of a recording, by their numbers in the program.
pub fn stopped_early(records: &[Record]) -> BTreeSet<u64> {
    let (mut latest, mut end) = (HashMap::new(), Nanos::default());
    for record in records {
        if let Record::Event(event) = record
            && event.kind == EventKind::Suspend
        {
            latest.insert(event.coroutine, (event.at, event.arg / 2));
            end = end.max(event.at);
        }
    }
    let numbers = latest.into_values();
    let early = numbers.filter(|(at, _)| at.0 < end.0 / 2);
    early.map(|(_, number)| number).collect()
}
