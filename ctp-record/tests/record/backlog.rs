//! A disk that stands still: what was read waits in memory, and the program does not wait.

use crate::lab::{Lab, Outcome, fixture};
use crate::loss::agrees;
use crate::trace::Trace;

/// Runs the rest of its arguments. What goes to `pipe` is taken from there, into `copy`, once the
/// program has written its truth; before, the pipe is full.
const STANDSTILL: &str = "mkfifo pipe; exec 3<>pipe; head -c 65536 /dev/zero >&3
    { until [ -e truth ]; do sleep 0.01; done
      exec 4<pipe 3>&-; head -c 65536 <&4 >/dev/null; cat <&4 >copy; } 2>/dev/null &
    exec 3>&-; \"$@\"; status=$?; wait; exit $status";

fn record(lab: &Lab, flags: &[&str], example: &str, arguments: &[&str]) -> Outcome {
    let recorder = lab.bare_recorder();
    let mut command = lab.command("sh");
    command.args(["-c", STANDSTILL, "sh"]);
    command.arg(recorder.get_program()).args(["-o", "pipe"]);
    command.args(flags).arg("--").arg(fixture(example));
    let outcome = lab.run(command.args(arguments));
    assert_eq!(outcome.status.code(), Some(0), "{}", outcome.stderr);
    outcome
}

// CT-11
#[test]
fn while_a_disk_stands_still_lanes_are_emptied_and_nothing_is_lost() {
    let lab = Lab::new();
    let arguments = ["truth", "4", "2500", "10"];
    record(&lab, &["--buffer", "64K"], "paced", &arguments);
    agrees(&lab, Trace::read(&lab.path("copy"))).is_complete();
}

// CT-11
#[test]
fn a_backlog_that_is_full_is_told_and_what_it_could_not_take_is_counted() {
    let lab = Lab::new();
    let flags = ["--backlog", "64K", "--buffer", "64K"];
    let outcome = record(&lab, &flags, "hot", &["truth", "2", "10", "20000"]);
    let trace = agrees(&lab, Trace::read(&lab.path("copy")));
    assert!(trace.end().lost > 0, "that is more than there is room for");
    let said = &outcome.stderr;
    assert!(said.contains("a larger --backlog"), "{said}");
}
