//! More coroutines than stations, in sequence: `relay TRUTH THREADS CYCLES`.
//!
//! Each thread makes CYCLES recorded coroutines, and retries while there is no free station. A
//! coroutine waits for its own id. While it waits, the waker of its ended predecessor is called.
//! TRUTH receives the id of each, and finally the number of refusals.

use std::fmt::Write as _;
use std::thread;

use ctp_nostd::{self as ctp, Task, Wait, Waker};

fn main() {
    ctp::attach();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [threads, cycles] = [1, 2].map(|index| arguments[index].parse().expect("a number"));
    let relay = |_| thread::spawn(move || relay(cycles));
    let threads: Vec<_> = (0..threads).map(relay).collect();
    let mut truth = String::new();
    let mut refused = 0;
    for thread in threads {
        let (ids, more) = thread.join().expect("a relay does not panic");
        refused += more;
        for id in ids {
            writeln!(truth, "{id}").expect("a string");
        }
    }
    writeln!(truth, "refused {refused}").expect("a string");
    std::fs::write(&arguments[0], truth).expect("truth can be written");
}

fn relay(cycles: u64) -> (Vec<u64>, u64) {
    let mut ids = Vec::new();
    let mut refused = 0;
    let mut previous = Waker::mute();
    for _ in 0..cycles {
        let task = loop {
            let task = Task::born("runner");
            if task.id() != 0 {
                break task;
            }
            refused += 1;
            thread::yield_now();
        };
        let waker = task.waker();
        task.run();
        task.suspend(Wait::user(task.id()));
        previous.wake();
        previous = waker;
        ids.push(task.id());
    }
    (ids, refused)
}
