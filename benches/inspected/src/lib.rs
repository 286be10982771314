//! A busy program on unmodified tokio, which the benchmark `benches/inspection.rs` inspects. The program logs when its
//! tasks begin and end, so that the benchmark can check whether an inspection found the right tasks.
//!
//! The argument is the number of worker threads. The program prints `ready` once all tasks wait or work.
//! Then it answers each line of its standard input, and exits when the input ends:
//!
//! - `position`: how many events were logged so far;
//! - `events`: the events since the last such line: first `POSITION COUNT`, with the position of the first
//!   event, then a line `EVENT TASK` for each event (see [`log`]);
//! - `work`: how much work was done so far;
//! - `pause`: for how long the program stood still at most since the last such line, in microseconds. This is the
//!   longest pause of a thread that sleeps for a millisecond at a time.

pub mod heap;
pub mod log;
pub mod nested;
pub mod pause;
pub mod waiting;
pub mod working;

use std::io::{BufRead as _, Write as _};

/// Runs the program. The functions in `nested` each start a task with nested async functions; they are called in turn.
pub fn run(nested: &[fn()]) {
    let workers = std::env::args().nth(1).and_then(|text| text.parse().ok());
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(workers.unwrap_or(2)).enable_all();
    let runtime = builder.build().expect("a runtime");
    let _guard = runtime.enter();
    let _heap = heap::fill();
    waiting::start();
    nested
        .iter()
        .cycle()
        .take(nested::TASKS)
        .for_each(|start| start());
    working::start();
    pause::watch();
    log::wait_until_started();
    println!("ready");
    answer();
    std::process::exit(0); // Without waiting for tasks that never end.
}

fn answer() {
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        match &*line {
            "position" => println!("{}", log::position()),
            "events" => print!("{}", log::take_events()),
            "work" => println!("{}", working::done()),
            "pause" => println!("{}", pause::take_longest().as_micros()),
            _ => println!("questions: position events work pause"),
        }
        // The reader may have gone, and then the next line ends the program.
        let _ = std::io::stdout().flush();
    }
}
