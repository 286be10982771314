//! Measures how the recorder reads call stacks of coroutines: first of 10 000 coroutines that wait, then of coroutines that
//! are resumed all the time, with and without `--no-freeze`.
//!
//! For the first, prints the time of `ctp-record control PID stacks`, and that of `status` for comparison. For the others,
//! prints how many stacks were read, and how long the runs of the coroutines took at most.
//! `cargo build --release -p ctp-record && cargo bench -p ctp-benches --bench stacks`

use std::hint::black_box;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, Yielder};
use ctp_benches::{recorder, this_program};
use ctp_nostd::{Task, Wait};

/// The number of coroutines that wait.
const WAITING: usize = 10_000;
/// The number of threads that each resume a coroutine all the time.
const THREADS: usize = 2;
/// The number of functions on each stack.
const DEPTH: u32 = 10;
const STACK_BYTES: usize = 16 << 10;
/// The number of commands while coroutines wait.
const COMMANDS: usize = 21;
/// The number of commands while coroutines are resumed all the time.
const COMMANDS_IN_A_LOOP: usize = 200;
/// Shorter runs are not listed.
const LONG_RUN: Duration = Duration::from_micros(5);

fn main() {
    let role =
        std::env::args().find_map(|argument| Some(argument.strip_prefix("--as=")?.to_owned()));
    match role.as_deref() {
        Some("waiting") => keep_waiting(),
        Some("resumed") => resume_all_the_time(),
        Some(other) => panic!("no such role: {other}"),
        None => measure(),
    }
}

/// Waits repeatedly, below this many functions on the stack.
#[inline(never)]
fn descend(task: &Task, yielder: &Yielder<(), ()>, depth: u32) {
    if depth == 0 {
        task.suspend_with_stack(Wait::to_yield());
        yielder.suspend(());
    } else {
        descend(task, yielder, depth - 1);
    }
    black_box(depth);
}

/// Starts a coroutine, and returns it at its first wait, with its trace.
fn start() -> (&'static Task, Coroutine<(), (), ()>) {
    let task: &'static Task = Box::leak(Box::new(Task::born("waits")));
    let stack = DefaultStack::new(STACK_BYTES).expect("memory for a stack");
    let mut coroutine = Coroutine::with_stack(stack, move |yielder: &Yielder<(), ()>, ()| {
        loop {
            descend(task, yielder, DEPTH);
        }
    });
    task.run();
    coroutine.resume(());
    (task, coroutine)
}

fn keep_waiting() {
    ctp_nostd::attach();
    let coroutines: Vec<_> = (0..WAITING).map(|_| start()).collect();
    println!("ready");
    await_end();
    black_box(&coroutines);
    std::process::exit(0);
}

fn await_end() {
    let stdin = std::io::stdin().lock().read_to_end(&mut Vec::new());
    stdin.expect("can be read");
}

/// Resumes coroutines until the input ends, and then prints the long runs, in nanoseconds.
fn resume_all_the_time() {
    ctp_nostd::attach();
    let is_over = Arc::new(AtomicBool::new(false));
    let threads: Vec<_> = (0..THREADS)
        .map(|_| {
            let is_over = Arc::clone(&is_over);
            thread::spawn(move || long_runs(&is_over))
        })
        .collect();
    println!("ready");
    await_end();
    is_over.store(true, Ordering::Relaxed);
    for thread in threads {
        for run in thread.join().expect("no panic") {
            println!("{}", run.as_nanos());
        }
    }
    std::process::exit(0);
}

/// Resumes a coroutine until `is_over`. Returns the durations of long calls of `Task::run`, in which a run waits for a
/// copy of the stack.
fn long_runs(is_over: &AtomicBool) -> Vec<Duration> {
    let (task, mut coroutine) = start();
    let mut long = Vec::new();
    while !is_over.load(Ordering::Relaxed) {
        let begin = Instant::now();
        task.run();
        let took = begin.elapsed();
        if LONG_RUN <= took {
            long.push(took);
        }
        coroutine.resume(());
    }
    std::mem::forget(coroutine);
    long
}

/// A recorder, and a role of this file that it records.
struct Recording {
    recorder: Child,
    output: BufReader<ChildStdout>,
    tool: PathBuf,
}

