//! What the inspection of a running program takes and misses, compared with gdb.
//!
//! The program (`inspected/`) is unmodified tokio with 10 000 tasks and 64 MiB of other memory. It works all
//! the time, spawns and ends tasks, and logs their lives. Each inspection is compared with that log.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use ctp_benches::inspected::lives::{Comparison, Lives};
use ctp_benches::inspected::program::{self, FEW_TYPES, MANY_TYPES, Program};
use ctp_benches::recorder;
use ctp_benches::usage::Usage;
use ctp_inspect::finder::Finder as _;
use ctp_inspect::stack_ranges::StackRanges;
use ctp_inspect::tokio::TokioFinder;
use ctp_inspect::{ProcessTarget, Target as _};
use ctp_trace::Reader;
use ctp_trace::record::{Nanos, Record, TaskKind};
use rustix::time::{ClockId, clock_gettime};

/// Inspections that are compared with the log.
const INSPECTIONS: usize = 100;
const PAIRS: usize = 5;
/// How long work is counted without inspections.
const WINDOW: Duration = Duration::from_secs(5);

fn main() {
    let (Some(recorder), Some(folder)) = (recorder(), program::build()) else {
        return;
    };
    let [few, many] = [FEW_TYPES, MANY_TYPES].map(|name| folder.join(name));
    for workers in [1, 2] {
        find_tasks(&mut Program::start(&few, workers), workers);
    }
    for path in [&few, &many] {
        let size = path.metadata().expect("the program").len();
        println!("{} ({} MB):", name(path), size / 1_000_000);
        let mut program = Program::start(path, 1);
        record(&mut program, &recorder);
        compare_work(&mut program, &recorder);
        debug(&mut program);
    }
}

fn name(path: &Path) -> std::borrow::Cow<'_, str> {
    path.file_name().unwrap_or_default().to_string_lossy()
}

/// Finds all tasks with their states and wakers, repeatedly.
fn find_tasks(program: &mut Program, workers: usize) {
    let mut target = match ProcessTarget::open(program.pid()) {
        Ok(target) => target,
        Err(error) => return println!("skipped: {error}"),
    };
    println!("{FEW_TYPES} with {workers} worker threads: find all tasks");
    let (mut finder, mut stacks) = (TokioFinder::default(), StackRanges::default());
    let (mut lives, mut inspections) = (Lives::default(), Inspections::default());
    for _ in 0..INSPECTIONS {
        let from = program.position();
        let (began, before) = (Instant::now(), processor_time());
        target.refresh().expect("the program lives");
        stacks.refresh(&target);
        let found = finder.find(&target, &stacks);
        inspections.elapsed.push(began.elapsed());
        inspections.processor.push(processor_time() - before);
        let until = program.position();
        let tasks = found.tasks.iter();
        let spawned = tasks.filter(|task| task.kind == TaskKind::Tokio);
        let ids: HashSet<u64> = spawned.map(|task| task.runtime_id).collect();
        inspections.events += until - from;
        inspections.add(&lives.compare(program, &ids, from..until), &found.gaps);
    }
    inspections.report();
}

/// What the inspections took, and how they compare with the log.
#[derive(Default)]
struct Inspections {
    elapsed: Vec<Duration>,
    processor: Vec<Duration>,
    right: usize,
    events: u64,
    gaps: usize,
}

impl Inspections {
    fn add(&mut self, comparison: &Comparison, gaps: &[String]) {
        if comparison.is_right() {
            self.right += 1;
        } else {
            println!("  {comparison:?}");
        }
        self.gaps += usize::from(!gaps.is_empty());
    }

    fn report(mut self) {
        let (right, gaps) = (self.right, self.gaps);
        println!("  {right} of {INSPECTIONS} inspections are right, {gaps} with a gap");
        let events = self.events / INSPECTIONS as u64;
        println!("  {events} events of tasks that come and go during an inspection");
        self.elapsed.sort_unstable();
        self.processor.sort_unstable();
        let processor = ms(self.processor[INSPECTIONS / 2]);
        let [least, median, most] =
            [0, INSPECTIONS / 2, INSPECTIONS - 1].map(|at| ms(self.elapsed[at]));
        println!(
            "  {processor:.0} ms of processor time; {median:.0} ms elapsed ({least:.0} to {most:.0})"
        );
    }
}

/// The processor time of this thread.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// The command that inspects repeatedly.
fn inspect(program: &Program, recorder: &Path, trace: &Path, how_often: [&str; 4]) -> Command {
    let mut command = Command::new(recorder);
    command.args(["-q", "-p", &program.pid().to_string()]);
    command.args(how_often).arg("-o").arg(trace);
    command
}

