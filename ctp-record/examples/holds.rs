//! Lock holders: `holds TRUTH ROUNDS`.
//!
//! In each round a new coroutine, usually in the station of the previous one, takes lock 4096,
//! waits, releases it and ends. Inside its second run another coroutine takes lock 8192 as one of
//! several possible holders, and releases it. At the end the thread takes and keeps the user
//! resource 7. TRUTH receives the thread's id, and the lines of this file with these calls.

use std::io::Write as _;

use ctp_nostd::{self as ctp, Task, Wait};

fn main() {
    ctp::attach();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let rounds: u32 = arguments[1].parse().expect("a number");
    let mut truth = std::fs::File::create(&arguments[0]).expect("truth can be written");

    for round in 0..rounds {
        let outer = Task::born(&format!("outer-{round}"));
        outer.run();
        ctp::acquired(4096usize);
        outer.suspend(Wait::unknown());
        outer.run();
        let inner = Task::born(&format!("inner-{round}"));
        inner.run();
        ctp::acquired_shared(8192usize);
        ctp::released(8192usize);
        drop(inner);
        ctp::released(4096usize);
    }
    ctp::acquired(7u64);
    let tid = rustix::thread::gettid().as_raw_nonzero().get();
    writeln!(truth, "{tid}").expect("truth can be written");
}
