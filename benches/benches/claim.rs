//! The cost of a thread's first event, which claims a lane, for various numbers of lanes in use.
//! Compared with a memory without lanes, with the second event, and with `gettid`.

use std::hint::black_box;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Barrier;
use std::thread::{Builder, Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

use ctp_benches::memory::{Borrowed, Memory};
use ctp_benches::{recorder, this_program};
use ctp_nostd::aggregate::MODE_HISTORY;
use ctp_nostd::{Task, Wait};

/// Numbers of lanes in use, each by a live thread.
const TAKEN: [usize; 5] = [0, 8, 16, 128, 2000];
/// Processes for each row, each of which measures every column.
const ROUNDS: usize = 15;
/// Threads that start then and stay.
const COMERS: usize = 8;
/// Threads that start and end after that, one at a time.
const PASSERS: usize = 64;
const CALLS: u32 = 1000;
/// How long the program waits before these threads start.
const PAUSE: Duration = Duration::from_millis(20);

/// Nanoseconds of a thread's events.
struct Took {
    first: f64,
    second: f64,
    gettid: f64,
}

// LT-12
fn main() {
    let mut arguments = std::env::args().skip_while(|arg| arg != "--taken");
    match arguments.nth(1) {
        Some(taken) => target(taken.parse().expect("a number")),
        None => all(),
    }
}

fn all() {
    println!(
        "ns, medians, quickest   first event, staying thread   ending thread   second event   gettid"
    );
    for taken in TAKEN {
        let what = format!("{taken} lanes taken");
        row(&what, || in_memory(taken, &Memory::of_many_lanes()));
    }
    row("memory without lanes", || {
        in_memory(16, &Memory::new(0, MODE_HISTORY))
    });
    let Some(recorder) = recorder() else {
        return;
    };
    for taken in TAKEN {
        let what = format!("{taken}, under ctp-record");
        row(&what, || under(&recorder, taken));
    }
}

/// The program's output, without a recorder.
fn in_memory(taken: usize, memory: &Memory) -> Output {
    let mut command = Command::new(this_program());
    let command = memory.lend(&mut command);
    let output = command.args(["--taken", &taken.to_string()]).output();
    output.expect("can run itself")
}

/// The program's output under the recorder, which has time to prepare lanes in advance.
fn under(recorder: &Path, taken: usize) -> Output {
    let trace = std::env::temp_dir().join(format!("ctp-claim-{}", std::process::id()));
    let mut command = Command::new(recorder);
    command.arg("-q").arg("-o").arg(&trace).arg("--");
    command.arg(this_program()).arg("--recorded");
    let output = command.args(["--taken", &taken.to_string()]).output();
    std::fs::remove_file(&trace).expect("was made");
    output.expect("the recorder can be run")
}

fn row(what: &str, run: impl Fn() -> Output) {
    let mut columns: [Vec<f64>; 4] = Default::default();
    for _ in 0..ROUNDS {
        let message = String::from_utf8(run().stdout).expect("is text");
        for (column, line) in columns.iter_mut().zip(message.lines()) {
            let numbers = line.split(' ').map(|word| word.parse::<f64>());
            column.extend(numbers.map(|number| number.expect("a number")));
        }
    }
    print!("{what:<24}");
    for column in &mut columns {
        column.sort_by(f64::total_cmp);
        print!("   {:>8.0} {:>8.0}", column[column.len() / 2], column[0]);
    }
    println!();
}

fn target(taken: usize) {
    let is_recorded = std::env::args().any(|arg| arg == "--recorded");
    let _borrowed = (!is_recorded).then(Borrowed::attach);
    ctp_nostd::attach();
    let all_are_here = Barrier::new(taken + 1);
    let is_over = Barrier::new(taken + COMERS + 1);
    std::thread::scope(|scope| {
        for _ in 0..taken {
            spawn(scope, || {
                ctp_nostd::closed(3);
                all_are_here.wait();
                is_over.wait();
            });
        }
        all_are_here.wait();
        std::thread::sleep(PAUSE);
        let (message, hear) = std::sync::mpsc::channel();
        let comers: Vec<Took> = (0..COMERS)
            .map(|_| {
                let (task, message) = (Task::born("comer"), message.clone());
                let is_over = &is_over;
                spawn(scope, move || {
                    message.send(first_events(&task)).expect("a receiver");
                    is_over.wait();
                });
                hear.recv().expect("the thread's times")
            })
            .collect();
        let passers: Vec<Took> = (0..PASSERS)
            .map(|_| {
                let task = Task::born("passer");
                spawn(scope, move || first_events(&task))
                    .join()
                    .expect("the thread's times")
            })
            .collect();
        is_over.wait();
        say(&comers, |took| took.first);
        say(&passers, |took| took.first);
        say(&passers, |took| took.second);
        say(&passers, |took| took.gettid);
    });
}

/// Spawns a thread with a small stack, since there are thousands.
fn spawn<'s, T: Send + 's>(
    scope: &'s Scope<'s, '_>,
    work: impl FnOnce() -> T + Send + 's,
) -> ScopedJoinHandle<'s, T> {
    let thread = Builder::new().stack_size(64 << 10);
    thread.spawn_scoped(scope, work).expect("a thread")
}

fn first_events(task: &Task) -> Took {
    let begin = Instant::now();
    task.run();
    let first = begin.elapsed();
    let begin = Instant::now();
    task.suspend(Wait::readable(3));
    let second = begin.elapsed();
    let begin = Instant::now();
    for _ in 0..CALLS {
        black_box(rustix::thread::gettid());
    }
    let gettid = begin.elapsed() / CALLS;
    let [first, second, gettid] =
        [first, second, gettid].map(|duration| duration.as_nanos() as f64);
    Took {
        first,
        second,
        gettid,
    }
}

fn say(all: &[Took], figure: fn(&Took) -> f64) {
    let figures: Vec<String> = all.iter().map(|took| figure(took).to_string()).collect();
    println!("{}", figures.join(" "));
}
