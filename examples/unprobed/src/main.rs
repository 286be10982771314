//! A tokio program without a probe. It says which tasks live and what is wrong with them, so that the
//! findings of a tool can be compared with that.
//!
//! `unprobed MODE [COUNT]` prints `ready` once all tasks wait. Then it answers each line of its standard
//! input, and exits when that ends:
//!
//! - `tasks`: for each address that a task has or had, `ADDRESS SERIAL alive|ended KIND`, then a line `end`;
//! - `counts`: how many tasks were spawned and how many have ended;
//! - `lines`: for each kind of task that says so, `KIND LINE` with the line at which such tasks await, then a
//!   line `end`.
//!
//! The address is that of the task's header, which a waker of the task contains.

mod allocator;
mod branches;
mod churn;
mod faults;
mod late;
mod load;
mod own;
mod registry;
mod room;
mod roots;
mod waits;

use std::io::{BufRead as _, Write as _};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mode = arguments.next().unwrap_or_else(|| "waits".to_owned());
    let count = arguments
        .next()
        .and_then(|text| text.parse().ok())
        .unwrap_or(10);
    let runtime = runtime();
    let _guard = runtime.enter();
    match &*mode {
        "waits" => waits::start(count),
        "churn" => churn::start(count),
        "many" => waits::start_many(count),
        "no-waker" => faults::no_waker(count),
        "deadlock" => faults::deadlock(),
        "blocked" => faults::blocked_worker(),
        "branches" => branches::start(count),
        "own" => own::start(count),
        "late" => late::start(count),
        "load" => load::start(count),
        "roots" => roots::start(),
        "room" => room::start(),
        "all" => start_all(count),
        _ => {
            eprintln!(
                "modes: waits churn many no-waker deadlock blocked branches own late load roots room all"
            );
            std::process::exit(2);
        }
    }
    registry::wait_until_started();
    println!("ready");
    answer();
    std::process::exit(0); // Without waiting for tasks that never end.
}

fn start_all(count: usize) {
    waits::start(count);
    faults::no_waker(count);
    faults::deadlock();
    faults::blocked_worker();
}

fn runtime() -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(4).enable_all();
    builder.build().expect("a runtime")
}

fn answer() {
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        match &*line {
            "tasks" => print!("{}", registry::tasks()),
            "counts" => println!("{}", registry::counts()),
            "lines" => print!("{}", registry::lines()),
            _ => println!("questions: tasks counts lines"),
        }
        let _ = std::io::stdout().flush();
    }
}
