//! Coroutines with stacks of their own, whose call stacks are known.
//!
//! `stackful LIBRARY COUNT [SECONDS [FILE]]` prints the addresses of its functions, and the functions that call each other
//! in each wait. Then its coroutines run in turn, for this many seconds, or (without SECONDS, or with 0) until standard
//! input ends. With the FILE of a library, other threads load the library and throw exceptions meanwhile; the file
//! `disturbances` says how often. LIBRARY `blocked` stands for coroutines that block their threads, and a path for the
//! shared library of Boost.Context at this path.

mod blocked;
mod chain;
mod disturb;
mod on_boost_context;
mod on_corosensei;
mod on_generator;
mod on_may;
mod on_ucontext;

use std::fs;
use std::io::{self, Read as _, Write};
use std::process::exit;
use std::thread;
use std::time::Duration;

use ctp_nostd::Task;
use on_boost_context::Library;

/// Threads that run coroutines.
const THREADS: u32 = 2;
/// After this many resumes, a thread leaves its processor to others for a moment.
const BURST: usize = 64;
/// One of this many coroutines runs only once.
const SILENT: u32 = 100;

/// A coroutine that a scheduler can resume.
trait Green {
    /// Its trace.
    fn task(&self) -> &'static Task;

    /// Runs the coroutine until it waits.
    fn resume(&mut self);
}

fn main() -> io::Result<()> {
    ctp_nostd::attach();
    let arguments: Vec<String> = std::env::args().collect();
    let (library, count) = (arguments[1].clone(), number(&arguments[2]));
    chain::describe(count, &mut io::stdout().lock())?;
    start(&library, count);
    let disturbing = arguments.get(4);
    if let Some(file) = disturbing {
        disturb::start(file);
    }
    println!("ready");
    io::stdout().flush()?;
    match arguments.get(3).map_or(0, |seconds| number(seconds)) {
        0 => io::stdin().lock().read_to_end(&mut Vec::new()).map(drop)?,
        seconds => thread::sleep(Duration::from_secs(seconds.into())),
    }
    if disturbing.is_some() {
        fs::write("disturbances", disturb::counts())?;
    }
    // Without unwinding the coroutines that wait.
    exit(0);
}

/// Starts the threads that run this many coroutines.
fn start(library: &str, count: u32) {
    if library == "may" {
        return on_may::start(count);
    }
    for thread in 0..THREADS {
        let library = library.to_owned();
        let numbers = (0..count).filter(move |number| number % THREADS == thread);
        thread::spawn(move || run(&library, numbers));
    }
}

/// Runs the coroutines with these numbers, on this thread.
fn run(library: &str, numbers: impl Iterator<Item = u32>) {
    match library {
        "corosensei" => schedule(numbers.map(on_corosensei::start)),
        "generator" => schedule(numbers.map(on_generator::start)),
        "blocked" => schedule(numbers.map(blocked::start)),
        "ucontext" => schedule(numbers.map(on_ucontext::start)),
        path if path.starts_with('/') => {
            let library = Library::load(path);
            schedule(numbers.map(|number| on_boost_context::start(library, number)));
        }
        other => panic!("no such library: {other}"),
    }
}

fn number(text: &str) -> u32 {
    text.parse().expect("a number")
}

/// Resumes the coroutines in turn, without end.
fn schedule<G: Green>(greens: impl Iterator<Item = (u32, G)>) {
    let mut greens: Vec<(u32, G)> = greens.collect();
    for turn in 0_usize.. {
        let due = greens
            .iter_mut()
            .filter(|(number, _)| turn == 0 || !number.is_multiple_of(SILENT));
        for (at, (_, green)) in due.enumerate() {
            if at.is_multiple_of(BURST) {
                thread::sleep(Duration::from_millis(1));
            }
            green.task().run();
            green.resume();
        }
    }
}
