//! CTP-18, CT-09: the recorder is killed; the program does not notice, and the trace can be read.

use std::fs;
use std::thread::sleep;
use std::time::Duration;

use ctp_trace::Completeness;
use rustix::process::Signal;

use crate::lab::{Lab, fixture, only_child, send, wait_until};
use crate::trace::Trace;

/// Kills the recorder so long after the program has attached. Most of the time it sleeps.
fn killed_after(pause: Duration) -> Trace {
    let lab = Lab::new();
    let script = "\"$@\"; echo $? > status.new; mv status.new status";
    let mut command = lab.recorder(&[], "sh");
    command.args(["-c", script, "sh"]).arg(fixture("paced"));
    let mut recorder = command
        .args(["truth", "2", "20", "10000", "exit", "7"])
        .spawn()
        .expect("can be started");
    let program = only_child(only_child(recorder.id()));
    wait_until("its attachment", || {
        let maps = fs::read_to_string(format!("/proc/{program}/maps"));
        maps.is_ok_and(|text| text.contains("memfd:ctp"))
    });
    sleep(pause);
    send(Signal::KILL, recorder.id());
    recorder.wait().expect("was started here");
    lab.wait_for_file("status");
    assert_eq!(lab.read("status"), "7\n");
    assert_eq!(lab.truth("truth").len(), 2);
    assert_eq!(lab.read("stderr"), "", "the program says nothing of it");
    let (trace, completeness) = Trace::read_any(&lab.path("ctp.data"));
    assert!(matches!(completeness, Completeness::Truncated { .. }));
    trace
}

// CTP-18, CT-08, CT-09
#[test]
fn the_program_ends_as_it_would_and_the_trace_can_be_read() {
    for ms in [20, 105, 250, 333] {
        killed_after(Duration::from_millis(ms));
    }
}

// CT-08, CT-09
#[test]
fn what_was_recorded_before_the_last_sleep_is_on_disk() {
    let trace = killed_after(Duration::from_millis(500));
    assert_eq!(trace.coroutines.len(), 2);
    assert_eq!(trace.named("paced-0").events[0].n, 0);
    assert!(!trace.modules.is_empty());
    assert!(
        trace.sites.len() >= 2,
        "where they are spawned and where they wait"
    );
}
