//! Processes that asked for memory in vain: each is counted once, whatever happens to it later. A
//! process that is recorded in the first memory instead is not counted.

use std::process::Command;

use rustix::process::Signal;

use crate::family::everything_is_there;
use crate::lab::{Lab, fixture, program_of, runs, send, wait_until};
use crate::trace::Trace;

/// A program that records its coroutine, and takes these steps while the recorder stands still.
/// `meanwhile` gets the program's process id and comes before the recorder goes on.
fn while_stopped(script: &str, steps: &str, meanwhile: impl FnOnce(&Lab, u32)) -> Lab {
    let lab = Lab::new();
    let mut command = lab.recorder(&["--wait-all"], "sh");
    command.args(["-c", script]).arg(fixture("family"));
    let steps = format!("truth work parent 3 1000 await go {steps}");
    let recorder = command.args(steps.split(' ')).spawn().expect("starts");
    lab.wait_for_file("truth");
    send(Signal::STOP, recorder.id());
    std::fs::write(lab.path("go"), "").expect("can be made");
    meanwhile(&lab, program_of(recorder.id()));
    send(Signal::CONT, recorder.id());
    lab.outcome(recorder);
    lab
}

// CTP-32, CTP-34
#[test]
fn forks_that_ended_early_are_counted() {
    for run in 0..runs(3) {
        let script = "for i in 1 2 3; do \"$0\" other await go & done; exec \"$0\" \"$@\"";
        let lab = while_stopped(script, "crowd 5 1 0", |lab, _| {
            wait_until("the end of all forks", || lab.truth("truth").len() == 6);
        });
        let trace = lab.trace();
        assert_eq!(trace.coroutines.len(), 1, "{run}");
        let message = lab.read("stderr");
        assert_eq!(trace.end().unrecorded, 5, "{run}: {message}");
        let caveat = "nothing looks stuck, but this is uncertain: 5 processes of";
        assert!(message.contains(caveat), "{run}: {message}");
    }
}

// CTP-32, CTP-34
#[test]
fn forks_killed_during_their_request_are_counted() {
    for run in 0..runs(3) {
        let lab = while_stopped("exec \"$0\" \"$@\"", "crowd 5 1 0", |_, program| {
            let mut forks = Vec::new();
            wait_until("all forks wait for the answer", || {
                forks = children_of(program);
                forks.len() == 5 && forks.iter().all(|fork| is_waiting(*fork))
            });
            forks.iter().for_each(|fork| send(Signal::KILL, *fork));
        });
        let trace = lab.trace();
        assert_eq!(trace.coroutines.len(), 1, "{run}");
        assert_eq!(trace.end().unrecorded, 5, "{run}: {}", lab.read("stderr"));
    }
}

// CTP-32, CTP-33
#[test]
fn image_without_an_answer_is_recorded_and_not_counted() {
    let steps = "spawn work image 3 1000";
    let lab = while_stopped("exec \"$0\" \"$@\"", steps, |lab, _| {
        wait_until("the end of the image", || lab.truth("truth").len() == 2);
    });
    let trace = lab.trace();
    everything_is_there(&lab, &trace);
    assert_eq!(trace.end().unrecorded, 0, "{}", lab.read("stderr"));
}

fn children_of(program: u32) -> Vec<u32> {
    let list = format!("/proc/{program}/task/{program}/children");
    let text = std::fs::read_to_string(list).unwrap_or_default();
    text.split_whitespace().flat_map(str::parse).collect()
}

/// Whether the process is in the call in which a fork waits for the answer.
fn is_waiting(pid: u32) -> bool {
    let call = std::fs::read_to_string(format!("/proc/{pid}/syscall")).unwrap_or_default();
    let number = call.split(' ').next().unwrap_or_default();
    number == libc::SYS_ppoll.to_string()
}

/// Whether a local socket in the network namespace of a process has not been accepted: it has a path, and no inode.
fn has_queued_connections(pid: u32) -> bool {
    let sockets = std::fs::read_to_string(format!("/proc/{pid}/net/unix")).unwrap_or_default();
    let mut sockets = sockets.lines().map(|line| line.split_whitespace().skip(6));
    sockets.any(|mut fields| fields.next() == Some("0") && fields.next().is_some())
}

// CTP-32, CTP-17
#[test]
fn forks_that_find_the_queue_full_count_themselves() {
    let lab = Lab::new();
    let script = "echo 2 >/proc/sys/net/core/somaxconn; exec \"$@\"";
    let separate = |lab: &Lab, program: &Command| {
        let mut command = lab.command("unshare");
        command.args(["-n", "sh", "-c", script, "sh"]);
        command.arg(program.get_program()).args(program.get_args());
        command
    };
    if !lab
        .run(&mut separate(&lab, &Command::new("true")))
        .status
        .success()
    {
        eprintln!("skipped: a network namespace cannot be made here");
        return;
    }
    let mut recorder = lab.recorder(&["--wait-all"], fixture("family"));
    recorder.args("truth work parent 3 0 await go crowd 8 1 0".split(' '));
    let recorder = separate(&lab, &recorder).spawn().expect("starts");
    lab.wait_for_file("truth");
    // The program's own connection would take a place in the queue.
    wait_until("an empty queue", || !has_queued_connections(recorder.id()));
    send(Signal::STOP, recorder.id());
    std::fs::write(lab.path("go"), "").expect("can be made");
    wait_until("the end of all forks", || lab.truth("truth").len() == 9);
    send(Signal::CONT, recorder.id());
    let outcome = lab.outcome(recorder);
    assert_eq!(lab.trace().end().unrecorded, 8, "{}", outcome.stderr);
    let reported = "5 forks could not reach the recorder";
    assert!(outcome.stderr.contains(reported), "{}", outcome.stderr);
}

// CTP-32, LT-19
#[test]
fn a_fork_counts_itself_after_the_end_of_the_parent() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: it cannot become another user");
        return;
    }
    let lab = Lab::new();
    let steps = "truth work parent 3 0 fork work child 3 0 daemon await go nobody work orphan 3 0";
    let mut command = lab.recorder(&["--wait-all"], fixture("family"));
    let recorder = command.args(steps.split(' ')).spawn().expect("starts");
    let data = lab.path("ctp.data");
    wait_until("the end of parent and child", || {
        data.exists() && Trace::read_any(&data).0.process_ends.len() == 2
    });
    std::fs::write(lab.path("go"), "").expect("can be made");
    let outcome = lab.outcome(recorder);
    let trace = lab.trace();
    assert_eq!(trace.coroutines.len(), 2, "{}", outcome.stderr);
    assert_eq!(trace.end().unrecorded, 1, "{}", outcome.stderr);
}
