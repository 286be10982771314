//! CTP-18, CT-09: the recorder is killed; the program does not notice, and the trace can be read.

use std::fs;
use std::io::Read as _;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use ctp_trace::Completeness;
use rustix::process::Signal;

use crate::lab::{Lab, fixture, only_child, runs, send, wait_until};
use crate::trace::Trace;

/// Kills the recorder this long after the program has attached. Most of the time it sleeps.
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
fn program_ends_normally_and_the_trace_is_readable() {
    for ms in [20, 105, 250, 333] {
        killed_after(Duration::from_millis(ms));
    }
}

// CT-08, CT-09, LT-23
#[test]
fn records_before_the_last_sleep_are_on_disk() {
    let trace = killed_after(Duration::from_millis(500));
    assert_eq!(trace.coroutines.len(), 2);
    assert_eq!(trace.named("paced-0").events[0].n, 0);
    assert!(!trace.modules.is_empty());
    assert!(
        trace.sites.len() >= 2,
        "where they are spawned and where they wait"
    );
}

/// A directory with an earlier recording and its files.
fn used_lab() -> (Lab, Vec<u8>) {
    let lab = Lab::new();
    lab.record(&["-q"], "paced", &["truth", "1", "2", "0"]);
    let previous = fs::read(lab.path("ctp.data")).expect("was recorded");
    (lab, previous)
}

/// A program that logs its start and how its own program ended.
const SHELL_PREFIX: [&str; 3] = ["-c", "echo began; \"$@\"; echo status $?", "sh"];

fn recorder_in_shell(lab: &Lab) -> Command {
    let mut command = lab.recorder(&["-q"], "sh");
    command.args(SHELL_PREFIX).arg(fixture("paced"));
    command.args(["truth", "3", "4", "300", "exit", "7"]);
    command
}

/// Runs the command until all writers of its output have ended, even if some are killed.
fn messages_of(mut command: Command, meanwhile: impl FnOnce(u32)) -> String {
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .expect("can be started");
    meanwhile(child.id());
    let mut message = String::new();
    let mut stdout = child.stdout.take().expect("is piped");
    stdout.read_to_string(&mut message).expect("is text");
    child.wait().expect("was started here");
    message
}

/// However far the recorder came: a started program ended normally, the earlier trace exists, the
/// new trace is readable as far as it goes, and the next recorder removes leftovers.
fn nothing_is_lost(lab: &Lab, previous: &[u8], message: &str) {
    assert!(["", "began\nstatus 7\n"].contains(&message), "{message:?}");
    let read = |name| fs::read(lab.path(name)).ok();
    if read("ctp.data").is_none_or(|bytes| bytes != previous) {
        assert_eq!(read("ctp.data.old").as_deref(), Some(previous));
        if lab.path("ctp.data").exists() {
            let (trace, _) = Trace::read_any(&lab.path("ctp.data"));
            assert!(trace.start.argv.contains(&b"truth".to_vec()));
        }
    }
    lab.run(&mut lab.recorder(&["-q"], "true"));
    let names = fs::read_dir(lab.path("")).expect("is there").flatten();
    let names: Vec<String> = names
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name.starts_with("ctp-") || name.contains(".new-"))
        .collect();
    assert!(names.is_empty(), "{names:?}");
}

// CTP-18, CT-06, CT-08, CT-09
#[test]
fn killed_at_any_instant_program_and_old_trace_survive() {
    for run in 0..runs(30) {
        let (lab, previous) = used_lab();
        let pause = Duration::from_micros(run as u64 * 7_919 % 30_000);
        let message = messages_of(recorder_in_shell(&lab), |recorder| {
            sleep(pause);
            send(Signal::KILL, recorder);
        });
        nothing_is_lost(&lab, &previous, &message);
    }
}

// CTP-18, CT-06, CT-08, CT-09
#[test]
fn killed_at_any_system_call_program_and_old_trace_survive() {
    let Some(calls) = system_calls() else {
        println!("skipped: strace is not installed, or may not trace");
        return;
    };
    let runs = runs(30).min(calls);
    for run in 0..runs {
        let (lab, previous) = used_lab();
        let kill = format!("inject=all:signal=KILL:when={}", 1 + run * calls / runs);
        let message = messages_of(traced(&lab, &kill), |_| {});
        nothing_is_lost(&lab, &previous, &message);
    }
}

/// The recorder, and not its program, under strace.
fn traced(lab: &Lab, expression: &str) -> Command {
    let recorder = recorder_in_shell(lab);
    let mut command = lab.command("strace");
    command
        .args(["-qq", "-o", "calls", "-e", expression])
        .arg(recorder.get_program())
        .args(recorder.get_args());
    command
}

/// The number of system calls of a recorder that is not killed.
fn system_calls() -> Option<usize> {
    let strace = Command::new("strace")
        .args(["-qq", "-o", "/dev/null", "true"])
        .status();
    strace.ok().filter(|status| status.success())?;
    let (lab, _) = used_lab();
    assert_eq!(
        messages_of(traced(&lab, "trace=all"), |_| {}),
        "began\nstatus 7\n"
    );
    Some(lab.read("calls").lines().count())
}

// CTP-18
#[test]
fn killed_in_the_final_drain_the_program_is_unaffected() {
    for kill_at in ["truth.ready", "truth"] {
        let lab = Lab::new();
        let mut command = lab.recorder(&["-q"], "sh");
        command.args(SHELL_PREFIX).arg(fixture("hot"));
        command.args(["truth", "2", "3000", "200"]);
        let message = messages_of(command, |recorder| {
            lab.wait_for_file("ctp.data");
            lab.wait_for_file(kill_at);
            send(Signal::KILL, recorder);
        });
        assert_eq!(message, "began\nstatus 0\n");
        assert_eq!(lab.truth("truth").len(), 6_000);
        Trace::read_any(&lab.path("ctp.data"));
    }
}
