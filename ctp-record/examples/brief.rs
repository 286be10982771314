//! Threads that come and go: `brief TRUTH THREADS AT_ONCE CYCLES`.
//!
//! THREADS threads, always AT_ONCE of them alive at the same time, each with one coroutine that
//! runs and suspends CYCLES times, flat out. TRUTH gets the number of all events.

use std::sync::Barrier;
use std::thread;

use ctp_nostd::{self as ctp, Task, Wait};

fn main() {
    ctp::attach();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
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

fn live(all_are_here: &Barrier, cycles: usize) {
    let task = Task::born("brief");
    all_are_here.wait();
    for cycle in 0..cycles {
        task.run();
        task.suspend(Wait::user(cycle as u64));
    }
}
