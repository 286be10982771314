//! Stopping, resuming and filtering a recording while the program runs at full speed. The program
//! counts its events (`examples/controlled.rs`).

mod processes;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::net::UnixListener;
use std::process::Child;

use ctp_nostd::request::FIRST_OWN_ID;
use ctp_trace::record::{Act, Close, EventCounts, EventKind, ProcessId, Record, ThreadEvent};
use ctp_trace::verdict::Verdict;
use ctp_trace::{Reader, TraceModel};
use rustix::process::Signal;

use crate::lab::{Lab, Outcome, fixture, monotonic_ns, program_of, send, wait_until};
use crate::trace::{Coroutine, Trace};

/// A recording of `controlled`, and the process that is recorded.
struct Recording {
    lab: Lab,
    recorder: Child,
    program: u32,
}

impl Recording {
    fn start(flags: &[&str]) -> Self {
        let lab = Lab::new();
        let mut command = lab.recorder(flags, fixture("controlled"));
        let recorder = command.arg(".").spawn().expect("can be started");
        let program = program_of(recorder.id());
        lab.wait_for_file("tids");
        Recording {
            lab,
            recorder,
            program,
        }
    }

    /// `ctp-record control PID WORDS`, of the program or of the recorder.
    fn try_control(&self, pid: u32, words: &[&str]) -> Outcome {
        let mut command = self.lab.bare_recorder();
        // Not into the files of the recording itself.
        let create = |name| fs::File::create(self.lab.path(name)).expect("can be made");
        command.stdout(create("said")).stderr(create("complained"));
        command.args(["control", &pid.to_string()]).args(words);
        let status = command.status().expect("can be started");
        Outcome {
            status,
            stdout: self.lab.read("said"),
            stderr: self.lab.read("complained"),
        }
    }

    fn control(&self, words: &[&str]) -> String {
        let outcome = self.try_control(self.program, words);
        assert_eq!(outcome.status.code(), Some(0), "{}", outcome.stderr);
        outcome.stdout
    }

    /// Starts the program's next step.
    fn step(&self, name: &str) {
        fs::write(self.lab.path(name), "").expect("can be made");
        self.lab.wait_for_file(&format!("{name}.done"));
    }

    fn end(self) -> (Lab, Outcome) {
        self.end_of("end")
    }

    fn end_of(self, name: &str) -> (Lab, Outcome) {
        fs::write(self.lab.path(name), "").expect("can be made");
        let outcome = self.lab.outcome(self.recorder);
        assert_eq!(outcome.status.code(), Some(0), "{}", outcome.stderr);
        (self.lab, outcome)
    }
}

/// Each coroutine's account by name; the short coroutines share an entry.
fn accounts(trace: &Trace) -> BTreeMap<&str, EventCounts> {
    let mut accounts: BTreeMap<&str, EventCounts> = BTreeMap::new();
    for coroutine in trace.coroutines.values() {
        let (event_counts, sum) = (
            coroutine.event_counts(),
            accounts.entry(&coroutine.birth.name).or_default(),
        );
        assert!(!event_counts.inexact, "{coroutine:?}");
        sum.attempted += event_counts.attempted;
        sum.recorded += event_counts.recorded;
        sum.filtered += event_counts.filtered;
        sum.hidden = event_counts.hidden;
    }
    for ended_sums in &trace.all_ended_sums {
        let sum = accounts.entry(&ended_sums.name).or_default();
        sum.attempted += ended_sums.events + ended_sums.lost;
        sum.filtered += ended_sums.filtered;
        // Its last event was filtered, or more events would be recorded.
        sum.hidden = Some(EventKind::Death);
    }
    accounts
}

/// What the program counted is what was recorded, lost or filtered: of each coroutine.
fn assert_nothing_is_missing(lab: &Lab, trace: &Trace) {
    let accounts = accounts(trace);
    for line in lab.truth("truth") {
        let events: u64 = line[1].parse().expect("a number");
        let account = accounts[line[0].as_str()];
        assert_eq!(account.attempted + account.filtered, events, "{line:?}");
    }
}

