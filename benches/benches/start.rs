//! The cost of the recorder before the first line of a program runs, and the cost of `attach()`,
//! compared with the same program alone. Runs with and without a recorder alternate.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use ctp_benches::{recorder, this_program};
use ctp_nostd::{Linux, Platform as _};

const ROUNDS: usize = 101;

/// Microseconds of a run.
#[derive(Clone, Copy)]
struct Run {
    /// From the request to the first line of `main`.
    start: f64,
    /// In `attach()`.
    attach: f64,
    /// From the request to the end of the command.
    all: f64,
}

// LT-29
fn main() {
    if std::env::args().any(|argument| argument == "--as=target") {
        return target();
    }
    let Some(recorder) = recorder() else {
        return;
    };
    let me = this_program();
    let (mut alone, mut recorded) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        alone.push(run(&mut Command::new(&me)));
        recorded.push(run(&mut under(&recorder, &me)));
    }
    println!("us, medians of {ROUNDS}          alone   recorded   difference   slowest recorded");
    show("to the first line of main", &alone, &recorded, |run| {
        run.start
    });
    show("attach()", &alone, &recorded, |run| run.attach);
    show("to the end", &alone, &recorded, |run| run.all);
}

fn target() {
    let began = Linux::now_ns();
    let timer = Instant::now();
    ctp_nostd::attach();
    println!("{began} {}", timer.elapsed().as_nanos());
}

fn under(recorder: &Path, program: &Path) -> Command {
    let mut command = Command::new(recorder);
    command.args(["-q", "-o", "/dev/null", "--"]).arg(program);
    command
}

fn run(command: &mut Command) -> Run {
    let requested = Linux::now_ns();
    let timer = Instant::now();
    let output = command.arg("--as=target").stderr(Stdio::inherit()).output();
    let all = timer.elapsed();
    let message = String::from_utf8(output.expect("can be run").stdout).expect("is text");
    let numbers = message.split_whitespace().map(|word| word.parse::<u64>());
    let numbers: Vec<u64> = numbers.map(|number| number.expect("a number")).collect();
    Run {
        start: (numbers[0] - requested) as f64 / 1e3,
        attach: numbers[1] as f64 / 1e3,
        all: all.as_nanos() as f64 / 1e3,
    }
}

fn show(what: &str, alone: &[Run], recorded: &[Run], figure: fn(&Run) -> f64) {
    let [alone, recorded] = [alone, recorded].map(|runs| sorted(runs, figure));
    let median = |figures: &[f64]| figures[figures.len() / 2];
    println!(
        "{what:<28} {:>7.0}   {:>8.0}   {:>10.0}   {:>16.0}",
        median(&alone),
        median(&recorded),
        median(&recorded) - median(&alone),
        recorded[recorded.len() - 1]
    );
}

fn sorted(runs: &[Run], figure: fn(&Run) -> f64) -> Vec<f64> {
    let mut figures: Vec<f64> = runs.iter().map(figure).collect();
    figures.sort_by(f64::total_cmp);
    figures
}
