//! CTP-26, CT-15: programs with another monotonic clock than the recorder. The program logs how
//! long after the start of its wait each timer is due (`examples/timers.rs`).

mod c_probes;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use ctp_trace::record::{Nanos, WaitKind};
use ctp_trace::verdict::Verdict;
use ctp_trace::{Reader, TraceModel};

use crate::lab::{Lab, fixture};

/// Neither a busy machine nor the recorder's own times are off by so much; the clocks are by more.
const NEAR_NS: i64 = 2_000_000_000;

/// How to start a program in a time namespace.
const WAYS: [&[&str]; 4] = [
    &["unshare", "-f", "-T", "--monotonic", "-50"],
    &["unshare", "-f", "-T", "--monotonic", "50"],
    // Where a new image enters its namespace, as since Linux 6.2.
    &["unshare", "-T", "--monotonic", "-50"],
    &["unshare", "-f", "-T", "--monotonic", "5000000"],
];

const KINDS: [&[&str]; 4] = [
    &[],
    &["--buffer", "0"],
    &["--summary"],
    &["--flight-recorder"],
];

/// Where probes have to ask the kernel for the time of each event, that is by another clock.
fn has_counter() -> bool {
    let is_source = fs::read_to_string(CLOCK_SOURCE).is_ok_and(|name| name.trim() == "tsc");
    let flags = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let has = is_source && flags.contains("constant_tsc") && flags.contains("nonstop_tsc");
    if !has {
        eprintln!("skipped: the processor's counter is no clock here");
    }
    has
}

/// Can a program be started in a time namespace, and do probes with a counter not need its clock?
fn has_time_namespaces() -> bool {
    can_offset_clocks() && has_counter()
}

fn can_offset_clocks() -> bool {
    let status = Command::new("unshare")
        .args(["-f", "-T", "--monotonic", "1", "true"])
        .stderr(Stdio::null())
        .status();
    let has = status.is_ok_and(|status| status.success());
    if !has {
        eprintln!("skipped: a time namespace cannot be made here");
    }
    has
}

/// When each timer of the trace is due, after the beginning of its wait.
fn due_ns(lab: &Lab) -> BTreeMap<String, i64> {
    let trace = lab.trace();
    let zero_ns = trace.start.started_monotonic_ns;
    let due = |name: &str| {
        let last = *trace.named(name).events.last().expect("some events");
        assert_eq!(last.wait, WaitKind::Timer);
        let deadline = Nanos(last.arg).0.cast_signed();
        deadline - (zero_ns + last.at.0).cast_signed()
    };
    let names = lab.truth("truth").into_iter().map(|line| line[0].clone());
    names.map(|name| (name.clone(), due(&name))).collect()
}

fn deadlines_match_the_program(lab: &Lab) {
    let due = due_ns(lab);
    assert_eq!(due.len(), 4);
    for line in lab.truth("truth") {
        let message: i64 = line[1].parse().expect("a number");
        let error = due[&line[0]] - message;
        assert!(error.abs() < NEAR_NS, "{}: {error} ns off", line[0]);
    }
}

fn verdicts_are_right(lab: &Lab) {
    let bytes = fs::read(lab.path("ctp.data")).expect("there is a trace");
    let mut trace_model = TraceModel::new();
    for record in Reader::new(&bytes).expect("a trace") {
        trace_model.consume(&record.expect("a complete record"));
    }
    let name = |id| trace_model.name(trace_model.get(id).expect("present").name);
    let judged = trace_model.judge(Nanos(100_000_000)).into_iter();
    let verdicts: BTreeMap<&str, Verdict> = judged
        .map(|(id, judgement)| (name(id), judgement.verdict))
        .collect();
    assert_eq!(verdicts["long-ago"], Verdict::MaybeStuck);
    for name in ["soon", "late", "in-an-hour"] {
        assert_eq!(verdicts[name], Verdict::Waiting, "{name}");
    }
}

fn record(flags: &[&str], way: &[&str], arguments: &[&str]) -> Lab {
    let lab = Lab::new();
    record_in(&lab, flags, way, &fixture("timers"), arguments);
    lab
}

