//! CT-03: however and whenever the program ends, its events are in the trace.

use std::thread::sleep;
use std::time::Duration;

use ctp_trace::record::ExitReason;
use rustix::process::Signal;

use crate::lab::{Lab, fixture, monotonic_ns, only_child, program_of, runs, send, wait_until};

/// Runs `paced` with few events and no pause, so that it dies right after the last event: at most
/// eight of a coroutine, all of which are then in its slots.
fn ends(how: &[&str], status: i32, exit_reason: ExitReason) {
    for _ in 0..runs(60) {
        let lab = Lab::new();
        let mut command = lab.recorder(&[], fixture("paced"));
        let outcome = lab.run(command.args(["truth", "4", "3", "0"]).args(how));
        assert_eq!(outcome.status.code(), Some(status), "{}", outcome.stderr);
        let trace = lab.trace();
        assert_eq!(trace.end().how, exit_reason);
        for line in lab.truth("truth") {
            let events = trace.named(&line[0]).events.len();
            assert_eq!(
                events.to_string(),
                line[1],
                "{}: {}",
                line[0],
                outcome.stderr
            );
        }
    }
}

// CT-03
#[test]
fn after_exit_0() {
    ends(&["exit", "0"], 0, ExitReason::Exited(0));
}

// CT-03
#[test]
fn after_exit_3() {
    ends(&["exit", "3"], 3, ExitReason::Exited(3));
}

// CT-03
#[test]
fn after_abort() {
    ends(&["abort"], 128 + 6, ExitReason::Signalled(6));
}

// CT-03
#[test]
fn after_sigkill() {
    ends(&["kill"], 128 + 9, ExitReason::Signalled(9));
}

// CT-03, CTP-19
#[test]
fn killed_writer_keeps_complete_slots_only() {
    for _ in 0..runs(60) {
        let lab = Lab::new();
        let mut command = lab.recorder(&[], fixture("hot"));
        let recorder = command.args(["truth", "2", "2", "0"]).spawn();
        let recorder = recorder.expect("can be started");
        lab.wait_for_file("truth.ready");
        send(Signal::KILL, only_child(recorder.id()));
        let outcome = lab.outcome(recorder);
        assert_eq!(outcome.status.code(), Some(128 + 9));
        let trace = lab.trace();
        assert_eq!(trace.end().quarantined, 0);
        for coroutine in trace.coroutines.values() {
            let (event_counts, events) = (coroutine.event_counts(), &coroutine.events);
            let attempted = event_counts.attempted;
            assert!(event_counts.torn.is_none_or(|torn| torn == attempted));
            let tail: Vec<u64> = events.iter().rev().take(7).map(|event| event.n).collect();
            let slots: Vec<u64> = (0..attempted).rev().take(7).collect();
            assert_eq!(tail, slots, "all but the one that may be torn");
            assert!(!event_counts.inexact);
        }
    }
}

// CT-03
#[test]
fn end_noticed_late_is_not_late_in_the_trace() {
    // Longer than the recorder ever sleeps.
    let late = Duration::from_millis(1_500);
    for flag in ["", "--wait-all", "--summary", "--flight-recorder"] {
        let flags: Vec<&str> = Some(flag)
            .filter(|text| !text.is_empty())
            .into_iter()
            .collect();
        let lab = Lab::new();
        let mut command = lab.recorder(&flags, fixture("family"));
        let steps = "truth work parent 2 100 fork work child 3 100 await go work late 3 100";
        let recorder = command.args(steps.split(' ')).spawn().expect("starts");
        let program = program_of(recorder.id());
        wait_until("both have worked", || {
            lab.path("truth").exists() && lab.truth("truth").len() == 2
        });
        send(Signal::STOP, recorder.id());
        std::fs::write(lab.path("go"), "").expect("can be made");
        wait_until("its end", || !alive(program));
        let dead_ns = monotonic_ns();
        sleep(late);
        send(Signal::CONT, recorder.id());
        lab.outcome(recorder);
        let trace = lab.trace();
        let (end, own) = (trace.end().at, trace.named("late"));
        assert!(trace.start.started_monotonic_ns + end.0 <= dead_ns);
        let mut ends = trace.process_ends.iter();
        let left = ends.find(|end| end.process == own.birth.process);
        let left = left.expect("the child has ended").at;
        let latest = own.events.last().expect("some events").at;
        assert!(
            latest <= left && left <= end,
            "{flag}: {latest:?} {left:?} {end:?}"
        );
    }
}

// CT-03
#[test]
fn flight_recorder_that_notices_a_crash_late_has_the_past() {
    let lab = Lab::new();
    let mut command = lab.recorder(&["--flight-recorder=300ms"], fixture("hot"));
    let recorder = command.args(["truth", "2", "2", "0"]).spawn();
    let recorder = recorder.expect("can be started");
    lab.wait_for_file("truth.ready");
    let program = program_of(recorder.id());
    sleep(Duration::from_millis(100));
    send(Signal::STOP, recorder.id());
    send(Signal::KILL, program);
    wait_until("its end", || !alive(program));
    let dead_ns = monotonic_ns();
    sleep(Duration::from_millis(600));
    send(Signal::CONT, recorder.id());
    lab.outcome(recorder);
    let trace = lab.trace();
    let (end, since) = (trace.end().at, trace.window.expect("it has one").since);
    assert!(trace.start.started_monotonic_ns + end.0 <= dead_ns);
    let events = trace
        .coroutines
        .values()
        .flat_map(|coroutine| &coroutine.events);
    let kept = events.filter(|event| since <= event.at).count();
    assert!(100 < kept, "{kept} events since {since:?} of {end:?}");
}

// CT-02
#[test]
fn surviving_child_is_reported_and_not_waited_for() {
    for pause in ["1000", "0"] {
        let lab = Lab::new();
        let outcome = lab.record(&[], "survivor", &["pid", pause]);
        let pid: u32 = lab.read("pid").parse().expect("a process id");
        send(Signal::KILL, pid);
        let line = format!("still running, no longer recorded: survivor (pid {pid})");
        assert!(outcome.stderr.contains(&line), "{}", outcome.stderr);
        let trace = lab.trace();
        assert_eq!(trace.named("child").birth.process, trace.processes[1].id);
        assert_eq!(trace.processes[1].pid, pid);
        wait_until("its end", || !alive(pid));
    }
}

fn alive(pid: u32) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !state.is_empty() && !state.contains(") Z ")
}
