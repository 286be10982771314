//! What does tracing cost tokio's scheduler where it does nothing else? 64 tasks yield 20 000 times
//! each, on two workers: two events a yield, and with `--features wakers` a wake that is counted.
//! Processor time of the whole program a yield, and the time that passed; those without a recorder
//! and those with one take turns.

use std::future::Future;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ctp_benches::{recorder, this_program};
use ctp_nostd::TracedExt as _;
use ctp_trace::Reader;
use ctp_trace::record::Record;
use rustix::time::{ClockId, clock_gettime};

const TASKS: u64 = 64;
const YIELDS: u64 = 20_000;
const WORKERS: usize = 2;
const ROUNDS: usize = 7;

fn main() {
    let role =
        std::env::args().find_map(|argument| Some(argument.strip_prefix("--as=")?.to_owned()));
    match role.as_deref() {
        Some("plain") => target(|task| tokio::spawn(task)),
        Some(_) => target(|task| tokio::spawn(task.traced())),
        None => compare(),
    }
}

fn compare() {
    let Some(recorder) = recorder() else {
        return;
    };
    let me = this_program();
    let trace = std::env::temp_dir().join(format!("ctp-storm-{}", std::process::id()));
    let [mut plain, mut alone, mut recorded] = [const { Vec::new() }; 3];
    for _ in 0..ROUNDS {
        plain.push(run(Command::new(&me).arg("--as=plain")));
        alone.push(run(Command::new(&me).arg("--as=traced")));
        let mut command = Command::new(&recorder);
        command.args(["-q", "-o"]).arg(&trace).arg("--").arg(&me);
        recorded.push(run(command.arg("--as=traced")));
        tell(&trace);
    }
    std::fs::remove_file(&trace).expect("was made");
    println!("ns a yield, medians of {ROUNDS}       processor   more      passed");
    let base = median(&plain, |it| it.processor);
    for (what, runs) in [
        ("as it comes", &plain),
        ("traced, nobody records", &alone),
        ("traced, recorded", &recorded),
    ] {
        let processor = median(runs, |it| it.processor);
        println!(
            "{what:<32} {processor:>10.0} {:>6.0} {:>11.0}",
            processor - base,
            median(runs, |it| it.passed)
        );
    }
}

/// Nanoseconds a yield.
#[derive(Clone, Copy)]
struct Spent {
    processor: f64,
    passed: f64,
}

fn median(runs: &[Spent], of: impl Fn(&Spent) -> f64) -> f64 {
    let mut all: Vec<f64> = runs.iter().map(of).collect();
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

/// Runs it, and reads what it says of itself.
fn run(command: &mut Command) -> Spent {
    let output = command.stderr(Stdio::inherit()).output().expect("it runs");
    let text = String::from_utf8(output.stdout).expect("text");
    let mut numbers = text.split_whitespace().map(|word| word.parse::<f64>());
    let mut next = || numbers.next().expect("a number").expect("a number");
    let all = (TASKS * YIELDS) as f64;
    Spent {
        processor: next() / all,
        passed: next() / all,
    }
}

fn target<H: Future + Send>(spawn: impl Fn(Yielding) -> H) {
    ctp_nostd::attach();
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(WORKERS).build().expect("a runtime");
    let _inside = runtime.enter();
    let (begin, before) = (Instant::now(), processor_time());
    let tasks: Vec<H> = (0..TASKS).map(|_| spawn(Box::pin(storm()))).collect();
    runtime.block_on(async {
        for task in tasks {
            let _ = task.await;
        }
    });
    let spent = processor_time() - before;
    println!("{} {}", spent.as_nanos(), begin.elapsed().as_nanos());
}

type Yielding = std::pin::Pin<Box<dyn Future<Output = ()> + Send>>;

async fn storm() {
    for _ in 0..YIELDS {
        tokio::task::yield_now().await;
    }
}

fn processor_time() -> Duration {
    let spent = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(spent.tv_sec as u64, spent.tv_nsec as u32)
}

fn tell(trace: &Path) {
    let bytes = std::fs::read(trace).expect("there is a trace");
    let records = Reader::new(&bytes).expect("is a trace");
    let ends = records.filter_map(|record| match record {
        Ok(Record::End(end)) => Some(end),
        _ => None,
    });
    let end = ends.last().expect("it ended");
    println!(
        "{} events, {} lost, {:.1} B each",
        end.events,
        end.lost,
        bytes.len() as f64 / end.events as f64
    );
}
