//! The flight recorder: the latest events are available at any time, and earlier ones are counted.
//! The programs provide the expected values.

mod refusals;
mod snapshot_files;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Child, Output};
use std::thread::sleep;
use std::time::Duration;

use ctp_trace::record::{EndedSums, EventKind, Nanos};
use rustix::process::{Pid, Resource, Rlimit, Signal, prlimit};

use crate::killed;
use crate::lab::{Lab, fixture, program_of, runs, send, wait_until};
use crate::trace::Trace;

/// Records that a lane of 64 KiB holds.
const CAPACITY: u64 = 2048;

/// What every snapshot of a program with ample lanes must be: nothing is lost, what each coroutine
/// has is contiguous up to its end, and all of the window is there.
pub fn is_whole(trace: &Trace) {
    trace.is_complete();
    let window = trace.window.expect("it is a flight recorder's");
    assert_eq!(window.unattributed, 0);
    assert_eq!(trace.end().quarantined, 0);
    for coroutine in trace.coroutines.values() {
        let event_counts = coroutine.event_counts();
        assert!(!event_counts.inexact);
        assert_eq!(
            coroutine.earlier + event_counts.recorded,
            event_counts.attempted
        );
        assert!(!coroutine.birth.name.is_empty(), "{coroutine:?}");
    }
}

fn events_since(trace: &Trace, since: Nanos) -> u64 {
    let all = trace
        .coroutines
        .values()
        .flat_map(|coroutine| &coroutine.events);
    all.filter(|event| since <= event.at).count() as u64
}

// LT-08
#[test]
fn newest_records_are_kept_and_the_others_counted() {
    const EVENTS: u64 = 10 * CAPACITY;
    let lab = Lab::new();
    let arguments = ["truth", "1", "1", &EVENTS.to_string()];
    let outcome = lab.record(&["--flight-recorder=64K"], "hot", &arguments);
    let trace = lab.trace();
    is_whole(&trace);
    let coroutine = trace.named("hot-0-0");
    assert_eq!(coroutine.event_counts().attempted, EVENTS);
    // All events of the thread except its start are of this coroutine.
    assert_eq!(coroutine.event_counts().recorded, CAPACITY);
    assert_eq!(coroutine.earlier, EVENTS - CAPACITY, "the overrun count");
    let window = trace.window.expect("a window");
    assert_eq!(window.overwritten, EVENTS + 1 - CAPACITY);
    assert_eq!(window.since, coroutine.events[0].at);
    for event in coroutine
        .events
        .iter()
        .filter(|event| event.kind == EventKind::Suspend)
    {
        // The birth precedes the events that the program numbers.
        assert_eq!(event.arg, event.n - 1);
    }
    let message = &outcome.stderr;
    assert!(
        message.contains("20 480 events in totals (2 048 kept: the last"),
        "{message}"
    );
}

// LT-08, AGG-07
#[test]
fn totals_cover_all_and_the_window_starts_where_complete() {
    const EVENTS: u64 = 40_000;
    let lab = Lab::new();
    let arguments = ["truth", "3", "5", &EVENTS.to_string()];
    lab.record(&["--flight-recorder=64K"], "hot", &arguments);
    let trace = lab.trace();
    is_whole(&trace);
    let since = trace.window.expect("a window").since;
    let ended_sums =
        |count: fn(&EndedSums) -> u64| trace.all_ended_sums.iter().map(count).sum::<u64>();
    let mut runs = ended_sums(|ended_sums| ended_sums.running.count);
    let mut waits = ended_sums(|ended_sums| ended_sums.waiting.count);
    for coroutine in trace.coroutines.values() {
        assert_eq!(coroutine.event_counts().attempted, EVENTS);
        let aggregate = coroutine.aggregate.as_ref().expect("its totals");
        assert!(!aggregate.stands_for_events);
        runs += aggregate.running.count;
        waits += aggregate.waiting.count;
        let early = coroutine.events.iter().filter(|event| event.at < since);
        assert!(early.count() <= 8, "older is only what its station held");
    }
    let reported = trace.coroutines.len() as u64;
    assert_eq!(
        reported + ended_sums(|ended_sums| ended_sums.coroutines),
        15
    );
    assert_eq!(trace.attempted(), 15 * EVENTS);
    // A birth, runs and waits in turn, and a death at the end of a wait, which is in no total.
    assert_eq!(
        (runs, waits),
        (15 * (EVENTS / 2 - 1), 15 * (EVENTS / 2 - 2))
    );
    let kept = events_since(&trace, since);
    assert!((CAPACITY / 2..=3 * CAPACITY).contains(&kept), "{kept}");
}

