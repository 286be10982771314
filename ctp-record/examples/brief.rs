//! Threads that come and go: `brief TRUTH THREADS AT_ONCE CYCLES`.
//!
//! THREADS threads, always AT_ONCE of them alive at the same time, each with one coroutine that
//! runs and suspends CYCLES times, flat out. TRUTH gets the number of all events.
//!
//! `brief mapped` says how many KiB of the recorder's memory it has mapped before its first event.

use std::sync::Barrier;
use std::thread;

use ctp_nostd::{self as ctp, Task, Wait};

fn main() {
    ctp::attach();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments[0] == "mapped" {
        return println!("{}", mapped_kib());
    }
    let [threads, at_once, cycles] =
        [1, 2, 3].map(|index| arguments[index].parse::<usize>().expect("a number"));
    for _ in 0..threads / at_once {
        let all_are_here = Barrier::new(at_once);
        thread::scope(|scope| {
            let spawn = |_| scope.spawn(|| live(&all_are_here, cycles));
            let alive: Vec<_> = (0..at_once).map(spawn).collect();
            // The end of the scope alone does not wait until a thread has ended, only until
            // what it ran has: then more than AT_ONCE would be alive.
            for thread in alive {
                thread.join().expect("it lived");
            }
        });
    }
    let events = (threads / at_once * at_once) * (2 + 2 * cycles);
    std::fs::write(&arguments[0], events.to_string()).expect("truth can be written");
}

/// As the kernel says.
fn mapped_kib() -> u64 {
    let maps = std::fs::read_to_string("/proc/self/smaps").expect("Linux");
    let mut lines = maps.lines().skip_while(|line| !line.contains("memfd:ctp"));
    let rss = lines.find_map(|line| line.strip_prefix("Rss:"));
    let kib = rss.and_then(|rss| rss.split_whitespace().next()?.parse().ok());
    kib.expect("it has attached")
}

fn live(all_are_here: &Barrier, cycles: usize) {
    let task = Task::born("brief");
    all_are_here.wait();
    for cycle in 0..cycles {
        task.run();
        task.suspend(Wait::user(cycle as u64));
    }
}
