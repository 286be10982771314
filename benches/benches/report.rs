//! Time and memory of a report of 10 000 000 events, compared with a plain decode of the same file,
//! which any reader needs at least. Times are processor times: with a single thread, the time on an
//! idle machine.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use ctp_benches::traces::{self, Scene};
use ctp_trace::Reader;
use rustix::time::{ClockId, clock_gettime};

const EVENTS: u64 = 10_000_000;
const ROUNDS: usize = 3;

const VIEWS: [&[&str]; 4] = [
    &[],
    &["--stuck"],
    &["--flame", "/dev/null"],
    &["--timeline", "/dev/null"],
];

const SCENES: [(&str, Scene); 3] = [
    (
        "1 000 coroutines that stay",
        Scene {
            events: EVENTS,
            alive: 1_000,
            events_each: 0,
        },
    ),
    (
        "100 000 coroutines that stay",
        Scene {
            events: EVENTS,
            alive: 100_000,
            events_each: 0,
        },
    ),
    (
        "1 000 000 short coroutines, 1 000 at a time",
        Scene {
            events: EVENTS,
            alive: 1_000,
            events_each: 10,
        },
    ),
];

// CT-21
fn main() {
    let me = std::env::current_exe().expect("has a path");
    let reporter = me.with_file_name("../ctp-report");
    if !reporter.exists() {
        println!("skipped, build the reporter first: cargo build --release");
        return;
    }
    let trace = std::env::temp_dir().join(format!("ctp-bench-{}.data", std::process::id()));
    for (what, scene) in SCENES {
        traces::write(&trace, scene).expect("there is room for a trace");
        measure(what, &reporter, &trace);
    }
    // On failure a temporary file stays behind.
    let _ = fs::remove_file(trace);
}

fn measure(what: &str, reporter: &Path, trace: &Path) {
    let bytes = fs::read(trace).expect("was just written");
    let plain = median(|| decode(&bytes));
    println!(
        "{what}: {:.1} MB; a plain decode takes {plain:.2} s",
        bytes.len() as f64 / 1e6,
    );
    drop(bytes);
    for view in VIEWS {
        let mut peak_kib = 0;
        let took = median(|| {
            let usage = report(reporter, trace, view);
            peak_kib = usage.peak_kib.max(peak_kib);
            usage.seconds
        });
        println!(
            "  ctp-report {:<21} {took:>5.2} s, {:>4.1} x the decode, {:>4} MiB at most",
            view.join(" "),
            took / plain,
            peak_kib / 1024
        );
    }
}

fn median(mut seconds: impl FnMut() -> f64) -> f64 {
    let mut times: Vec<f64> = (0..ROUNDS).map(|_| seconds()).collect();
    times.sort_by(f64::total_cmp);
    times[ROUNDS / 2]
}

fn decode(bytes: &[u8]) -> f64 {
    let now = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
    };
    let begin = now();
    let records = Reader::new(bytes).expect("a trace").count();
    assert!(records as u64 > EVENTS);
    now() - begin
}

/// Processor time and peak memory of a process so far.
#[derive(Clone, Copy, Default)]
struct Usage {
    seconds: f64,
    peak_kib: u64,
}

/// The usage in the last sample before the end, at most 2 ms earlier.
fn report(reporter: &Path, trace: &Path, view: &[&str]) -> Usage {
    let mut child = Command::new(reporter)
        .arg("-i")
        .arg(trace)
        .args(view)
        .stdout(Stdio::null())
        .spawn()
        .expect("can run the reporter");
    let mut usage = Usage::default();
    while is_running(&mut child) {
        usage = usage_of(child.id()).unwrap_or(usage);
        std::thread::sleep(Duration::from_millis(2));
    }
    usage
}

fn is_running(child: &mut Child) -> bool {
    match child.try_wait().expect("can be waited for") {
        None => true,
        Some(status) => {
            assert!(status.success(), "{status}");
            false
        }
    }
}

/// `None` once the process is a zombie.
fn usage_of(pid: u32) -> Option<Usage> {
    let proc = PathBuf::from(format!("/proc/{pid}"));
    let status = fs::read_to_string(proc.join("status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let times = fs::read_to_string(proc.join("schedstat")).ok()?;
    let ns: f64 = times.split(' ').next()?.parse().ok()?;
    Some(Usage {
        seconds: ns / 1e9,
        peak_kib: line.trim().trim_end_matches(" kB").parse().ok()?,
    })
}