/// Where the recorder writes.
fn trace() -> PathBuf {
    std::env::temp_dir().join(format!("ctp-inspection-{}", std::process::id()))
}

/// Time and memory of inspections with await chains, by the recorder.
fn record(program: &mut Program, recorder: &Path) {
    let trace = trace();
    let mut recorded = |inspections: &str| {
        let how_often = ["--inspections", inspections, "--every", "200ms"];
        let usage = Usage::measure(&mut inspect(program, recorder, &trace, how_often));
        program.events();
        usage
    };
    let (first, all) = (recorded("1"), recorded("11"));
    let bytes = std::fs::read(&trace).expect("there is a trace");
    std::fs::remove_file(&trace).expect("was made");
    let mut times = times_of(&bytes);
    let elapsed = times.remove(0);
    times.sort_by(f64::total_cmp);
    println!(
        "  first inspection: {:.0} ms of processor time, from the start of the recorder; {elapsed:.0} ms elapsed",
        first.processor_seconds * 1e3
    );
    println!(
        "  further inspections: {:.0} ms of processor time; {:.0} ms elapsed",
        (all.processor_seconds - first.processor_seconds) * 1e2,
        times[times.len() / 2]
    );
    println!("  recorder: {} MiB at most", all.peak_kib / 1024);
}

/// Milliseconds of each inspection.
fn times_of(trace: &[u8]) -> Vec<f64> {
    let mut began = Nanos(0);
    let mut times = Vec::new();
    for record in Reader::new(trace).expect("is a trace") {
        match record.expect("undamaged") {
            Record::Inspection(inspection) => began = inspection.at,
            Record::InspectionEnd(end) => times.push(began.until(end.at).0 as f64 / 1e6),
            _ => {}
        }
    }
    times
}

/// The work that the program does with an inspection each second, relative to that without.
fn compare_work(program: &mut Program, recorder: &Path) {
    let mut ratios = Vec::new();
    let mut pauses = [Duration::ZERO; 2];
    for pair in 0..PAIRS {
        let mut rates = [0.0; 2];
        // Which comes first alternates, so that a trend does not count.
        for is_inspected in [pair % 2 == 0, pair % 2 == 1] {
            let (rate, pause) = work(program, recorder, is_inspected);
            rates[usize::from(is_inspected)] = rate;
            pauses[usize::from(is_inspected)] = pauses[usize::from(is_inspected)].max(pause);
        }
        ratios.push(rates[1] / rates[0]);
    }
    ratios.sort_by(f64::total_cmp);
    println!(
        "  work with an inspection each second: {:.1} % ({:.1} to {:.1}); longest pause {:.1} ms, without inspections {:.1}",
        100.0 * ratios[PAIRS / 2],
        100.0 * ratios[0],
        100.0 * ratios[PAIRS - 1],
        ms(pauses[1]),
        ms(pauses[0])
    );
}

/// Work per second, and the longest pause.
fn work(program: &mut Program, recorder: &Path, is_inspected: bool) -> (f64, Duration) {
    let trace = trace();
    let how_often = ["--duration", "5s", "--every", "1s"];
    let mut command = inspect(program, recorder, &trace, how_often);
    program.longest_pause();
    let (before, began) = (program.work(), Instant::now());
    if is_inspected {
        Usage::measure(&mut command);
        std::fs::remove_file(&trace).expect("was made");
    } else {
        thread::sleep(WINDOW);
    }
    let done = program.work() - before;
    let rate = done as f64 / began.elapsed().as_secs_f64();
    let pause = program.longest_pause();
    program.events();
    (rate, pause)
}

/// What gdb takes for the stacks of the threads.
fn debug(program: &mut Program) {
    let mut gdb = Command::new("gdb");
    gdb.args(["-q", "-batch", "-nx", "-p", &program.pid().to_string()]);
    gdb.args(["-ex", "thread apply all bt"]);
    gdb.stdout(Stdio::null()).stderr(Stdio::null());
    program.longest_pause();
    let began = Instant::now();
    match gdb.status() {
        Ok(status) if status.success() => println!(
            "  gdb, stacks of threads only: {:.0} ms; longest pause {:.0} ms",
            ms(began.elapsed()),
            ms(program.longest_pause())
        ),
        Ok(status) => println!("  skipped gdb: {status}"),
        Err(error) => println!("  skipped gdb: {error}"),
    }
    program.events();
}
