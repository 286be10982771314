//! Time and memory of a report of 10 000 000 events, compared with a plain decode of the same file,
//! which any reader needs at least. With `--large`, the table and `--stuck` of 100 000 000 events.
//! Processor times are of all threads; a second thread decodes, so that an idle machine needs less time.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use ctp_benches::reporter;
use ctp_benches::traces::{self, Scene};
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

const SCENES: [(&str, Scene); 3] = [
    (
        "1 000 coroutines that stay",
        Scene {
            events: EVENTS,
            alive: 1_000,
            sites: 50,
            events_each: 0,
        },
    ),
    (
        "100 000 coroutines that stay",
        Scene {
            events: EVENTS,
            alive: 100_000,
            sites: 50,
            events_each: 0,
        },
    ),
    (
        "1 000 000 short coroutines, 1 000 at a time",
        Scene {
            events: EVENTS,
            alive: 1_000,
            sites: 50,
            events_each: 10,
        },
    ),
];

const LARGE: (&str, Scene) = (
    "100 000 000 events, 1 000 coroutines that stay",
    Scene {
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
    let (scenes, views) = if is_large {
        (&[LARGE][..], &VIEWS[..2])
    } else {
        (&SCENES[..], &VIEWS[..])
    };
    for (what, scene) in scenes {
        traces::write(&trace, *scene).expect("there is room for a trace");
        measure(what, &reporter, &trace, views);
    }
    // On failure a temporary file stays behind.
    let _ = fs::remove_file(trace);
}

fn measure(what: &str, reporter: &Path, trace: &Path, views: &[&[&str]]) {
    let bytes = fs::read(trace).expect("was just written");
    let plain = median(|| decode(&bytes));
    println!(
        "{what}: {:.1} MB; a plain decode takes {plain:.2} s",
        bytes.len() as f64 / 1e6,
    );
    drop(bytes);
    for view in views {
        let (mut peak_kib, mut elapsed) = (0, Vec::new());
        let took = median(|| {
            let usage = report(reporter, trace, view);
            peak_kib = usage.peak_kib.max(peak_kib);
            elapsed.push(usage.elapsed_seconds);
            usage.seconds
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

fn report(reporter: &Path, trace: &Path, view: &[&str]) -> Usage {
    let mut command = Command::new(reporter);
    command
        .arg("-i")
        .arg(trace)
        .args(view)
        .stdout(Stdio::null());
    Usage::of(&mut command)
}