/// A program that keeps running under a flight recorder until it is killed.
struct Flight {
    lab: Lab,
    recorder: Child,
    program: u32,
}

impl Flight {
    fn start(flags: &[&str], example: &str, arguments: &[&str]) -> Self {
        Self::start_in(Lab::new(), flags, example, arguments)
    }

    fn start_in(lab: Lab, flags: &[&str], example: &str, arguments: &[&str]) -> Self {
        let mut command = lab.recorder(flags, fixture(example));
        let recorder = command.args(arguments).spawn().expect("can be started");
        let program = program_of(recorder.id());
        Flight {
            lab,
            recorder,
            program,
        }
    }

    /// `ctp-record control PID snapshot ...`
    fn snapshot(&self, words: &[&str]) -> Output {
        let mut command = self.lab.bare_recorder();
        command.stdout(std::process::Stdio::piped());
        command.stderr(std::process::Stdio::piped());
        let command = command.args(["control", &self.program.to_string(), "snapshot"]);
        command.args(words).output().expect("can be run")
    }

    fn snapshot_to(&self, name: &str) -> Trace {
        let output = self.snapshot(&["-o", name]);
        assert!(output.status.success(), "{output:?}");
        self.read(name)
    }

    /// The figures of `ctp-record control PID status`.
    fn events_and_lanes(&self) -> (u64, u64) {
        let mut command = self.lab.bare_recorder();
        command.stdout(std::process::Stdio::piped());
        let output = command
            .args(["control", &self.program.to_string(), "status"])
            .output();
        let text = String::from_utf8(output.expect("can be run").stdout).expect("text");
        let figure = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|value| value.trim().parse().ok())
                .expect("a number")
        };
        (figure("events "), figure("lanes "))
    }

    /// Memory of the recorder, under this name of the kernel.
    fn recorder_kib(&self, name: &str) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.recorder.id()));
        let status = status.expect("running");
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let kib = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
        kib.expect("the kernel has this field")
    }

    fn read(&self, name: &str) -> Trace {
        Trace::read(&self.lab.path(name))
    }

    fn kill(self) -> (Lab, String) {
        send(Signal::KILL, self.program);
        let outcome = self.lab.outcome(self.recorder);
        assert_eq!(outcome.status.code(), Some(128 + 9), "{}", outcome.stderr);
        (self.lab, outcome.stderr)
    }
}

/// Coroutines come and go on several threads.
fn mortal(flags: &[&str]) -> Flight {
    let flight = Flight::start(flags, "mortal", &[killed::TRUTH, "2", "16", "400"]);
    wait_until("coroutines that come and go", || {
        killed::coroutines(&flight.lab) > 50
    });
    flight
}

/// Each event that two snapshots both have is the same in both.
fn agree(trace: &Trace, other: &Trace) -> u64 {
    let mut shared = 0;
    for (id, earlier) in &trace.coroutines {
        let Some(later) = other.coroutines.get(id) else {
            continue;
        };
        assert_eq!(earlier.birth.probe_id, later.birth.probe_id);
        let by_n: BTreeMap<u64, _> = later
            .events
            .iter()
            .map(|event| (event.n, (event.at, event.kind)))
            .collect();
        for event in &earlier.events {
            if let Some(same) = by_n.get(&event.n) {
                assert_eq!(*same, (event.at, event.kind));
                shared += 1;
            }
        }
    }
    shared
}

