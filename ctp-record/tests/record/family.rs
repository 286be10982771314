//! Related processes: forks, new images, daemons, crowds. The trace has the events of each, under
//! its process id.

use std::collections::{BTreeMap, BTreeSet};

use ctp_trace::record::{EventKind, ProcessEnd, ProcessExit};

use rustix::process::Signal;

use crate::lab::{Lab, Outcome, fixture, send, wait_until};
use crate::trace::{Coroutine, Trace};

pub fn record(lab: &Lab, flags: &[&str], steps: &str) -> (Outcome, Trace) {
    let mut words = vec!["truth"];
    words.extend(steps.split(' '));
    let outcome = lab.record(flags, "family", &words);
    (outcome, lab.trace())
}

fn pid_of(trace: &Trace, coroutine: &Coroutine) -> String {
    let mut processes = trace.processes.iter();
    let process = processes.find(|process| process.id == coroutine.birth.process);
    process.expect("it has a process").pid.to_string()
}

/// Every coroutine of the truth, and no other, has its events and its process in the trace.
pub fn everything_is_there(lab: &Lab, trace: &Trace) {
    let truth = lab.truth("truth");
    for line in &truth {
        let coroutine = trace.named(&line[0]);
        assert_eq!(pid_of(trace, coroutine), line[1], "{line:?}");
        assert_eq!(
            coroutine.event_counts().attempted.to_string(),
            line[2],
            "{line:?}"
        );
        assert!(!coroutine.event_counts().inexact, "{line:?}");
    }
    assert_eq!(trace.coroutines.len(), truth.len());
    assert_eq!(trace.end().refused, 0);
    let ids: BTreeSet<u64> = trace
        .coroutines
        .values()
        .map(|coroutine| coroutine.birth.probe_id)
        .collect();
    assert_eq!(ids.len(), truth.len(), "ids are unique");
}

fn modules_of(trace: &Trace, name: &str) -> usize {
    let process = trace.named(name).birth.process;
    let is_family = |path: &[u8]| path.ends_with(b"/family");
    trace
        .modules
        .iter()
        .filter(|module| module.process == process && is_family(&module.path))
        .count()
}

// CTP-24, CTP-32, LT-18
#[test]
fn fork_is_a_separate_process_however_made() {
    for way in ["fork", "clone"] {
        let lab = Lab::new();
        let steps = format!("work parent 5 1000 {way} work child 5 1000 {way} work grandchild 5 0");
        let (_, trace) = record(&lab, &[], &steps);
        everything_is_there(&lab, &trace);
        assert_eq!(trace.processes.len(), 3, "{way}");
        let suspends = trace
            .coroutines
            .values()
            .flat_map(|coroutine| &coroutine.events);
        let sites = suspends.filter(|event| event.kind == EventKind::Suspend);
        let sites: BTreeSet<_> = sites.map(|event| event.site).collect();
        assert_eq!(sites.len(), 1, "they wait at one line of one program");
        assert!(modules_of(&trace, "grandchild") > 0);
    }
}

// CTP-32, LT-18
#[test]
fn fork_with_simultaneous_threads_is_fully_recorded() {
    let lab = Lab::new();
    let steps = "work parent 1 0 fork team 8 5 1000";
    let (_, trace) = record(&lab, &[], steps);
    everything_is_there(&lab, &trace);
    assert_eq!(trace.coroutines.len(), 9);
    assert_eq!(trace.processes.len(), 2);
}

// CTP-33, LT-19
#[test]
fn new_image_is_recorded_after_any_exec() {
    for way in ["exec", "spawn", "vfork", "fork exec"] {
        let lab = Lab::new();
        let (_, trace) = record(&lab, &[], &format!("work old 5 1000 {way} work new 5 1000"));
        everything_is_there(&lab, &trace);
        assert_eq!(trace.processes.len(), 2, "{way}");
        let same_pid = trace.processes[0].pid == trace.processes[1].pid;
        assert_eq!(same_pid, way == "exec");
        let is_replaced =
            |end: &ProcessEnd| end.process == trace.processes[0].id && end.how == ProcessExit::Exec;
        assert_eq!(trace.process_ends.iter().any(is_replaced), way == "exec");
        assert!(modules_of(&trace, "new") > 0, "{way}");
    }
}

