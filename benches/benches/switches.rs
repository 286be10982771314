//! STB-15: measures what it costs to store where a coroutine waits (`suspend_with_stack`).
//!
//! 100 coroutines of corosensei yield 50 000 times each: first on 32 threads, each with its own coroutines, then on a
//! single thread, where the results differ less from run to run.
//!
//! Prints the processor time of the whole program and the elapsed time, per yield. Runs without and with a recorder
//! alternate.
//! `cargo build --release -p ctp-record && cargo bench -p ctp-benches --bench switches`

use std::collections::VecDeque;
use std::process::Command;
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use corosensei::{Coroutine, Yielder};
use ctp_benches::{recorder, this_program};
use ctp_nostd::{Task, Wait};
use rustix::time::{ClockId, clock_gettime};

const ROUNDS: usize = 15;
const WORKERS: [usize; 2] = [32, 1];
const COROUTINES: usize = 100;
const YIELDS: usize = 50_000;

/// A coroutine, and its trace unless the program is not traced.
struct GreenThread {
    task: Option<&'static Task>,
    coroutine: Coroutine<(), (), ()>,
}

/// How a coroutine records that it waits.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SuspendCall {
    /// Not at all: the program is not traced.
    Untraced,
    /// By `suspend`.
    Suspend,
    /// By `suspend_with_stack`.
    WithStack,
}

impl GreenThread {
    fn new(call: SuspendCall) -> Self {
        let task: Option<&Task> =
            (call != SuspendCall::Untraced).then(|| &*Box::leak(Box::new(Task::born("yields"))));
        let coroutine = Coroutine::new(move |yielder: &Yielder<(), ()>, ()| {
            for _ in 0..YIELDS {
                match (call, task) {
                    (SuspendCall::Suspend, Some(task)) => task.suspend(Wait::to_yield()),
                    (SuspendCall::WithStack, Some(task)) => {
                        task.suspend_with_stack(Wait::to_yield())
                    }
                    _ => {}
                }
                yielder.suspend(());
            }
        });
        GreenThread { task, coroutine }
    }

    /// Returns whether the coroutine has ended.
    fn resume(&mut self) -> bool {
        if let Some(task) = self.task {
            task.run();
        }
        self.coroutine.resume(()).as_return().is_some()
    }
}

fn main() {
    let workers = option("--workers=").map(|number| number.parse().expect("a number"));
    match (option("--as=").as_deref(), workers) {
        (Some("untraced"), Some(workers)) => run_yields(SuspendCall::Untraced, workers),
        (Some("suspend"), Some(workers)) => run_yields(SuspendCall::Suspend, workers),
        (Some("with-stack"), Some(workers)) => run_yields(SuspendCall::WithStack, workers),
        (None, None) => WORKERS.into_iter().for_each(compare),
        other => panic!("no such role: {other:?}"),
    }
}

/// The value of this option of the command line.
fn option(name: &str) -> Option<String> {
    std::env::args().find_map(|argument| Some(argument.strip_prefix(name)?.to_owned()))
}

/// Runs the coroutines on this many threads, and prints the processor time and the elapsed time in nanoseconds per yield.
fn run_yields(call: SuspendCall, workers: usize) {
    if call != SuspendCall::Untraced {
        ctp_nostd::attach();
    }
    let start = Arc::new(Barrier::new(workers + 1));
    let threads: Vec<_> = (0..workers)
        .map(|number| {
            let start = Arc::clone(&start);
            let count = (number..COROUTINES).step_by(workers).count();
            thread::spawn(move || work(count, call, &start))
        })
        .collect();
    start.wait();
    let (begin, before) = (Instant::now(), processor_time());
    for thread in threads {
        thread.join().expect("no panic");
    }
    let each = |spent: Duration| spent.as_nanos() as f64 / (COROUTINES * YIELDS) as f64;
    println!(
        "{} {}",
        each(processor_time() - before),
        each(begin.elapsed())
    );
}

/// Starts this many coroutines, and resumes them in turn until all have ended.
fn work(count: usize, call: SuspendCall, start: &Barrier) {
    let green_threads: VecDeque<GreenThread> = (0..count).map(|_| GreenThread::new(call)).collect();
    let queue = Mutex::new(green_threads);
    start.wait();
    loop {
        let Some(mut green_thread) = queue.lock().expect("no panic").pop_front() else {
            return;
        };
        if !green_thread.resume() {
            queue.lock().expect("no panic").push_back(green_thread);
        }
    }
}

fn processor_time() -> Duration {
    let spent = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(spent.tv_sec as u64, spent.tv_nsec as u32)
}

/// A way to run the program, and the processor time and the elapsed time of each run, in nanoseconds per yield.
struct Way {
    what: &'static str,
    command: Command,
    runs: Vec<[f64; 2]>,
}

fn compare(workers: usize) {
    let Some(recorder) = recorder() else {
        return;
    };
    let me = this_program();
    let trace = std::env::temp_dir().join(format!("ctp-switches-{}", std::process::id()));
    let mut ways: Vec<Way> = [
        ("untraced", false, "--as=untraced"),
        ("suspend, not recorded", false, "--as=suspend"),
        ("suspend_with_stack, not recorded", false, "--as=with-stack"),
        ("suspend, recorded", true, "--as=suspend"),
        ("suspend_with_stack, recorded", true, "--as=with-stack"),
    ]
    .into_iter()
    .map(|(what, is_recorded, role)| {
        let mut command = Command::new(if is_recorded { &recorder } else { &me });
        if is_recorded {
            command.args(["-q", "-o"]).arg(&trace).arg("--").arg(&me);
        }
        command.args([role, &format!("--workers={workers}")]);
        Way {
            what,
            command,
            runs: Vec::new(),
        }
    })
    .collect();
    for _ in 0..ROUNDS {
        ways.iter_mut().for_each(Way::run);
    }
    std::fs::remove_file(&trace).expect("was made");
    println!("threads: {workers}");
    print(&ways);
}

impl Way {
    fn run(&mut self) {
        let output = self.command.output().expect("can be run");
        let text = String::from_utf8(output.stdout).expect("text");
        let mut numbers = text.split_whitespace().map(|word| word.parse::<f64>());
        let mut next = || numbers.next().expect("a number").expect("a number");
        self.runs.push([next(), next()]);
    }

    /// The median of the processor times (`of` is 0) or of the elapsed times (1).
    fn median(&self, of: usize) -> f64 {
        let mut all: Vec<f64> = self.runs.iter().map(|run| run[of]).collect();
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    }

    /// The median ratio of the processor times to those of `base` in the same rounds.
    fn ratio(&self, base: &Way) -> f64 {
        let runs = self.runs.iter().zip(&base.runs);
        let mut all: Vec<f64> = runs.map(|(run, base)| run[0] / base[0]).collect();
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    }
}

fn print(ways: &[Way]) {
    println!("ns a yield, medians of {ROUNDS}         processor   elapsed   processor, relative");
    for way in ways {
        println!(
            "{:<36} {:>9.1} {:>9.1} {:>12.3}",
            way.what,
            way.median(0),
            way.median(1),
            way.ratio(&ways[0])
        );
    }
}