// LT-09, LT-05
#[test]
fn snapshots_by_command_are_correct_and_independent() {
    let flight = mortal(&["--flight-recorder=4M"]);
    sleep(Duration::from_millis(200));
    let running = flight.snapshot_to("running.ctp");
    let before = killed::events_recorded(&flight.lab);
    let (events, lanes) = flight.events_and_lanes();
    let possible = *before.start()..=*killed::events_recorded(&flight.lab).end();
    assert!(possible.contains(&events), "{events} of {possible:?}");
    assert_eq!(lanes, 3);
    send(Signal::STOP, flight.program);
    let first = flight.snapshot_to("first.ctp");
    let bytes = fs::read(flight.lab.path("first.ctp")).expect("present");
    let second = flight.snapshot_to("second.ctp");
    send(Signal::CONT, flight.program);
    for trace in [&running, &first, &second] {
        is_whole(trace);
        assert!(trace.window.expect("a window").goes_on);
        killed::events_are_as_computed(trace, &flight.lab);
    }
    agree(&running, &first);
    // The program stands still, so both have the same.
    assert_eq!(agree(&first, &second), first.end().events);
    assert_eq!(first.attempted(), second.attempted());
    assert_eq!(fs::read(flight.lab.path("first.ctp")).ok(), Some(bytes));
    assert!(
        !flight.lab.path("ctp.data").exists(),
        "nothing is written before the end"
    );
    let (lab, _) = flight.kill();
    let last = lab.trace();
    assert!(!last.window.expect("a window").goes_on);
    killed::agrees_with_notes(&last, &lab);
    assert!(second.attempted() <= last.attempted());
}

// LT-15, LT-05, LT-08, AGG-06
#[test]
fn killed_at_any_instant_the_window_is_complete() {
    let mut kept = 0;
    for run in 0..runs(20) {
        let reach = ["--flight-recorder", "--flight-recorder=16K"][run % 2];
        let flight = Flight::start(&[reach], "mortal", &[killed::TRUTH, "3", "16", "400"]);
        sleep(Duration::from_micros(run as u64 * 7_919 % 60_000));
        let (lab, _) = flight.kill();
        let trace = lab.trace();
        killed::agrees_with_notes(&trace, &lab);
        kept += trace.end().events;
    }
    assert!(kept > 0);
}

// LT-21
#[test]
fn ended_coroutines_in_the_window_have_names() {
    let lab = Lab::new();
    lab.record(
        &["--flight-recorder", "-n", "30000"],
        "churn",
        &["truth", "20000"],
    );
    let trace = lab.trace();
    is_whole(&trace);
    let truth: BTreeMap<u64, String> = lab
        .truth("truth")
        .into_iter()
        .map(|line| (line[1].parse().expect("an id"), line[0].clone()))
        .collect();
    assert_eq!(trace.coroutines.len(), truth.len(), "each is in the lane");
    for coroutine in trace.coroutines.values() {
        assert_eq!(
            Some(&coroutine.birth.name),
            truth.get(&coroutine.birth.probe_id)
        );
    }
}

#[test]
fn idle_wait_keeps_the_mark() {
    for flags in [&[][..], &["--flight-recorder"]] {
        let lab = Lab::new();
        lab.record(flags, "churn", &["truth", "3"]);
        let trace = lab.trace();
        let is_idle = |name| trace.named(name).events.last().map(|last| last.marks.idle);
        assert_eq!(is_idle("waits"), Some(true), "{flags:?}");
        assert_eq!(is_idle("runs"), Some(false), "{flags:?}");
    }
}

// LT-21, AGG-13
#[test]
fn coroutines_ended_before_the_window_are_in_totals() {
    let lab = Lab::new();
    lab.record(
        &["--flight-recorder=64K", "-n", "30000"],
        "churn",
        &["truth", "20000"],
    );
    let trace = lab.trace();
    is_whole(&trace);
    let ended_sums: u64 = trace
        .all_ended_sums
        .iter()
        .map(|all_ended_sum| all_ended_sum.coroutines)
        .sum();
    assert_eq!(ended_sums + trace.coroutines.len() as u64, 20_003);
    assert_eq!(trace.attempted(), 20_000 * 4 + 1 + 2 + 3);
    assert_eq!(trace.all_ended_sums.len(), 100, "by name");
    for ended_sums in &trace.all_ended_sums {
        // Each ran once, and was dropped during its wait.
        assert_eq!(
            (ended_sums.events, ended_sums.running.count),
            (4 * ended_sums.coroutines, ended_sums.coroutines)
        );
        assert_eq!((ended_sums.waiting.count, ended_sums.lost), (0, 0));
    }
}