// CTP-33, LT-19
#[test]
fn exec_without_a_probe_ends_the_coroutines() {
    for flags in [&[][..], &["--flight-recorder"]] {
        let lab = Lab::new();
        let steps = "truth work old 5 1000 replace sh -c";
        let words = steps.split(' ').chain(["sleep 0.3; exit 7"]);
        let outcome = lab.run(lab.recorder(flags, fixture("family")).args(words));
        assert_eq!(outcome.status.code(), Some(7), "it is the new one's");
        let trace = lab.trace();
        everything_is_there(&lab, &trace);
        is_replaced(&trace, &["old"]);
        assert_eq!(trace.processes.len(), 1, "the new one has no part in this");
    }
}

// CTP-33, CTP-34
#[test]
fn exec_in_a_fork_does_not_affect_the_parent() {
    let lab = Lab::new();
    let steps = "work parent 3 0 fork work child 3 0 replace sleep 0.5";
    let (_, trace) = record(&lab, &["--wait-all"], steps);
    everything_is_there(&lab, &trace);
    is_replaced(&trace, &["child"]);
}

// CTP-33
#[test]
fn exec_that_closes_descriptors_leaves_nothing_stuck() {
    let lab = Lab::new();
    let (outcome, trace) = record(&lab, &[], "listen old 1700 replace sleep 2");
    everything_is_there(&lab, &trace);
    let message = "nothing looks stuck";
    assert!(outcome.stderr.contains(message), "{}", outcome.stderr);
}

/// The processes of these, and of no others.
fn is_replaced(trace: &Trace, names: &[&str]) {
    let ends = trace.process_ends.iter();
    let replaced = ends.filter(|end| end.how == ProcessExit::Exec);
    let replaced: Vec<_> = replaced.map(|end| end.process).collect();
    let processes: Vec<_> = names
        .iter()
        .map(|name| trace.named(name).birth.process)
        .collect();
    assert_eq!(replaced, processes);
}

// LT-19
#[test]
fn daemon_is_reported_or_waited_for_on_request() {
    let steps = "work master 5 1000 daemon work daemon 200 1000";
    let lab = Lab::new();
    let (outcome, trace) = record(&lab, &["--wait-all"], steps);
    everything_is_there(&lab, &trace);
    let hows = trace.process_ends.iter().map(|end| end.how);
    assert_eq!(
        hows.collect::<Vec<_>>(),
        [ProcessExit::Exited(0), ProcessExit::Disappeared]
    );
    assert!(
        outcome.stderr.contains(" (recorded for "),
        "it ended before its daemon: {}",
        outcome.stderr
    );
    assert!(
        !outcome.stderr.contains("still running"),
        "{}",
        outcome.stderr
    );

    let lab = Lab::new();
    let (outcome, _) = record(&lab, &[], steps);
    assert!(
        outcome
            .stderr
            .contains("still running, no longer recorded: family (pid "),
        "{}",
        outcome.stderr
    );
    wait_until("the daemon ends by itself", || {
        lab.truth("truth").len() == 2
    });
}

// LT-19
#[test]
fn program_that_closes_all_descriptors_is_recorded() {
    let lab = Lab::new();
    let steps = "work before 5 1000 close work after 20 1000 fork work child 5 1000";
    let (_, trace) = record(&lab, &[], steps);
    everything_is_there(&lab, &trace);
    is_replaced(&trace, &[]);
}

// CT-05, CTP-34
#[test]
fn eight_parallel_processes_are_recorded_independently() {
    let lab = Lab::new();
    let (_, trace) = record(&lab, &[], "work parent 1 0 crowd 8 20 40000");
    everything_is_there(&lab, &trace);
    assert_eq!(trace.processes.len(), 9);
    trace.is_complete();
}

// CTP-34
#[test]
fn killed_process_keeps_the_records_and_others_continue() {
    let lab = Lab::new();
    let steps = "work parent 5 1000 fork work killed 5 1000 fork work orphan 3 0 kill";
    let (_, trace) = record(&lab, &[], steps);
    everything_is_there(&lab, &trace);
    let killed = trace.named("orphan").birth.process;
    let mut ends = trace.process_ends.iter();
    let end = ends
        .find(|end| end.process == killed)
        .expect("it is recorded");
    assert_eq!(
        end.how,
        ProcessExit::Disappeared,
        "only its parent knows more"
    );
}

