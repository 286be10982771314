//! How much of a program at full speed is recorded, and the cost: a single thread emits 10 000 000
//! events of 64 coroutines without a pause, under the recorder with default options.
//!
//! Prints the processor time per event of each recorder thread and of the program, according to the
//! kernel; the program's own time allows a comparison of runs on busy machines. Runs with
//! `--stuck-after` alternate. With `--apart` the program and the recorder have a processor each.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use ctp_benches::{machine, recorder, this_program};
use ctp_nostd::{Task, Wait};
use ctp_trace::Reader;
use ctp_trace::record::Record;
use rustix::fs::{CWD, FileType, Mode, mknodat};

const COROUTINES: u64 = 64;
const ROUNDS: u64 = 78_125;
const EVENTS: u64 = COROUTINES * ROUNDS * 2;
const RUNS: usize = 7;

fn main() {
    let is_given = |what: &str| std::env::args().any(|argument| argument == what);
    if is_given("--as=target") {
        stay_on(0, is_given("--apart"));
        return target();
    }
    let Some(recorder) = recorder() else {
        return;
    };
    let me = this_program();
    stay_on(1, is_given("--apart"));
    for _ in 0..RUNS {
        measure(&recorder, &me, &[]);
        measure(&recorder, &me, &["--stuck-after", "2s"]);
    }
}

/// If requested, restricts this thread and its children to this processor.
fn stay_on(processor: usize, is_requested: bool) {
    if is_requested {
        machine::stay_on(processor).expect("there are two processors");
    }
}

fn target() {
    ctp_nostd::attach();
    let tasks: Vec<Task> = (0..COROUTINES).map(|_| Task::born("hot")).collect();
    for round in 0..ROUNDS {
        for task in &tasks {
            task.run();
        }
        for task in &tasks {
            task.suspend(Wait::user(round % 8));
        }
    }
}

fn measure(recorder: &Path, me: &Path, flags: &[&str]) {
    // With a pipe the recorder cannot read its trace again to print what looks stuck.
    let pipe = std::env::temp_dir().join(format!("ctp-throughput-{}", std::process::id()));
    mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("can be made");
    let own = pipe.clone();
    let reader = std::thread::spawn(move || fs::read(own).expect("is written to"));
    let mut child = Command::new(recorder)
        .args(["-q", "-o"])
        .arg(&pipe)
        .args(flags)
        .arg("--")
        .arg(me)
        .arg("--as=target")
        .args(std::env::args().filter(|argument| argument == "--apart"))
        .stdout(Stdio::null())
        .spawn()
        .expect("can run the recorder");
    let spent = watch(&mut child);
    let trace = reader.join().expect("the trace");
    let (lost, bytes) = (lost_in(&trace), trace.len());
    let each = |ns: u64| ns as f64 / EVENTS as f64;
    let list = spent
        .iter()
        .map(|(subject, ns)| format!("{subject} {:.1} ns", each(*ns)));
    println!(
        "{EVENTS} events{}, {lost} lost ({:.2} %), {:.2} B an event; {}",
        flags
            .iter()
            .map(|flag| format!(" {flag}"))
            .collect::<String>(),
        lost as f64 * 100.0 / EVENTS as f64,
        bytes as f64 / (EVENTS - lost).max(1) as f64,
        list.collect::<Vec<_>>().join(", ")
    );
    fs::remove_file(pipe).expect("was made");
}

/// Processor time in ns of each recorder thread and of the program, from the last sample before each
/// ended.
fn watch(recorder: &mut Child) -> BTreeMap<String, u64> {
    let mut spent = BTreeMap::new();
    let threads = PathBuf::from(format!("/proc/{}/task", recorder.id()));
    while recorder.try_wait().expect("was started here").is_none() {
        for thread in fs::read_dir(&threads).into_iter().flatten().flatten() {
            note(&thread.path(), &mut spent);
            let children = fs::read_to_string(thread.path().join("children"));
            for child in children.unwrap_or_default().split_whitespace() {
                note(&PathBuf::from(format!("/proc/{child}")), &mut spent);
            }
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    spent
}

fn note(thread: &Path, spent: &mut BTreeMap<String, u64>) {
    let name = fs::read_to_string(thread.join("comm"));
    let stat = fs::read_to_string(thread.join("schedstat"));
    if let (Ok(name), Ok(stat)) = (name, stat)
        && let Some(Ok(ns)) = stat.split(' ').next().map(str::parse)
    {
        spent.insert(name.trim().to_owned(), ns);
    }
}

fn lost_in(trace: &[u8]) -> u64 {
    let records = Reader::new(trace).expect("is a trace");
    let ends = records.filter_map(|record| match record {
        Ok(Record::End(end)) => Some(end.lost),
        _ => None,
    });
    ends.last().expect("an end record")
}
