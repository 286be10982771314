//! Measures the time and the memory of reports of 10 000 000 events. The comparison is a plain decode of the same file,
//! which is the least that any reader needs. With `--large`, only the table and `--stuck`, of 100 000 000 events.
//!
//! The processor time is that of all threads. A second thread decodes, so the elapsed time is shorter on an idle machine.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use ctp_benches::reporter;
use ctp_benches::traces::{self, Workload};
use ctp_benches::usage::Usage;
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

const WORKLOADS: [(&str, Workload); 3] = [
    (
        "1 000 coroutines that stay",
        Workload {
            events: EVENTS,
            alive: 1_000,
            sites: 50,
            events_each: 0,
        },
    ),
    (
        "100 000 coroutines that stay",
        Workload {
            events: EVENTS,
            alive: 100_000,
            sites: 50,
            events_each: 0,
        },
    ),
    (
        "1 000 000 short coroutines, 1 000 at a time",
        Workload {
            events: EVENTS,
            alive: 1_000,
            sites: 50,
            events_each: 10,
        },
    ),
];

const LARGE: (&str, Workload) = (
    "100 000 000 events, 1 000 coroutines that stay",
    Workload {
        events: 10 * EVENTS,
        alive: 1_000,
        sites: 50,
        events_each: 0,
    },
);

// CT-21
fn main() {
    let Some(reporter) = reporter() else {
        return;
    };
    let trace = std::env::temp_dir().join(format!("ctp-bench-{}.data", std::process::id()));
    let is_large = std::env::args().any(|argument| argument == "--large");
    let (workloads, views) = if is_large {
        (&[LARGE][..], &VIEWS[..2])
    } else {
        (&WORKLOADS[..], &VIEWS[..])
    };
    for (what, workload) in workloads {
        traces::write(&trace, *workload).expect("there is room for a trace");
        measure(what, &reporter, &trace, views);
    }
    // On failure a temporary file stays behind.
    let _ = fs::remove_file(trace);
}

fn measure(what: &str, reporter: &Path, trace: &Path, views: &[&[&str]]) {
    let bytes = fs::read(trace).expect("was just written");
    let plain = median_of_rounds(|| decode(&bytes));
    println!(
        "{what}: {:.1} MB; a plain decode takes {plain:.2} s",
        bytes.len() as f64 / 1e6,
    );
    drop(bytes);
    for view in views {
        let (mut peak_kib, mut elapsed) = (0, Vec::new());
        let took = median_of_rounds(|| {
            let usage = report(reporter, trace, view);
            peak_kib = usage.peak_kib.max(peak_kib);
            elapsed.push(usage.elapsed_seconds);
            usage.processor_seconds
        });
        println!(
            "  ctp-report {:<21} {took:>5.2} s of processors, {:>4.1} x the decode, in {:.2} s; {:>4} MiB at most",
            view.join(" "),
            took / plain,
            elapsed.iter().copied().fold(f64::MAX, f64::min),
            peak_kib / 1024
        );
    }
}

/// Measures several times, and returns the median.
fn median_of_rounds(mut seconds: impl FnMut() -> f64) -> f64 {
    let mut times: Vec<f64> = (0..ROUNDS).map(|_| seconds()).collect();
    times.sort_by(f64::total_cmp);
    times[ROUNDS / 2]
}

/// Decodes the trace, and returns the processor time of this thread in seconds.
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

fn report(reporter: &Path, trace: &Path, view: &[&str]) -> Usage {
    let mut command = Command::new(reporter);
    command
        .arg("-i")
        .arg(trace)
        .args(view)
        .stdout(Stdio::null());
    Usage::measure(&mut command)
}