// CTP-34
#[test]
fn process_that_lives_between_two_checks_is_recorded() {
    let lab = Lab::new();
    let script = "\"$0\" truth await go work brief 3 0; touch over; exec \"$0\" truth await on";
    let mut command = lab.recorder(&[], "sh");
    let recorder = command.args(["-c", script]).arg(fixture("family"));
    let recorder = recorder.spawn().expect("starts");
    let data = lab.path("ctp.data");
    wait_until("the recorder has met it", || {
        data.exists() && !Trace::read_any(&data).0.processes.is_empty()
    });
    send(Signal::STOP, recorder.id());
    std::fs::write(lab.path("go"), "").expect("can be made");
    lab.wait_for_file("over");
    send(Signal::CONT, recorder.id());
    wait_until("the recorder has met the next", || {
        Trace::read_any(&data).0.processes.len() > 1
    });
    std::fs::write(lab.path("on"), "").expect("can be made");
    lab.outcome(recorder);
    let trace = lab.trace();
    everything_is_there(&lab, &trace);
    let own_process = trace.named("brief").birth.process;
    let mut ended = trace.process_ends.iter();
    assert!(ended.any(|end| end.process == own_process), "it has ended");
    assert_eq!(trace.processes.len(), 2);
}

// CTP-32, LT-19
#[test]
fn fork_without_an_answer_runs_untraced_and_is_reported() {
    waits_in_vain("fork work child 3 0");
}

// CTP-17, CTP-32
#[test]
fn signals_do_not_prolong_the_wait_of_a_fork() {
    waits_in_vain("fork tick 20 work child 3 0");
}

fn waits_in_vain(fork: &str) {
    let lab = Lab::new();
    let steps = format!("truth work parent 3 1000 await go {fork}");
    let mut command = lab.recorder(&[], fixture("family"));
    let recorder = command.args(steps.split(' ')).spawn().expect("starts");
    lab.wait_for_file("truth");
    send(Signal::STOP, recorder.id());
    std::fs::write(lab.path("go"), "").expect("can be made");
    wait_until("the fork has worked", || lab.truth("truth").len() == 2);
    send(Signal::CONT, recorder.id());
    let outcome = lab.outcome(recorder);
    // At what moment the recorder sees that the fork has given up depends on the machine.
    let causes = ["asked for memory after", "got no memory", "got memory and"];
    let is_reported = causes.map(|cause| outcome.stderr.contains(&format!("1 process {cause}")));
    assert!(is_reported.contains(&true), "{}", outcome.stderr);
    let consequence = ": it was not recorded";
    assert!(outcome.stderr.contains(consequence), "{}", outcome.stderr);
    assert_eq!(lab.trace().coroutines.len(), 1);
    assert_eq!(lab.trace().end().unrecorded, 1);
}

// CTP-32, LT-19
#[test]
fn forks_without_the_recorders_socket_count_themselves() {
    let lab = Lab::new();
    let steps = "work parent 3 1000 nobody fork work child 3 0 fork work grandchild 3 0";
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: it cannot become another user");
        return;
    }
    std::fs::File::create(lab.path("truth")).expect("can be made");
    let everybody = std::os::unix::fs::PermissionsExt::from_mode(0o666);
    std::fs::set_permissions(lab.path("truth"), everybody).expect("is ours");
    let (outcome, trace) = record(&lab, &[], steps);
    assert_eq!(trace.coroutines.len(), 1);
    assert_eq!(trace.end().unrecorded, 2, "{}", outcome.stderr);
    let reported = "2 forks could not reach the recorder";
    assert!(outcome.stderr.contains(reported), "{}", outcome.stderr);
}

// CTP-32, LT-19
#[test]
fn forks_without_free_descriptors_count_themselves() {
    for limit in 5..8 {
        let lab = Lab::new();
        let script = "ulimit -n $0; exec \"$@\"";
        let mut command = lab.recorder(&[], "sh");
        command.args(["-c", script, &limit.to_string()]);
        command.arg(fixture("family"));
        let outcome =
            lab.run(command.args("truth work parent 3 1000 fork work child 3 1000".split(' ')));
        let trace = lab.trace();
        let missing = 2 - trace.coroutines.len() as u64;
        assert_eq!(
            missing,
            u64::from(limit == 5),
            "{limit}: {}",
            outcome.stderr
        );
        assert_eq!(
            trace.end().unrecorded,
            missing,
            "{limit}: {}",
            outcome.stderr
        );
    }
}

