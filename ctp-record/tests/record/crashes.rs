//! CT-18, CTP-31: the thread that a fault came from, and a coroutine that two threads resumed.

use std::fs;

use ctp_trace::model::Violation;
use ctp_trace::record::{EventKind, ExitReason};
use ctp_trace::{Reader, TraceModel};

use crate::lab::{Lab, fixture, only_child, runs, wait_until};

/// Whether this kernel reports crashes to the recorder: from Linux 6.6 on, outside containers.
fn kernel_reports_crashes() -> bool {
    let release = rustix::system::uname()
        .release()
        .to_string_lossy()
        .into_owned();
    let numbers: Vec<u32> = release
        .split(['.', '-'])
        .map_while(|part| part.parse().ok())
        .collect();
    numbers[..] >= [6, 6][..]
        && [("user", 4_026_531_837_u32), ("pid", 4_026_531_836)]
            .into_iter()
            .all(|(name, inode)| {
                let link = fs::read_link(format!("/proc/self/ns/{name}")).unwrap_or_default();
                link.to_string_lossy() == format!("{name}:[{inode}]")
            })
}

/// What runs when the program ends like this, and the thread that the trace names.
fn crash(how: &str, signal: i32) {
    let lab = Lab::new();
    let outcome = lab.run(lab.recorder(&[], fixture("crasher")).args(["truth", how]));
    assert_eq!(
        outcome.status.code(),
        Some(128 + signal),
        "{}",
        outcome.stderr
    );
    let (trace, truth) = (lab.trace(), lab.truth("truth"));
    assert_eq!(trace.end().how, ExitReason::Signalled(signal));
    let running = trace
        .coroutines
        .values()
        .filter(|coroutine| coroutine.last() == EventKind::Run);
    assert_eq!(running.count(), 3);
    let last = trace.named(&truth[0][0]).events.last().expect("it ran");
    assert_eq!(last.tid.to_string(), truth[0][1]);
    let expected = if kernel_reports_crashes() {
        last.tid
    } else {
        0
    };
    assert_eq!(trace.end().faulting_tid, expected);
}

// CT-18
#[test]
fn invalid_write_names_the_thread() {
    crash("segv", 11);
}

// CT-18
#[test]
fn read_beyond_the_end_of_a_file_names_the_thread() {
    crash("bus", 7);
}

// CT-18
#[test]
fn abort_names_the_thread() {
    crash("abort", 6);
}

// CT-18
#[test]
fn stack_overflow_names_the_thread() {
    crash("overflow", 6);
}

// CT-18
#[test]
fn fault_of_an_early_process_names_the_thread() {
    let lab = Lab::new();
    let script = "\"$0\" truth segv; sleep 0.2; \"$0\" after exit";
    let mut command = lab.recorder(&[], "sh");
    let outcome = lab.run(command.args(["-c", script]).arg(fixture("crasher")));
    assert_eq!(outcome.status.code(), Some(0), "{}", outcome.stderr);
    let tid = if kernel_reports_crashes() {
        lab.truth("truth")[0][1].clone()
    } else {
        "0".to_owned()
    };
    assert_eq!(lab.trace().end().faulting_tid.to_string(), tid);
}

// CT-18
#[test]
fn exit_without_a_fault_names_no_thread() {
    for (how, exit_reason) in [
        ("kill", ExitReason::Signalled(9)),
        ("exit", ExitReason::Exited(0)),
    ] {
        let lab = Lab::new();
        lab.run(lab.recorder(&[], fixture("crasher")).args(["truth", how]));
        let end = lab.trace().end();
        assert_eq!((end.how, end.faulting_tid), (exit_reason, 0));
    }
}

/// The reported coroutine and violation, and the threads of the two events that prove it.
type Accusation = (String, Violation, u64, u64);

/// The violations in a run of `double_resume`, and its two threads by its own account.
fn double_resume(how: &str) -> (Vec<Accusation>, Vec<u64>) {
    let lab = Lab::new();
    lab.record(&[], "double_resume", &["truth", how, "200"]);
    let bytes = fs::read(lab.path("ctp.data")).expect("there is a trace");
    let mut trace_model = TraceModel::new();
    for record in Reader::new(&bytes).expect("it has a start") {
        trace_model.consume(&record.expect("no chunk is damaged"));
    }
    let mut found = Vec::new();
    for broken in trace_model.broken() {
        let name = trace_model.name(broken.name);
        found.extend(broken.proofs.iter().map(|contradiction| {
            (
                name.to_owned(),
                contradiction.violation,
                contradiction.before.tid,
                contradiction.after.tid,
            )
        }));
    }
    let mut tids: Vec<u64> = lab.truth("truth")[0]
        .iter()
        .map(|tid| tid.parse().expect("an id"))
        .collect();
    tids.sort_unstable();
    (found, tids)
}

fn is_named(how: &str) {
    let (found, tids) = double_resume(how);
    assert!(
        found.iter().any(|(_, _, before, after)| before != after),
        "{found:?}"
    );
    for (name, violation, before, after) in found {
        assert_eq!(name, "twice", "{violation:?}");
        assert!(
            tids.contains(&before) && tids.contains(&after),
            "{before} {after} {tids:?}"
        );
        if violation == Violation::DoubleResume {
            assert_ne!(before, after);
        }
    }
}

// CTP-31
#[test]
fn double_resume_is_reported_with_both_threads() {
    is_named("locked");
    let (found, _) = double_resume("locked");
    assert!(
        found
            .iter()
            .any(|(_, violation, ..)| *violation == Violation::DoubleResume),
        "{found:?}"
    );
}

/// Both threads write the same event, and one of the two survives. Of two runs and two suspends
/// enough remains for a report.
// CTP-31
#[test]
fn simultaneous_double_resume_is_reported() {
    for _ in 0..runs(5) {
        is_named("racing");
    }
}

// CT-18
#[test]
fn core_dump_excludes_the_recording() {
    let lab = Lab::new();
    let mut recorder = lab
        .recorder(&[], fixture("paced"))
        .args(["truth", "1", "20", "10000"])
        .spawn()
        .expect("can be started");
    let program = only_child(recorder.id());
    wait_until("a memory that is not to be dumped", || {
        let text = fs::read_to_string(format!("/proc/{program}/smaps")).unwrap_or_default();
        let (_, ours) = text.split_once("memfd:ctp").unwrap_or_default();
        let flags = ours.lines().find(|line| line.starts_with("VmFlags:"));
        flags.is_some_and(|line| line.split(' ').any(|flag| flag == "dd"))
    });
    recorder.wait().expect("was started here");
}
