//! CT-02: a limit of processor time (`ulimit -t`) that recorder and program share.

use std::os::unix::process::ExitStatusExt as _;

use crate::interrupted::left_over;
use crate::lab::{Lab, fixture};

/// Records a program at full speed until its limit ends it.
fn trace_is_complete((soft, hard): (&str, &str), flags: &[&str]) {
    let lab = Lab::new();
    let recorder = lab.recorder(flags, fixture("hot"));
    let mut command = lab.command("sh");
    let script = format!("ulimit -S -t {soft}; ulimit -H -t {hard}; exec \"$@\"");
    command
        .args(["-c", &script, "sh"])
        .arg(recorder.get_program())
        .args(recorder.get_args());
    let outcome = lab.run(command.args(["truth", "2", "8", "0"]));
    let message = &outcome.stderr;
    assert_eq!(outcome.status.signal(), None, "{soft}:{hard} {message}");
    assert!(message.contains("ctp-record: wrote ctp.data"), "{message}");
    // Reading fails where the last record is missing.
    assert!(0 < lab.trace().end().events, "{soft}:{hard} {message}");
    assert_eq!(left_over(&lab), [""; 0]);
}

// CT-02
#[test]
fn trace_is_complete_at_the_limit_of_processor_time() {
    for limits in [("1", "2"), ("2", "3"), ("3", "3")] {
        trace_is_complete(limits, &[]);
    }
}

// CT-02
#[test]
fn snapshot_is_complete_at_the_limit_of_processor_time() {
    for limits in [("1", "2"), ("2", "3"), ("3", "3")] {
        trace_is_complete(limits, &["--flight-recorder"]);
    }
}