fn verdicts(lab: &Lab) -> BTreeMap<String, Verdict> {
    let bytes = fs::read(lab.path("ctp.data")).expect("there is a trace");
    let mut trace_model = TraceModel::new();
    for record in Reader::new(&bytes).expect("a trace") {
        trace_model.consume(&record.expect("a complete record"));
    }
    let name = |id| trace_model.name(trace_model.get(id).expect("present").name);
    let judged = trace_model.judge(ctp_trace::record::Nanos(1)).into_iter();
    judged
        .map(|(id, judgement)| (name(id).to_owned(), judgement.verdict))
        .collect()
}

fn times(coroutine: &Coroutine, trace: &Trace) -> Vec<u64> {
    let start = trace.start.started_monotonic_ns;
    coroutine
        .events
        .iter()
        .map(|event| event.at.0 + start)
        .collect()
}

/// The closed resources that were recorded.
fn closed(trace: &Trace) -> Vec<u64> {
    let close = |thread_event: &ThreadEvent| match thread_event.act {
        Act::Close(Close { arg, .. }) => Some(arg),
        _ => None,
    };
    trace.thread_events.iter().filter_map(close).collect()
}

fn a_stop_is_exact(flags: &[&str]) -> Trace {
    let recording = Recording::start(flags);
    let message = recording.control(&["stop"]);
    assert!(message.starts_with("stopped as of "), "{message}");
    let stopped = monotonic_ns();
    recording.step("during");
    let resumed = monotonic_ns();
    recording.control(&["start"]);
    recording.step("after");
    let (lab, outcome) = recording.end();
    let message = &outcome.stderr;
    assert!(
        message.contains("dropped by ctp-record control"),
        "{message}"
    );
    let trace = lab.trace();
    assert_nothing_is_missing(&lab, &trace);
    for coroutine in trace.coroutines.values() {
        assert_eq!(
            times(coroutine, &trace)
                .iter()
                .find(|at| (stopped..resumed).contains(*at)),
            None,
            "{coroutine:?}"
        );
        // A suspend began at the time that it carries; its thread may have been stopped since.
        let start = trace.start.started_monotonic_ns;
        let mut events = coroutine.events.iter().filter(|event| event.arg != 0);
        let is_early = |at: u64, began: u64| at < resumed && (stopped..resumed).contains(&began);
        assert!(!events.any(|event| is_early(event.at.0 + start, event.arg)));
    }
    let accounts = accounts(&trace);
    let account = |name: &str| (accounts[name].filtered, accounts[name].hidden);
    assert_eq!(account("sleeper"), (2, Some(EventKind::Suspend)));
    assert_eq!(account("mortal"), (1, Some(EventKind::Death)));
    assert_eq!(account("idle"), (0, None));
    assert_eq!(account("late"), (3, None));
    assert!(trace.named("late").events[0].after_filtered);
    assert!(0 < accounts["worker-0"].filtered && 0 < accounts["short"].filtered);
    let verdicts = verdicts(&lab);
    assert_eq!(verdicts["sleeper"], Verdict::Unknown);
    assert_ne!(verdicts["idle"], Verdict::Unknown);
    assert_eq!(verdicts.get("mortal"), None);
    trace
}

// LT-10, LT-11
#[test]
fn no_event_is_recorded_after_a_stop_and_all_are_counted() {
    let trace = a_stop_is_exact(&[]);
    assert_eq!(closed(&trace), [2], "1 was closed meanwhile");
}

// LT-10
#[test]
fn stop_works_with_slots_only() {
    a_stop_is_exact(&["--buffer", "0"]);
}

// LT-10
#[test]
fn stop_works_under_a_flight_recorder() {
    a_stop_is_exact(&["--flight-recorder"]);
}

// LT-10, LT-11
#[test]
fn no_total_spans_a_stop() {
    let trace = a_stop_is_exact(&["--summary"]);
    let counts = |name| {
        let aggregate = trace
            .named(name)
            .aggregate
            .as_ref()
            .expect("it was recorded");
        (aggregate.waiting.count, aggregate.running.count)
    };
    assert_eq!(counts("sleeper"), (0, 1));
    assert_eq!(counts("late"), (0, 1), "it ran once while recorded");
}