// CTP-28, LT-17
#[test]
fn process_cannot_change_the_records_of_another() {
    let lab = Lab::new();
    let steps = "work before 5 1000 fork work bad 10 20000 scribble fork work good 20 1000";
    let (outcome, trace) = record(&lab, &["--buffer", "16K"], steps);
    let truth: BTreeMap<String, String> = lab
        .truth("truth")
        .into_iter()
        .map(|mut line| (line.remove(0), line.remove(1)))
        .collect();
    for name in ["before", "good"] {
        let coroutine = trace.named(name);
        assert_eq!(coroutine.event_counts().attempted.to_string(), truth[name]);
        assert!(!coroutine.event_counts().inexact);
    }
    assert!(trace.named("bad").event_counts().inexact);
    assert_eq!(trace.end().unrecorded, 1, "the rest of what it did");
    assert!(
        outcome
            .stderr
            .contains("a process overwrote the recording's memory"),
        "{}",
        outcome.stderr
    );
    assert_eq!(
        trace.end().refused,
        0,
        "a word of damaged memory is not believed"
    );
}

// CTP-32, LT-19
#[test]
fn process_namespace_does_not_confuse_processes() {
    let lab = Lab::new();
    let mut separate = lab.command("unshare");
    if !lab
        .run(separate.args(["-p", "-f", "--mount-proc", "true"]))
        .status
        .success()
    {
        eprintln!("skipped: such a namespace cannot be made here");
        return;
    }
    for proc in [&[][..], &["--mount-proc"]] {
        let lab = Lab::new();
        let mut command = lab.recorder(&[], "unshare");
        let program = command.args(["-p", "-f"]).args(proc).arg(fixture("family"));
        let steps = "truth work first 5 1000 fork work second 5 1000";
        lab.run(program.args(steps.split(' ')));
        let trace = lab.trace();
        assert_eq!(trace.processes.len(), 2, "{proc:?}");
        assert!(
            trace.processes.iter().all(|process| process.pid > 2),
            "{proc:?}"
        );
        for line in lab.truth("truth") {
            let attempted = trace.named(&line[0]).event_counts().attempted;
            assert_eq!(attempted.to_string(), line[2], "{proc:?}");
            assert!(modules_of(&trace, &line[0]) > 0, "{proc:?}");
        }
    }
}

// LT-19
#[test]
fn program_that_changed_the_user_gets_a_remedy() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root can change its user");
        return;
    }
    let lab = Lab::new();
    for name in ["", "truth"] {
        let everybody = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        if name == "truth" {
            std::fs::write(lab.path(name), "").expect("can be made");
        }
        std::fs::set_permissions(lab.path(name), everybody).expect("is ours");
    }
    let words = ["truth", "nobody", "work", "other", "5", "1000"];
    let outcome = lab.record(&[], "family", &words);
    assert!(
        outcome.stderr.contains("not recording") && outcome.stderr.contains("--inherit-fd"),
        "{}",
        outcome.stderr
    );
    std::fs::write(lab.path("truth"), "").expect("can be written");
    lab.record(&["--inherit-fd"], "family", &words);
    everything_is_there(&lab, &lab.trace());
}

// CTP-17, LT-19
#[test]
fn no_bell_spares_programs_that_filter_system_calls() {
    let steps = "truth work before 3 1000 filter work after 5 200000 fork work child 3 1000";
    let words: Vec<&str> = steps.split(' ').collect();
    let lab = Lab::new();
    let killed = lab.run(lab.recorder(&[], fixture("family")).args(&words));
    assert_eq!(
        killed.status.code(),
        Some(128 + 31),
        "else nothing is proven"
    );

    let lab = Lab::new();
    lab.record(&["--no-bell"], "family", &words);
    let trace = lab.trace();
    for (name, events) in [("before", 7), ("after", 11)] {
        assert_eq!(trace.named(name).event_counts().attempted, events);
    }
    assert_eq!(trace.coroutines.len(), 2, "a fork would have to ask");
    assert_eq!(trace.end().unrecorded, 1, "and counts itself");
    assert_eq!(lab.truth("truth").len(), 3, "it lives all the same");
}
