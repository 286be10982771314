//! Thread events: `thread_events TRUTH THREADS CALLS`.
//!
//! While a coroutine sleeps, THREADS threads in sequence wake it CALLS times and close a descriptor
//! after each wake. Then the coroutine runs, and wakes another coroutine once. TRUTH receives the
//! ids of these threads, a line each, then the lines of this file with the two wakes and the close.

use std::io::Write as _;
use std::thread;

use ctp_nostd::{self as ctp, Task, Wait};

fn main() {
    ctp::attach();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [threads, calls] = [1, 2].map(|at| arguments[at].parse::<i32>().expect("a number"));
    let mut truth = std::fs::File::create(&arguments[0]).expect("truth can be written");
    let mut record = |number: u32| writeln!(truth, "{number}").expect("truth can be written");

    let sleeper = Task::born("sleeper");
    let other = Task::born("other");
    let waker = sleeper.waker();
    sleeper.run();
    sleeper.suspend(Wait::readable(7));
    let (wakes, closes) = (line!() + 5, line!() + 6);
    for _ in 0..threads {
        let thread = thread::spawn(move || {
            let tid = rustix::thread::gettid().as_raw_nonzero().get();
            for call in 0..calls {
                waker.wake();
                ctp::closed(call);
            }
            ctp::thread_ends();
            tid as u32
        });
        record(thread.join().expect("no panic"));
    }
    sleeper.run();
    let of_other = line!() + 1;
    other.waker().wake();
    sleeper.suspend(Wait::unknown());
    [wakes, closes, of_other].into_iter().for_each(record);
}