// LT-10
#[test]
fn program_stopped_during_an_event_does_not_block_control() {
    let recording = Recording::start(&[]);
    send(Signal::STOP, recording.program);
    let message = recording.control(&["stop"]);
    assert!(message.starts_with("stopped as of "), "{message}");
    send(Signal::CONT, recording.program);
    recording.step("during");
    recording.control(&["start"]);
    recording.step("after");
    let (lab, _) = recording.end();
    assert_nothing_is_missing(&lab, &lab.trace());
}

// LT-11
#[test]
fn each_event_is_judged_by_a_single_filter() {
    let recording = Recording::start(&[]);
    let tids = recording.lab.truth("tids");
    let [a, b] = [&tids[0][0], &tids[1][0]];
    let filters = [
        [
            "filter".to_owned(),
            "kind=run".to_owned(),
            format!("tid={a}"),
        ],
        [
            "filter".to_owned(),
            "kind=suspend".to_owned(),
            format!("tid={b}"),
        ],
    ];
    let apply = |filter: &[String; 3]| {
        recording.control(&[&filter[0], &filter[1], &filter[2]]);
    };
    apply(&filters[0]);
    let first = monotonic_ns();
    for round in 1..20 {
        apply(&filters[round % 2]);
    }
    let status = recording.control(&["status", "--json"]);
    let expected = format!("\"filter\": \"kind=suspend tid={b}\"");
    assert!(status.contains(&expected), "{status}");
    assert!(status.contains("\"events_per_s\": "), "{status}");
    assert!(!status.contains("\"events_per_s\": 0,"), "{status}");
    recording.step("during");
    recording.step("after");
    let (lab, _) = recording.end();
    let trace = lab.trace();
    assert_nothing_is_missing(&lab, &trace);
    let start = trace.start.started_monotonic_ns;
    let late = |coroutine: &Coroutine| -> Vec<(u64, EventKind)> {
        let late = coroutine
            .events
            .iter()
            .filter(|event| first < event.at.0 + start);
        late.map(|event| (event.tid, event.kind)).collect()
    };
    let [a, b] = [a, b].map(|tid| tid.parse::<u64>().expect("an id"));
    for coroutine in trace.coroutines.values() {
        for (tid, kind) in late(coroutine) {
            assert!(is_kept(kind, tid, [a, b]), "{tid} {kind:?}");
        }
    }
    let short = trace
        .coroutines
        .values()
        .filter(|coroutine| coroutine.birth.name == "short");
    assert!(
        short
            .map(|short| short.last())
            .all(|last| last == EventKind::Death)
    );
    let workers = ["worker-0", "worker-1"].map(|name| trace.named(name));
    assert!(workers.into_iter().all(|worker| !late(worker).is_empty()));
}

/// Whether a filter for runs of the first thread, or for suspends of the second, keeps this event.
fn is_kept(kind: EventKind, tid: u64, [runs, suspends]: [u64; 2]) -> bool {
    match kind {
        EventKind::Run => tid == runs,
        EventKind::Suspend => tid == suspends,
        EventKind::Birth | EventKind::Death => true,
    }
}

/// Any process can bind a path that looks like a recorder's.
#[test]
fn only_the_recorder_itself_answers() {
    let recording = Recording::start(&[]);
    let pid = recording.recorder.id();
    let imitated = |number: u32| recording.lab.path(&format!("ctp-{pid}-{number}"));
    // Enough that some of them come before the recorder's own in the kernel's list.
    let imitations = (1..300).map(|number| {
        fs::create_dir(imitated(number)).expect("can be made");
        UnixListener::bind(imitated(number).join("control")).expect("can be bound")
    });
    let _imitations: Vec<UnixListener> = imitations.collect();
    let status = recording.try_control(pid, &["status"]);
    assert!(status.stdout.contains("recording      on\n"), "{status:?}");
    recording.step("during");
    recording.step("after");
    recording.end();
}

