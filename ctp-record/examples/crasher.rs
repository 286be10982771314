//! A target that crashes while several coroutines run: `crasher TRUTH HOW`.
//!
//! Three threads run a coroutine each, `worker-0` to `worker-2`; `idle` is suspended and `newborn`
//! has never run. Then TRUTH receives the coroutine and the thread id of the thread that ends the
//! program. HOW is how it does so:
//! `segv` (writes to address 0), `bus` (reads a mapped file beyond its end), `abort`, `overflow`
//! (of the stack), `kill` (SIGKILL to the process) or `exit` (with 0).
#![allow(unsafe_code, reason = "a fault takes a pointer to where nothing is")]

use std::fs::File;
use std::sync::{Arc, Barrier};
use std::thread;

use ctp_nostd::{self as ctp, Task, Wait};

/// The number of the worker.
const FAULTY: usize = 1;

fn main() {
    ctp::attach();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let idle = Task::born("idle");
    idle.run();
    idle.suspend(Wait::user(7));
    let newborn = Task::born("newborn");
    let all_run = Arc::new(Barrier::new(3));
    let workers = (0..3).map(|index| {
        let (all_run, arguments) = (Arc::clone(&all_run), arguments.clone());
        thread::spawn(move || work(index, &all_run, &arguments))
    });
    for worker in workers.collect::<Vec<_>>() {
        worker.join().expect("never ends by itself");
    }
    drop((idle, newborn));
}

fn work(index: usize, all_run: &Barrier, arguments: &[String]) {
    let name = format!("worker-{index}");
    let task = Task::born(&name);
    for round in 0..3 {
        task.run();
        task.suspend(Wait::user(round));
    }
    task.run();
    all_run.wait();
    if index == FAULTY {
        let tid = rustix::thread::gettid().as_raw_nonzero();
        std::fs::write(&arguments[0], format!("{name} {tid}\n")).expect("truth can be written");
        end(&arguments[1], &arguments[0]);
    }
    loop {
        thread::park();
    }
}

fn end(how: &str, truth: &str) {
    match how {
        "segv" => fault(),
        "bus" => read_behind_the_end(truth),
        "abort" => std::process::abort(),
        "overflow" => println!("{}", deeper(0)),
        "kill" => {
            let me = rustix::process::getpid();
            rustix::process::kill_process(me, rustix::process::Signal::KILL)
                .expect("can kill itself");
        }
        "exit" => std::process::exit(0),
        other => panic!("no end: {other}"),
    }
}

fn fault() {
    let null = std::ptr::null_mut::<u64>();
    // SAFETY: none. This is the bug: the program dies here.
    unsafe { null.write_volatile(1) };
}

fn read_behind_the_end(path: &str) {
    let file = File::open(path).expect("was just written");
    let options = memmap2::MmapOptions::new().len(1 << 20).to_owned();
    // SAFETY: none. This is the bug: the file is shorter than its mapping.
    let mapping = unsafe { options.map(&file) }.expect("can be mapped");
    println!("{}", mapping[(1 << 20) - 1]);
}

fn deeper(depth: u64) -> u64 {
    let frame = std::hint::black_box([depth; 64]);
    match depth {
        u64::MAX => 0,
        _ => deeper(depth + 1) + frame[7],
    }
}
