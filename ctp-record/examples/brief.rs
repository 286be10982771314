//! Short-lived threads: `brief TRUTH THREADS AT_ONCE CYCLES`.
//!
//! Runs THREADS threads, AT_ONCE at a time. Each has a coroutine that runs and suspends CYCLES
//! times at full speed. TRUTH receives the number of all events.
//!
//! `brief mapped` prints how many KiB of the recorder's memory are mapped before the first event.
//! `brief waits THREADS` starts that many threads, which stay. It prints how many threads after the
//! sixteenth waited for the kernel to map a page at their first event.

use std::hint::black_box;
use std::sync::{Barrier, mpsc};
use std::thread;
use std::time::Duration;

use ctp_nostd::{self as ctp, Task, Wait};

fn main() {
    ctp::attach();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments[0] == "mapped" {
        return println!("{}", mapped_kib());
    }
    if arguments[0] == "waits" {
        let threads = arguments[1].parse().expect("a number");
        return println!("{}", threads_that_wait(threads));
    }
    let [threads, at_once, cycles] =
        [1, 2, 3].map(|index| arguments[index].parse::<usize>().expect("a number"));
    for _ in 0..threads / at_once {
        let all_are_here = Barrier::new(at_once);
        thread::scope(|scope| {
            let alive: Vec<_> = (0..at_once)
                .map(|_| scope.spawn(|| run_and_suspend(&all_are_here, cycles)))
                .collect();
            // The end of a scope does not wait for the end of a thread, only for the end of its
            // closure. More than AT_ONCE threads would then be alive.
            for thread in alive {
                thread.join().expect("no panic");
            }
        });
    }
    let events = (threads / at_once * at_once) * (2 + 2 * cycles);
    std::fs::write(&arguments[0], events.to_string()).expect("truth can be written");
}

/// How many KiB of the recorder's memory are mapped, according to the kernel.
fn mapped_kib() -> u64 {
    let maps = std::fs::read_to_string("/proc/self/smaps").expect("Linux");
    let mut lines = maps.lines().skip_while(|line| !line.contains("memfd:ctp"));
    let rss = lines.find_map(|line| line.strip_prefix("Rss:"));
    let kib = rss.and_then(|rss| rss.split_whitespace().next()?.parse().ok());
    kib.expect("the program has attached")
}

/// Starts this many threads. Returns how many after the sixteenth waited for a page at their first event.
fn threads_that_wait(threads: usize) -> usize {
    let is_over = Barrier::new(threads + 1);
    thread::scope(|scope| {
        let faults: Vec<u64> = (0..threads)
            .map(|_| {
                thread::sleep(Duration::from_millis(5));
                let (task, is_over) = (Task::born("first event"), &is_over);
                let (sender, receiver) = mpsc::channel();
                scope.spawn(move || {
                    let faults = faults_of_first_event(&task);
                    sender.send(faults).expect("the receiver waits");
                    is_over.wait();
                });
                receiver.recv().expect("the thread sends")
            })
            .collect();
        is_over.wait();
        faults.iter().skip(16).filter(|faults| 0 < **faults).count()
    })
}

fn faults_of_first_event(task: &Task) -> u64 {
    // Maps the pages that the measurement itself needs, and those of the stack.
    faults();
    touch_stack();
    let before = faults();
    task.run();
    faults() - before
}

#[inline(never)]
fn touch_stack() {
    black_box([1_u8; 32 << 10]);
}

/// Pages for which this thread has waited.
fn faults() -> u64 {
    let stat = std::fs::read_to_string("/proc/thread-self/stat").expect("Linux");
    let (_, after_name) = stat.rsplit_once(") ").expect("a name");
    let word = after_name.split(' ').nth(7);
    word.expect("the number of faults")
        .parse()
        .expect("a number")
}

fn run_and_suspend(all_are_here: &Barrier, cycles: usize) {
    let task = Task::born("brief");
    all_are_here.wait();
    for cycle in 0..cycles {
        task.run();
        task.suspend(Wait::user(cycle as u64));
    }
}
