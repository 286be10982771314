//! The cost of tracing for tokio's scheduler when tasks only yield: 64 tasks yield 20 000 times each,
//! on two workers. Each yield emits two events, and with `--features wakers` a counted wake.
//!
//! Prints the processor time of the whole program and the elapsed time, per yield. Runs without and
//! with a recorder alternate, and with tokio-console's subscriber (`console/`) if that can be built.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ctp_benches::machine::Distance;
use ctp_benches::{recorder, storm, this_program};
use ctp_nostd::TracedExt as _;
use ctp_trace::Reader;
use ctp_trace::record::Record;

const ROUNDS: usize = 7;

fn main() {
    let role =
        std::env::args().find_map(|argument| Some(argument.strip_prefix("--as=")?.to_owned()));
    match role.as_deref() {
        Some("plain") => storm::run(|task| tokio::spawn(task)),
        Some(_) => {
            ctp_nostd::attach();
            storm::run(|task| tokio::spawn(task.traced()));
        }
        None => compare(),
    }
}

fn compare() {
    let Some(recorder) = recorder() else {
        return;
    };
    let me = this_program();
    let trace = std::env::temp_dir().join(format!("ctp-storm-{}", std::process::id()));
    let recorded = [recorder.as_os_str(), "-q".as_ref(), "-o".as_ref()];
    let recorded = [&recorded[..], &[trace.as_ref(), "--".as_ref()]].concat();
    let mut ways = vec![
        Way::new("untraced", &[], &me, "--as=plain"),
        Way::new("traced, not recorded", &[], &me, "--as=traced"),
        Way::new("traced, recorded", &recorded, &me, "--as=traced"),
    ];
    if let Some(console) = console() {
        ways.extend([
            Way::new("tokio's tracing, no subscriber", &[], &console, ""),
            Way::new(
                "tokio-console's subscriber",
                &[],
                &console,
                "--as=subscribed",
            ),
        ]);
    }
    let mut distance = Distance::default();
    for _ in 0..ROUNDS {
        distance.measure();
        ways.iter_mut().for_each(Way::go);
        report_sizes(&trace);
    }
    std::fs::remove_file(&trace).expect("was made");
    distance.report();
    print(&ways);
}

/// Builds the same storm under tokio-console, which needs tokio with other compiler flags.
fn console() -> Option<PathBuf> {
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("console");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--release", "--locked"]);
    cargo.current_dir(&package);
    cargo.env("CARGO_TARGET_DIR", package.join("target"));
    cargo.env("RUSTFLAGS", "--cfg tokio_unstable");
    let is_built = cargo.status().is_ok_and(|status| status.success());
    if !is_built {
        println!("skipped tokio-console: benches/console cannot be built");
    }
    is_built.then(|| package.join("target/release/ctp-benches-console"))
}

/// A way to run the storm, and the times of each run.
struct Way {
    what: &'static str,
    command: Command,
    runs: Vec<Spent>,
}

impl Way {
    /// Runs a program with an argument, below the command `before` if that is not empty.
    fn new(what: &'static str, before: &[&OsStr], program: &Path, argument: &str) -> Self {
        let words: Vec<&OsStr> = before.iter().copied().chain([program.as_ref()]).collect();
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).arg(argument);
        command.stderr(Stdio::inherit());
        Way {
            what,
            command,
            runs: Vec::new(),
        }
    }

    fn go(&mut self) {
        self.runs.push(run(&mut self.command));
    }
}

fn print(ways: &[Way]) {
    println!("ns a yield, medians of {ROUNDS}       processor   more      passed");
    let base = median(&ways[0].runs, |spent| spent.processor);
    for Way { what, runs, .. } in ways {
        let processor = median(runs, |spent| spent.processor);
        println!(
            "{what:<32} {processor:>10.0} {:>6.0} {:>11.0}",
            processor - base,
            median(runs, |spent| spent.passed)
        );
    }
}

/// Nanoseconds a yield.
#[derive(Clone, Copy)]
struct Spent {
    processor: f64,
    passed: f64,
}

fn median(runs: &[Spent], of: impl Fn(&Spent) -> f64) -> f64 {
    let mut all: Vec<f64> = runs.iter().map(of).collect();
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

/// Runs the command, and reads the times that it prints.
fn run(command: &mut Command) -> Spent {
    let output = command.output().expect("can be run");
    let text = String::from_utf8(output.stdout).expect("text");
    let mut numbers = text.split_whitespace().map(|word| word.parse::<f64>());
    let mut next = || numbers.next().expect("a number").expect("a number");
    Spent {
        processor: next(),
        passed: next(),
    }
}

fn report_sizes(trace: &Path) {
    let bytes = std::fs::read(trace).expect("there is a trace");
    let records = Reader::new(&bytes).expect("is a trace");
    let ends = records.filter_map(|record| match record {
        Ok(Record::End(end)) => Some(end),
        _ => None,
    });
    let end = ends.last().expect("an end record");
    println!(
        "{} events, {} lost, {:.1} B each",
        end.events,
        end.lost,
        bytes.len() as f64 / end.events as f64
    );
}
