//! A disk that stands still: what was read waits in memory, and the program does not wait.

use std::time::SystemTime;

use crate::lab::{Lab, Outcome, fixture};
use crate::loss::agrees;
use crate::trace::Trace;

/// Runs the rest of its arguments. What goes to `pipe` is taken from there, into `copy`, some seconds
/// (the first argument) after the program has written its truth, and since `moved` is there; before,
/// the pipe is full.
const NO_PROGRESS: &str = "mkfifo pipe; exec 3<>pipe; head -c 65536 /dev/zero >&3
    stood=$1; shift
    { until [ -e truth ]; do sleep 0.01; done; sleep $stood; : >moved
      exec 4<pipe 3>&-; head -c 65536 <&4 >/dev/null; cat <&4 >copy; } 2>/dev/null &
    exec 3>&-; \"$@\"; status=$?; wait; exit $status";

fn record(lab: &Lab, flags: &[&str], example: &str, arguments: &[&str]) -> Outcome {
    record_while("0", lab, flags, example, arguments)
}

fn record_while(
    stood: &str,
    lab: &Lab,
    flags: &[&str],
    example: &str,
    arguments: &[&str],
) -> Outcome {
    let recorder = lab.bare_recorder();
    let mut command = lab.command("sh");
    command.args(["-c", NO_PROGRESS, "sh", stood]);
    command.arg(recorder.get_program()).args(["-o", "pipe"]);
    command.args(flags).arg("--").arg(fixture(example));
    let outcome = lab.run(command.args(arguments));
    assert_eq!(outcome.status.code(), Some(0), "{}", outcome.stderr);
    outcome
}

// CT-11
#[test]
fn stalled_disk_causes_no_loss() {
    let lab = Lab::new();
    let arguments = ["truth", "4", "2500", "10"];
    record(&lab, &["--buffer", "64K"], "paced", &arguments);
    agrees(&lab, Trace::read(&lab.path("copy"))).is_complete();
}

// CT-11
#[test]
fn full_backlog_is_reported_and_the_losses_counted() {
    let lab = Lab::new();
    let flags = ["--backlog", "64K", "--buffer", "64K"];
    let outcome = record(&lab, &flags, "hot", &["truth", "2", "10", "20000"]);
    let trace = agrees(&lab, Trace::read(&lab.path("copy")));
    assert!(trace.end().lost > 0, "that is more than there is room for");
    let message = &outcome.stderr;
    assert!(message.contains("a larger --backlog"), "{message}");
}

// CT-11
#[test]
fn smallest_backlog_does_not_delay_the_program() {
    let lab = Lab::new();
    lab.record(&["--backlog", "1K"], "hot", &["truth", "2", "10", "20000"]);
    agrees(&lab, lab.trace());
}

// CT-03
#[test]
fn ages_end_with_the_program_despite_slow_writing() {
    let lab = Lab::new();
    let (flags, arguments) = (["--backlog", "64K"], ["truth", "2", "10", "20000"]);
    let started = SystemTime::now();
    record_while("1", &lab, &flags, "hot", &arguments);
    let moved = lab
        .path("moved")
        .metadata()
        .and_then(|metadata| metadata.modified());
    let stood = moved.expect("present").duration_since(started);
    let end_ns = u128::from(Trace::read(&lab.path("copy")).end().at.0);
    assert!(end_ns < stood.expect("that was later").as_nanos());
}
