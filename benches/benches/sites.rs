//! Time of a report of programs that wait at 20 and at 2 000 sites, with the same number of events. Times
//! are processor times.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use ctp_benches::reporter;
use ctp_benches::traces::{self, Workload};
use ctp_benches::usage::Usage;

const EVENTS: u64 = 5_000_000;
const ROUNDS: usize = 5;
const SITES: [u32; 2] = [20, 2_000];
const VIEWS: [&[&str]; 3] = [&[], &["--stuck"], &["--flame", "/dev/null"]];

// CT-21
fn main() {
    let Some(reporter) = reporter() else {
        return;
    };
    let traces = SITES.map(|sites| {
        let name = format!("ctp-bench-sites-{sites}-{}.data", std::process::id());
        let trace = std::env::temp_dir().join(name);
        let workload = Workload {
            events: EVENTS,
            alive: 2_000,
            sites,
            events_each: 0,
        };
        traces::write(&trace, workload).expect("there is room for a trace");
        trace
    });
    for view in VIEWS {
        let [few, many] = traces
            .each_ref()
            .map(|trace| fastest(&reporter, trace, view));
        println!(
            "ctp-report {:<18} {few:>6.0} ns an event with {} sites, {many:>6.0} with {}: {:.2} x",
            view.join(" "),
            SITES[0],
            SITES[1],
            many / few
        );
    }
    // On failure temporary files stay behind.
    traces.iter().for_each(|trace| _ = fs::remove_file(trace));
}

/// Nanoseconds of processor time an event.
fn fastest(reporter: &Path, trace: &Path, view: &[&str]) -> f64 {
    let times = (0..ROUNDS).map(|_| {
        let mut command = Command::new(reporter);
        command.arg("-i").arg(trace).args(view);
        Usage::measure(command.stdout(Stdio::null())).processor_seconds
    });
    times.fold(f64::MAX, f64::min) * 1e9 / EVENTS as f64
}
