//! What does tracing cost tokio's scheduler where it does nothing else? 64 tasks yield 20 000 times
//! each, on two workers: two events a yield, and with `--features wakers` a wake that is counted.
//! Processor time of the whole program a yield, and the time that passed; those without a recorder
//! and those with one take turns, and so does tokio-console's subscriber (`console/`), where that
//! can be built.

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
        Way::new("as it comes", &[], &me, "--as=plain"),
        Way::new("traced, nobody records", &[], &me, "--as=traced"),
        Way::new("traced, recorded", &recorded, &me, "--as=traced"),
    ];
    if let Some(console) = console() {
        ways.extend([
            Way::new("tokio's own tracing, not heard", &[], &console, ""),
            Way::new("tokio-console's", &[], &console, "--as=subscribed"),
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

/// The same storm under tokio-console, built now: it wants another tokio than everybody else.
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

/// One way to run the storm, and what that took.
struct Way {
    what: &'static str,
    command: Command,
    runs: Vec<Spent>,
}

impl Way {
    /// Of a program with an argument, which other words may come before.
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

/// Runs it, and reads what it says of itself.
fn run(command: &mut Command) -> Spent {
    let output = command.output().expect("it runs");
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
    let end = ends.last().expect("it ended");
    println!(
        "{} events, {} lost, {:.1} B each",
        end.events,
        end.lost,
        bytes.len() as f64 / end.events as f64
    );
}