#[test]
fn control_reports_why_a_process_cannot_be_controlled() {
    let recording = Recording::start(&[]);
    let refused = |pid: u32, words: &[&str]| {
        let outcome = recording.try_control(pid, words);
        (outcome.status.code(), outcome.stderr)
    };
    let (status, message) = refused(std::process::id(), &["stop"]);
    assert_eq!(status, Some(1));
    assert!(
        message.contains("neither records nor was started"),
        "{message}"
    );
    let (status, message) = refused(4_194_305, &["stop"]);
    assert_eq!(status, Some(1));
    assert!(message.contains("there is no process 4194305"), "{message}");
    let (status, message) = refused(recording.program, &["filter", "pid=1"]);
    assert_eq!(status, Some(1));
    assert!(
        message.contains("process 1 is not recorded here"),
        "{message}"
    );
    let (status, message) = refused(recording.program, &["filter", "min=1ms"]);
    assert_eq!(status, Some(2));
    assert!(message.contains("is not a filter condition"), "{message}");
    let status = recording.try_control(recording.recorder.id(), &["status"]);
    assert!(status.stdout.contains("recording      on\n"), "{status:?}");
    assert!(status.stdout.contains("filtered       0\n"), "{status:?}");
    recording.step("during");
    recording.step("after");
    let (lab, _) = recording.end();
    assert_nothing_is_missing(&lab, &lab.trace());
}

// LT-10
#[test]
fn stop_is_refused_if_events_keep_coming() {
    let lab = Lab::new();
    let mut command = lab.recorder(&[], fixture("v1_writer"));
    let writes = "truth d2 3 1000000 1 1000 silent".split(' ');
    let recorder = command.args(writes).spawn().expect("can be started");
    let recording = Recording {
        program: program_of(recorder.id()),
        lab,
        recorder,
    };
    let names = |line: &str| recording.control(&["status"]).contains(line);
    wait_until("it writes", || names("plain          3\n"));
    let outcome = recording.try_control(recording.program, &["stop"]);
    assert_eq!(outcome.status.code(), Some(1), "{}", outcome.stdout);
    let message = outcome.stderr;
    assert!(message.contains("does not support control"), "{message}");
    assert!(names("recording      on\n"));
    send(Signal::KILL, recording.program);
    recording.lab.outcome(recording.recorder);
    let bytes = fs::read(recording.lab.path("ctp.data")).expect("there is a trace");
    let mut records = Reader::new(&bytes).expect("it is one");
    assert!(!records.any(|record| matches!(record, Ok(Record::Control(_)))));
}

#[test]
fn a_program_called_control_is_run() {
    let lab = Lab::new();
    std::os::unix::fs::symlink("/bin/true", lab.path("control")).expect("can be made");
    let mut command = lab.bare_recorder();
    command.args(["--", "control"]).env("PATH", lab.path("."));
    assert_eq!(lab.run(&mut command).status.code(), Some(0));
    assert!(lab.path("ctp.data").exists());
}

/// The records of the changes.
#[test]
fn trace_has_the_filters_with_their_times() {
    let recording = Recording::start(&[]);
    recording.control(&["stop"]);
    recording.control(&["filter", "kind=run"]);
    recording.control(&["start"]);
    let program = recording.program;
    recording.step("during");
    recording.step("after");
    let (lab, _) = recording.end();
    let bytes = fs::read(lab.path("ctp.data")).expect("there is a trace");
    let records = Reader::new(&bytes).expect("a trace").flatten();
    let changes: Vec<_> = records
        .filter_map(|record| match record {
            Record::Control(control) => Some(control),
            _ => None,
        })
        .collect();
    let reported = changes
        .iter()
        .map(|change| (change.stopped, change.without_suspends));
    assert!(reported.eq([(true, false), (true, true), (false, true)]));
    assert!(
        changes
            .iter()
            .all(|change| change.pid == program && !change.without_runs)
    );
    assert!(changes.is_sorted_by_key(|change| (change.generation, change.at)));
}
