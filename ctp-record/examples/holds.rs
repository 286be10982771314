//! Who holds what: `holds TRUTH ROUNDS`.
//!
//! Each round a coroutine of its own, which mostly has the station of the one before, takes lock
//! 4096, waits, gives it back and ends; inside of its second run another one takes and gives back
//! lock 8192. Then the thread takes the program's thing 7, which it keeps. TRUTH gets the thread's
//! id, and the lines of this file where these are taken and given back.

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
        ctp::acquired(8192usize);
        ctp::released(8192usize);
        drop(inner);
        ctp::released(4096usize);
    }
    ctp::acquired(7u64);
    let tid = rustix::thread::gettid().as_raw_nonzero().get();
    writeln!(truth, "{tid}").expect("truth can be written");
}
