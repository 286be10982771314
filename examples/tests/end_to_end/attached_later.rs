//! `ctp-record -p` on a program with a probe that started without a recorder.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use ctp_trace::record::{Birth, End, Record};
use tempfile::{TempDir, tempdir};

use crate::support::{program, report_json};

/// The program, running. It is killed when this is dropped.
struct Program(Child);

impl Program {
    fn start() -> Self {
        let mut command = Command::new(program("attached_later"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut program = Program(command.spawn().expect("the program starts"));
        assert_eq!(program.line(), "ready\n");
        program
    }

    fn line(&mut self) -> String {
        let output = self.0.stdout.as_mut().expect("a pipe");
        let mut line = String::new();
        // The program writes nothing more before it is asked.
        BufReader::with_capacity(1, output)
            .read_line(&mut line)
            .expect("the program answers");
        line
    }

    /// How many requests the program has spawned while it was recorded.
    fn spawned(&mut self) -> u64 {
        let input = self.0.stdin.as_mut().expect("a pipe");
        writeln!(input).expect("the program reads");
        self.line().trim().parse().expect("a number")
    }

    fn is_alive(&mut self) -> bool {
        self.0.try_wait().expect("a child").is_none()
    }

    fn record(&self, directory: &TempDir, options: &[&str]) -> Child {
        let mut command = Command::new(program("ctp-record"));
        let pid = self.0.id().to_string();
        command.args(["-p", &pid]).args(options);
        command
            .current_dir(directory.path())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the recorder starts")
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits for a recorder. Returns what it prints.
fn finish(mut recorder: Child) -> String {
    let mut printed = String::new();
    let mut errors = recorder.stderr.take().expect("a pipe");
    errors.read_to_string(&mut printed).expect("text");
    let status = recorder.wait().expect("a child");
    assert!(status.success(), "{printed}");
    printed
}

fn records(directory: &Path) -> Vec<Record> {
    let bytes = std::fs::read(directory.join("ctp.data")).expect("a trace");
    let reader = ctp_trace::Reader::new(&bytes).expect("a trace");
    reader.map(|record| record.expect("a record")).collect()
}

fn births(records: &[Record]) -> Vec<&Birth> {
    let births = records.iter().filter_map(|record| match record {
        Record::Birth(birth) => Some(birth),
        _ => None,
    });
    births.collect()
}

fn end(records: &[Record]) -> &End {
    match records.last() {
        Some(Record::End(end)) => end,
        last => panic!("no end: {last:?}"),
    }
}

// CT-23
#[test]
fn running_program_is_recorded_from_then_on() {
    let (directory, mut program) = (tempdir().expect("room"), Program::start());
    let recorder = program.record(&directory, &["-d", "3s"]);
    thread::sleep(Duration::from_millis(2_500));
    let during = program.spawned();
    let printed = finish(recorder);
    let after = program.spawned();
    assert!(program.is_alive());
    let records = records(directory.path());
    assert_eq!(end(&records).lost, 0, "{printed}");
    let births = births(&records);
    let named = |name: &str| {
        births
            .iter()
            .filter(|birth| birth.name.contains(name))
            .count() as u64
    };
    assert!(0 < during, "{printed}");
    // A request may be spawned just before the program counts it.
    assert!(
        (during..=after + 1).contains(&named("request")),
        "{printed}"
    );
    let before = births.iter().filter(|birth| birth.lived_before);
    // A request that was spawned before may still have run.
    let before = before.filter(|birth| !birth.name.contains("request"));
    let mut before: Vec<_> = before.map(|birth| birth.name.as_str()).collect();
    before.sort_unstable();
    let ticker = "attached_later::tick::{{closure}}";
    // Two coroutines that are resumed, and three that hand over to each other.
    let expected = ["", "", "", "", "", ticker, ticker, ticker];
    assert_eq!(before, expected, "{printed}");
}

// CT-23
#[test]
fn coroutine_that_never_runs_again_is_inspected() {
    let (directory, program) = (tempdir().expect("room"), Program::start());
    finish(program.record(&directory, &["-d", "3s"]));
    let json = report_json(directory.path(), &["--stacks"]);
    let tasks = json["tasks"].as_array().expect("tasks").iter();
    // Three tickers, four silent tasks, and the server. Requests come and go.
    let tasks = tasks.filter(|task| task["kind"] == "tokio");
    let count: u64 = tasks.filter_map(|task| task["count"].as_u64()).sum();
    assert!((8..=9).contains(&count), "{json}");
}

// CT-23
#[test]
fn program_is_recorded_once_and_only_on_request() {
    let (directory, mut program) = (tempdir().expect("room"), Program::start());
    finish(program.record(&directory, &["--no-attach", "--inspections", "1"]));
    assert_eq!(births(&records(directory.path())), [] as [&Birth; 0]);
    assert_eq!(program.spawned(), 0);
    finish(program.record(&directory, &["-d", "1s"]));
    assert_ne!(program.spawned(), 0);
    let printed = finish(program.record(&directory, &["--inspections", "1"]));
    assert!(printed.contains("has tried to attach before"), "{printed}");
}
