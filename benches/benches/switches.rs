//! STB-15: the cost of storing where a coroutine waits (`suspend_with_stack`): 100 coroutines of corosensei yield
//! 50 000 times each, on 32 threads with a queue each, and on one thread, which differs less from run to run.
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
struct Green {
    task: Option<&'static Task>,
    coroutine: Coroutine<(), (), ()>,
}

/// How a coroutine records that it waits.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Not at all.
    Untraced,
    /// By `suspend`.
    Suspend,
    /// By `suspend_with_stack`.
    WithStack,
}

impl Green {
    fn new(kind: Kind) -> Self {
        let task: Option<&Task> =
            (kind != Kind::Untraced).then(|| &*Box::leak(Box::new(Task::born("yields"))));
        let coroutine = Coroutine::new(move |yielder: &Yielder<(), ()>, ()| {
            for _ in 0..YIELDS {
                match (kind, task) {
                    (Kind::Suspend, Some(task)) => task.suspend(Wait::to_yield()),
                    (Kind::WithStack, Some(task)) => task.suspend_with_stack(Wait::to_yield()),
                    _ => {}
                }
                yielder.suspend(());
            }
        });
        Green { task, coroutine }
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
        (Some("untraced"), Some(workers)) => storm(Kind::Untraced, workers),
        (Some("suspend"), Some(workers)) => storm(Kind::Suspend, workers),
        (Some("with-stack"), Some(workers)) => storm(Kind::WithStack, workers),
        (None, None) => WORKERS.into_iter().for_each(compare),
        other => panic!("no such role: {other:?}"),
    }
}

/// The value of this option of the command line.
fn option(name: &str) -> Option<String> {
    std::env::args().find_map(|argument| Some(argument.strip_prefix(name)?.to_owned()))
}

fn storm(kind: Kind, workers: usize) {
    if kind != Kind::Untraced {
        ctp_nostd::attach();
    }
    let start = Arc::new(Barrier::new(workers + 1));
    let threads: Vec<_> = (0..workers)
        .map(|number| {
            let start = Arc::clone(&start);
            let count = (number..COROUTINES).step_by(workers).count();
            thread::spawn(move || work(count, kind, &start))
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

/// Resumes the coroutines in turn until all have ended.
fn work(count: usize, kind: Kind, start: &Barrier) {
    let greens: VecDeque<Green> = (0..count).map(|_| Green::new(kind)).collect();
    let queue = Mutex::new(greens);
    start.wait();
    loop {
        let Some(mut green) = queue.lock().expect("no panic").pop_front() else {
            return;
        };
        if !green.resume() {
            queue.lock().expect("no panic").push_back(green);
        }
    }
}

fn processor_time() -> Duration {
    let spent = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(spent.tv_sec as u64, spent.tv_nsec as u32)
}

/// A way to run the storm, and the processor and elapsed times of each run.
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

    fn median(&self, of: usize) -> f64 {
        let mut all: Vec<f64> = self.runs.iter().map(|run| run[of]).collect();
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    }

    /// The median of the ratios to the run of `base` in the same round.
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
