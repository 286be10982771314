//! Reports of stuck coroutines while the program runs. The program provides the expected values.

use std::process::{Child, Command};

use rustix::process::Signal;

use crate::lab::{Lab, fixture, program_of, send, wait_until};

/// A program that has forgotten some of its coroutines, and runs until it is killed.
struct Forgetful {
    lab: Lab,
    recorder: Child,
    program: u32,
}

impl Forgetful {
    fn start(flags: &[&str], count: usize) -> Self {
        let lab = Lab::new();
        let mut command = lab.recorder(flags, fixture("forgetful"));
        let command = command.args(["truth", &count.to_string()]);
        let recorder = command.spawn().expect("can be started");
        let program = program_of(recorder.id());
        lab.wait_for_file("truth");
        Forgetful {
            lab,
            recorder,
            program,
        }
    }

    /// The reports on stuck coroutines so far.
    fn message(&self) -> Vec<String> {
        let text = self.lab.read("stderr");
        let lines = text.lines().filter(|line| line.contains(" stuck at "));
        lines.map(str::to_owned).collect()
    }

    /// The first report.
    fn first_message(&self) -> String {
        wait_until("a line of what is stuck", || !self.message().is_empty());
        self.message().remove(0)
    }

    /// Until so many count as stuck.
    fn wait_for(&self, count: usize) {
        let known = format!("\"stuck\": {count}");
        wait_until(&known, || self.status().contains(&known));
    }

    /// How the recording stands, as JSON.
    fn status(&self) -> String {
        // Not into the files of the recording itself.
        let mut command = Command::new(env!("CARGO_BIN_EXE_ctp-record"));
        let pid = self.program.to_string();
        let output = command.args(["control", &pid, "status", "--json"]).output();
        String::from_utf8(output.expect("can be run").stdout).expect("text")
    }

    fn kill(self) -> (Lab, String) {
        send(Signal::KILL, self.program);
        let outcome = self.lab.outcome(self.recorder);
        (self.lab, outcome.stderr)
    }
}

/// All are stuck at the same site. On a busy machine the program may be stopped during a few waits,
/// which then count as stuck later. The site is reported again only when the number has doubled.
fn is_named_once(message: &str, place: &str, count: usize) {
    let lines = message.lines().filter(|line| line.contains(" stuck at "));
    let counts = lines.map(|line| {
        let (before, after) = line.split_once(" stuck at ").expect("is such a line");
        assert!(after.starts_with(place), "{message}");
        let number = before.rsplit(' ').next().expect("a word");
        number.parse::<usize>().expect("a number")
    });
    let counts: Vec<usize> = counts.collect();
    assert!(
        counts.is_sorted_by(|reported, next| 2 * reported <= *next),
        "{message}"
    );
    let last = counts.last().expect("it is named");
    assert!((1..=count).contains(last), "{message}");
}

fn stuck_coroutines_are_reported_once(flags: &[&str], sure: &str) {
    let flags = [&["--stuck-after", "300ms"], flags].concat();
    let forgetful = Forgetful::start(&flags, 47);
    forgetful.first_message();
    forgetful.wait_for(47);
    let line = forgetful.lab.read("truth");
    let place = format!("ctp-record/examples/forgetful.rs:{line} ({sure}");
    let (_, message) = forgetful.kill();
    is_named_once(&message, &place, 47);
}

// CT-26
#[test]
fn stuck_coroutines_are_reported_once_at_run_time() {
    stuck_coroutines_are_reported_once(&[], "");
}

// CT-26
#[test]
fn totals_and_slots_report_stuck_coroutines() {
    stuck_coroutines_are_reported_once(&["--summary"], "LIKELY, ");
    stuck_coroutines_are_reported_once(&["--buffer", "0"], "LIKELY, ");
}

// CT-26
#[test]
fn flight_recorder_reports_stuck_coroutines() {
    stuck_coroutines_are_reported_once(&["--flight-recorder=64K"], "");
}

// CT-26
#[test]
fn old_closing_is_certain_at_run_time() {
    let forgetful = Forgetful::start(&["--stuck-after", "1.5s"], 3);
    let message = forgetful.first_message();
    assert!(
        message.contains("3 stuck at ") && message.contains("(CERTAIN, for "),
        "{message}"
    );
    forgetful.kill();
}

// CT-26
#[test]
fn program_without_stuck_coroutines_has_no_report() {
    let forgetful = Forgetful::start(&["--stuck-after", "1s"], 0);
    let status = || forgetful.status();
    wait_until("some seconds of it", || {
        let at_ns = status().split("\"at_ns\": ").nth(1).map(str::to_owned);
        let digits = at_ns.as_deref().and_then(|at_n| at_n.split(',').next());
        digits.is_some_and(|digit| digit.parse::<u64>().expect("a number") > 3_000_000_000)
    });
    assert!(status().contains("\"stuck\": 0"), "{}", status());
    let (_, message) = forgetful.kill();
    assert!(!message.contains(" stuck at "), "{message}");
}

// LT-09
#[test]
fn stuck_coroutine_causes_a_single_snapshot() {
    let flags = ["--flight-recorder=1M", "--snapshot-on", "stuck:300ms"];
    let forgetful = Forgetful::start(&flags, 47);
    forgetful.lab.wait_for_file("ctp.data.1");
    let snapshot = crate::trace::Trace::read(&forgetful.lab.path("ctp.data.1"));
    assert!(snapshot.window.is_some_and(|window| window.goes_on));
    let forgotten = snapshot.coroutines.values();
    let forgotten = forgotten.filter(|forgotten| forgotten.birth.name == "forgotten");
    assert_eq!(forgotten.count(), 47);
    let (lab, message) = forgetful.kill();
    is_named_once(&message, "ctp-record/examples/forgetful.rs:", 47);
    let next = "look at it: ctp-report --stuck --threshold 300ms -i ctp.data.1";
    assert!(message.contains(next), "{message}");
    assert!(!lab.path("ctp.data").exists(), "only the requested files");
}