impl Recording {
    fn start(tool: &Path, trace: &Path, options: &[&str], role: &str) -> Self {
        let mut command = Command::new(tool);
        command.args(["-q", "-o"]).arg(trace).args(options);
        command.arg("--").arg(this_program()).arg(role);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut recorder = command.spawn().expect("the recorder runs");
        let mut output = BufReader::new(recorder.stdout.take().expect("a pipe"));
        let mut line = String::new();
        output.read_line(&mut line).expect("text");
        assert_eq!(line, "ready\n");
        Recording {
            recorder,
            output,
            tool: tool.to_owned(),
        }
    }

    /// Sends a command. Returns the answer, and the time that the command took.
    fn control(&self, word: &str) -> (String, Duration) {
        let mut command = Command::new(&self.tool);
        command.args(["control", &self.recorder.id().to_string(), word, "--json"]);
        let begin = Instant::now();
        let output = command.output().expect("the client runs");
        let took = begin.elapsed();
        assert!(output.status.success(), "{output:?}");
        (String::from_utf8(output.stdout).expect("text"), took)
    }

    /// Ends the program. Returns what the program has printed since `ready`.
    fn end(mut self) -> String {
        drop(self.recorder.stdin.take());
        let mut text = String::new();
        self.output.read_to_string(&mut text).expect("text");
        assert!(self.recorder.wait().expect("ends").success());
        text
    }
}

/// The number with this name in the answer to a command.
fn fact(answer: &str, name: &str) -> u64 {
    let (_, rest) = answer.split_once(&format!("\"{name}\": ")).expect("a fact");
    let digits = rest.split(|character: char| !character.is_ascii_digit());
    digits
        .into_iter()
        .next()
        .expect("digits")
        .parse()
        .expect("a number")
}

fn measure() {
    let Some(tool) = recorder() else {
        return;
    };
    let trace = std::env::temp_dir().join(format!("ctp-stacks-{}", std::process::id()));
    measure_waiting(&tool, &trace);
    for (what, options, word) in [
        ("no stacks requested", &[][..], "status"),
        ("stacks, --no-freeze", &["--no-freeze"][..], "stacks"),
        ("stacks", &[][..], "stacks"),
    ] {
        measure_resumed(&tool, &trace, what, options, word);
    }
    std::fs::remove_file(&trace).expect("was made");
}

fn measure_waiting(tool: &Path, trace: &Path) {
    let recording = Recording::start(tool, trace, &[], "--as=waiting");
    let mut times = [Vec::new(), Vec::new()];
    let (mut read, mut unread) = (0, 0);
    for _ in 0..COMMANDS {
        let (answer, took) = recording.control("stacks");
        (read, unread) = (fact(&answer, "stacks"), unread + fact(&answer, "unread"));
        times[0].push(took);
        times[1].push(recording.control("status").1);
    }
    recording.end();
    let [stacks, status] = times.map(|times| quantile(times, 0.5));
    let each = stacks.saturating_sub(status).as_secs_f64() * 1e6 / read as f64;
    println!(
        "{read} coroutines that wait: stacks {stacks:.1?}, status {status:.1?}, {each:.1} us a stack, \
         {unread} not read in {COMMANDS} commands"
    );
}

fn measure_resumed(tool: &Path, trace: &Path, what: &str, options: &[&str], word: &str) {
    let recording = Recording::start(tool, trace, options, "--as=resumed");
    let answers = (0..COMMANDS_IN_A_LOOP).map(|_| recording.control(word).0);
    let answers: Vec<String> = answers.collect();
    let sum = |name: &str| -> u64 {
        let has_counts = word == "stacks";
        let answers = answers.iter().filter(|_| has_counts);
        answers.map(|answer| fact(answer, name)).sum()
    };
    let counts = ["stacks", "moving", "unread"].map(sum);
    let text = recording.end();
    let runs = text.lines().map(|line| line.parse().expect("nanoseconds"));
    let runs: Vec<Duration> = runs.map(Duration::from_nanos).collect();
    let count = runs.len();
    println!(
        "{what}: {} read, {} moving, {} not waiting; {count} runs of {LONG_RUN:?} and more: \
         median {:.0?}, 99 % {:.0?}, longest {:.0?}",
        counts[0],
        counts[1],
        counts[2],
        quantile(runs.clone(), 0.5),
        quantile(runs.clone(), 0.99),
        quantile(runs, 1.0)
    );
}

/// The time that this share of the times does not exceed. Zero if there are no times.
fn quantile(mut times: Vec<Duration>, share: f64) -> Duration {
    times.sort();
    let last = times.len().saturating_sub(1);
    times
        .get((last as f64 * share) as usize)
        .copied()
        .unwrap_or_default()
}