/// Records a program that writes `truth`, started in this way.
fn record_in(lab: &Lab, flags: &[&str], way: &[&str], program: &Path, arguments: &[&str]) {
    let mut words = way.to_vec();
    words.push(program.to_str().expect("valid text"));
    words.push("truth");
    let mut command = lab.recorder(flags, words[0]);
    let outcome = lab.run(command.args(&words[1..]).args(arguments));
    assert_eq!(outcome.status.code(), Some(0), "{}", outcome.stderr);
}

// CTP-26, CT-15
#[test]
fn timers_are_judged_by_the_programs_own_clock() {
    if !has_time_namespaces() {
        return;
    }
    for way in WAYS {
        for flags in [&[][..], &["--buffer", "0"], &["--flight-recorder"]] {
            let lab = record(flags, way, &[]);
            deadlines_match_the_program(&lab);
            verdicts_are_right(&lab);
        }
    }
}

// CTP-26, CT-15
#[test]
fn a_namespace_for_children_is_not_the_programs_own() {
    if !has_time_namespaces() {
        return;
    }
    for way in [&[][..], WAYS[0], WAYS[1]] {
        let lab = record(&[], way, &["7000"]);
        deadlines_match_the_program(&lab);
        verdicts_are_right(&lab);
    }
}

// CTP-26, CT-15
#[test]
fn a_recorder_in_a_time_namespace_shares_the_programs_clock() {
    if !has_time_namespaces() {
        return;
    }
    let lab = Lab::new();
    let recorder = lab.recorder(&[], fixture("timers"));
    let mut command = lab.command("unshare");
    command
        .args(["-f", "-T", "--monotonic", "-50"])
        .arg(recorder.get_program())
        .args(recorder.get_args());
    let outcome = lab.run(command.arg("truth"));
    assert_eq!(outcome.status.code(), Some(0), "{}", outcome.stderr);
    deadlines_match_the_program(&lab);
    verdicts_are_right(&lab);
}

// CTP-26, CT-15
#[test]
fn recorder_and_program_may_have_different_namespaces() {
    if !has_time_namespaces() {
        return;
    }
    let lab = Lab::new();
    let recorder = lab.recorder(&[], "unshare");
    let mut command = lab.command("unshare");
    command
        .args(["-f", "-T", "--monotonic", "-50"])
        .arg(recorder.get_program())
        .args(recorder.get_args())
        .args(["-f", "-T", "--monotonic", "30"])
        .arg(fixture("timers"));
    let outcome = lab.run(command.arg("truth"));
    assert_eq!(outcome.status.code(), Some(0), "{}", outcome.stderr);
    deadlines_match_the_program(&lab);
    verdicts_are_right(&lab);
}

const CLOCK_SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

/// Runs a command where the kernel names another clock source than the processor's counter.
const WITHOUT_COUNTER: &str = r#"mount --bind "$0" "$1" && shift && exec "$@""#;

/// As on a machine whose counter is not a clock, where all probes use the kernel's clock.
fn without_counter(lab: &Lab, recorder: &Command) -> Command {
    fs::write(lab.path("source"), "hpet\n").expect("can be written");
    let mut command = lab.command("unshare");
    command
        .args(["-m", "sh", "-c", WITHOUT_COUNTER, "source", CLOCK_SOURCE])
        .arg(recorder.get_program())
        .args(recorder.get_args());
    command
}

// CTP-26, CT-15
#[test]
fn our_probe_without_a_counter_is_judged_by_the_clock() {
    let lab = Lab::new();
    let trial = lab.run(&mut without_counter(&lab, &lab.command("true")));
    if !trial.status.success() || !can_offset_clocks() {
        eprintln!("skipped: no clock source can be put in place of this machine's");
        return;
    }
    for way in WAYS {
        for flags in KINDS {
            let lab = Lab::new();
            let mut command = without_counter(&lab, &lab.recorder(flags, way[0]));
            command.args(&way[1..]).arg(fixture("timers"));
            let outcome = lab.run(command.arg("truth"));
            assert_eq!(outcome.status.code(), Some(0), "{}", outcome.stderr);
            assert!(outcome.stderr.contains(" 0 lost"), "{}", outcome.stderr);
            deadlines_match_the_program(&lab);
            verdicts_are_right(&lab);
        }
    }
}