// LT-09
#[test]
fn snapshot_signal_does_not_reach_the_program() {
    let flags = [
        "--flight-recorder=64K",
        "--snapshot-on",
        "signal:USR2,signal:ALRM",
    ];
    let flight = mortal(&flags);
    for (signal, name) in [(Signal::USR2, "ctp.data.1"), (Signal::ALARM, "ctp.data.2")] {
        send(signal, flight.recorder.id());
        flight.lab.wait_for_file(name);
        assert!(
            flight
                .read(name)
                .window
                .is_some_and(|window| window.goes_on)
        );
    }
    let (lab, message) = flight.kill();
    assert!(!lab.path("ctp.data").exists(), "only the requested files");
    assert!(
        message.contains("ctp-report --stuck -i ctp.data.1"),
        "{message}"
    );
    assert!(
        message.contains("no snapshot was due at this exit"),
        "{message}"
    );
    assert!(message.contains("earlier snapshots"), "{message}");
}

// LT-09
#[test]
fn snapshot_states_that_recording_is_stopped() {
    let flight = mortal(&["--flight-recorder=64K", "--snapshot-on", "signal:USR2"]);
    send(Signal::USR2, flight.recorder.id());
    flight.lab.wait_for_file("ctp.data.1");
    send(Signal::STOP, flight.program);
    let status = format!("/proc/{}/status", flight.program);
    wait_until("its stop", || {
        fs::read_to_string(&status).is_ok_and(|text| text.contains("T (stopped)"))
    });
    send(Signal::USR2, flight.recorder.id());
    flight.lab.wait_for_file("ctp.data.2");
    let sentence = format!("process {} is stopped", flight.program);
    let (_, message) = flight.kill();
    assert_eq!(message.matches(&sentence).count(), 1, "{message}");
}

// LT-09
#[test]
fn only_a_failed_program_leaves_a_snapshot() {
    let flags = ["--flight-recorder", "--snapshot-on", "exit:nonzero"];
    let flight = mortal(&flags);
    let (lab, message) = flight.kill();
    assert!(lab.trace().end().events > 0);
    assert!(message.contains("wrote ctp.data"), "{message}");
    let lab = Lab::new();
    let outcome = lab.record(&flags, "churn", &["truth", "10"]);
    assert!(!lab.path("ctp.data").exists());
    assert!(
        outcome.stderr.contains("no snapshot was due at this exit"),
        "{}",
        outcome.stderr
    );
    let message = "none was requested before";
    assert!(outcome.stderr.contains(message), "{}", outcome.stderr);
}

// LT-09, AGG-17
#[test]
fn file_and_memory_do_not_grow_with_time() {
    let flight = mortal(&["--flight-recorder=64K"]);
    let resident = || flight.recorder_kib("VmRSS:");
    let took = |name: &str| {
        let trace = flight.snapshot_to(name);
        (
            trace.attempted(),
            fs::metadata(flight.lab.path(name)).expect("there").len(),
        )
    };
    sleep(Duration::from_millis(300));
    let (events, bytes) = took("early.ctp");
    let before = resident();
    wait_until("ten times as much", || took("late.ctp").0 > 10 * events);
    let (_, later) = took("late.ctp");
    assert!(later < bytes + 400_000, "{bytes} and then {later}");
    // Ended coroutines are remembered up to a limit; this program's truth file has room for few.
    assert!(
        resident() < before + 60_000,
        "{before} and then {}",
        resident()
    );
    flight.kill();
}

// LT-09
#[test]
fn window_is_limited_to_the_given_length() {
    let lab = Lab::new();
    lab.record(
        &["--flight-recorder=50ms"],
        "paced",
        &["truth", "5", "30", "2000"],
    );
    let trace = lab.trace();
    is_whole(&trace);
    let window = trace.window.expect("a window");
    let length = trace.end().at.0 - window.since.0;
    assert!(length <= 50_000_000, "{length}");
    assert!(window.overwritten > 0);
}
