//! CT-02: signals, in a real pseudo-terminal and without one.
#![allow(
    unsafe_code,
    reason = "a controlling terminal is taken between fork and exec"
)]

use std::fs::File;
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::Duration;

use ctp_trace::record::ExitReason;
use rustix::fs::{Mode, OFlags};
use rustix::process::{Signal, ioctl_tiocsctty, setsid};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::lab::{Lab, fixture, only_child, send, wait_until};

const CTRL_C: &[u8] = b"\x03";

/// The user's side of a terminal in which the recorder runs `signals`.
struct Terminal {
    user: File,
    recorder: Child,
}

impl Terminal {
    fn start(lab: &Lab, manner: &str) -> Self {
        let (user, program) = pseudo_terminal();
        let mut command = lab.recorder(&[], fixture("signals"));
        command.args(["log", manner]);
        let recorder = in_terminal(&mut command, program);
        lab.wait_for_line("log", "ready");
        Terminal {
            user: user.into(),
            recorder,
        }
    }

    fn types(&mut self, keys: &[u8]) {
        self.user.write_all(keys).expect("the terminal is open");
    }

    fn kill_recorder(&self, signal: Signal) {
        send(signal, self.recorder.id());
    }
}

/// The user's side and the program's.
pub fn pseudo_terminal() -> (OwnedFd, OwnedFd) {
    let user = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC);
    let user = user.expect("there are pseudo-terminals");
    grantpt(&user)
        .and_then(|()| unlockpt(&user))
        .expect("is ours");
    let name = ptsname(&user, Vec::new()).expect("has a name");
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let program = rustix::fs::open(name, flags, Mode::empty()).expect("can be opened");
    (user, program)
}

/// Starts the command in a session of its own, with this as controlling terminal and stdin. Its
/// group is the foreground group.
fn in_terminal(command: &mut Command, terminal: OwnedFd) -> Child {
    let take = || {
        // A background job of a shell ignores it, and so would its children.
        libc_default(libc::SIGINT);
        setsid()?;
        ioctl_tiocsctty(rustix::stdio::stdin())?;
        Ok(())
    };
    command.stdin(terminal);
    // SAFETY: between fork and exec this makes three system calls and touches no memory of others.
    unsafe { command.pre_exec(take) };
    command.spawn().expect("can be started")
}

fn libc_default(signal: i32) {
    // SAFETY: gives up whatever was set for the signal; no handler of ours is concerned.
    unsafe { libc::signal(signal, libc::SIG_DFL) };
}

/// Time for a fault to show, if there is any.
fn let_errors_show() {
    sleep(Duration::from_millis(150));
}

// CT-02
#[test]
fn ctrl_c_arrives_once_and_the_terminal_stays_readable() {
    let lab = Lab::new();
    let mut terminal = Terminal::start(&lab, "count");
    terminal.types(CTRL_C);
    lab.wait_for_line("log", "SIGINT");
    let_errors_show();
    terminal.types(b"hello\n");
    lab.wait_for_line("log", "hello");
    terminal.types(b"stop\n");
    let outcome = lab.outcome(terminal.recorder);
    assert_eq!(outcome.status.code(), Some(0), "{}", outcome.stderr);
    assert_eq!(lab.read("log"), "ready\nSIGINT\nhello\nstop\n");
    assert_eq!(lab.trace().end().how, ExitReason::Exited(0));
}

// CT-02
#[test]
fn ctrl_c_ends_the_program_with_a_complete_trace() {
    let lab = Lab::new();
    let mut terminal = Terminal::start(&lab, "default");
    terminal.types(CTRL_C);
    let outcome = lab.outcome(terminal.recorder);
    assert_eq!(outcome.status.code(), Some(130), "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains("ended by SIGINT"),
        "{}",
        outcome.stderr
    );
    assert_eq!(lab.trace().end().how, ExitReason::Signalled(2));
}

// CT-02
#[test]
fn second_ctrl_c_ends_the_wait_for_an_ignoring_program() {
    let lab = Lab::new();
    let mut terminal = Terminal::start(&lab, "ignore");
    terminal.types(CTRL_C);
    let_errors_show();
    assert!(terminal.recorder.try_wait().expect("is ours").is_none());
    terminal.types(CTRL_C);
    let outcome = lab.outcome(terminal.recorder);
    assert_eq!(outcome.status.code(), Some(130), "{}", outcome.stderr);
    assert_eq!(lab.trace().end().how, ExitReason::Stopped);
    // The recorder led the session, so the terminal hangs up and the program ends.
    drop(terminal.user);
}

// CT-02
#[test]
fn a_signal_to_the_recorder_alone_is_passed_on() {
    let lab = Lab::new();
    let terminal = Terminal::start(&lab, "leave");
    terminal.kill_recorder(Signal::TERM);
    let outcome = lab.outcome(terminal.recorder);
    assert_eq!(outcome.status.code(), Some(42), "{}", outcome.stderr);
    assert_eq!(lab.read("log"), "ready\nSIGTERM\n");
    assert_eq!(lab.trace().end().how, ExitReason::Exited(42));
}

/// Without a terminal, so that the program outlives the recorder.
fn start_alone(lab: &Lab, example: &str, arguments: &[&str]) -> (Child, u32) {
    let mut command = lab.recorder(&[], fixture(example));
    let recorder = command.args(arguments).spawn().expect("can be started");
    let program = only_child(recorder.id());
    (recorder, program)
}

// CT-02
#[test]
fn user_signals_are_forwarded_every_time() {
    let lab = Lab::new();
    let (recorder, program) = start_alone(&lab, "signals", &["log", "count"]);
    lab.wait_for_line("log", "ready");
    let arrived = || lab.read("log").matches("SIGUSR1").count();
    for number in 1..=3 {
        send(Signal::USR1, recorder.id());
        wait_until("its signal", || arrived() == number);
    }
    let_errors_show();
    send(Signal::KILL, program);
    let outcome = lab.outcome(recorder);
    assert_eq!(outcome.status.code(), Some(128 + 9), "{}", outcome.stderr);
    assert_eq!(arrived(), 3);
    assert_eq!(lab.trace().end().how, ExitReason::Signalled(9));
}

// CT-02
#[test]
fn second_signal_ends_the_wait_and_not_the_program() {
    let lab = Lab::new();
    let (recorder, program) = start_alone(&lab, "signals", &["log", "count"]);
    lab.wait_for_line("log", "ready");
    send(Signal::TERM, recorder.id());
    lab.wait_for_line("log", "SIGTERM");
    let_errors_show();
    send(Signal::TERM, recorder.id());
    let outcome = lab.outcome(recorder);
    let_errors_show();
    send(Signal::KILL, program);
    assert_eq!(outcome.status.code(), Some(128 + 15), "{}", outcome.stderr);
    assert_eq!(
        lab.read("log"),
        "ready\nSIGTERM\n",
        "the second one is not for the program"
    );
    assert!(
        outcome.stderr.contains("goes on without being recorded"),
        "{}",
        outcome.stderr
    );
    let note = format!("still running, no longer recorded: signals (pid {program})");
    assert!(outcome.stderr.contains(&note), "{}", outcome.stderr);
    assert_eq!(lab.trace().end().how, ExitReason::Stopped);
}

// CT-02
#[test]
fn second_signal_ends_the_wait_for_a_busy_program() {
    for flags in [
        &[][..],
        &["--buffer", "0"],
        &["--summary"],
        &["--flight-recorder"],
    ] {
        ends_without_a_pause(flags);
    }
}

/// Reading a trace checks that no record is later than its end.
fn ends_without_a_pause(flags: &[&str]) {
    let lab = Lab::new();
    let mut command = lab.recorder(flags, "sh");
    command
        .args(["-c", "trap '' TERM; exec \"$@\"", "sh"])
        .arg(fixture("hot"));
    let recorder = command.args(["truth", "2", "500", "0"]).spawn();
    let recorder = recorder.expect("can be started");
    lab.wait_for_file("truth.ready");
    send(Signal::TERM, recorder.id());
    let_errors_show();
    let program = only_child(recorder.id());
    send(Signal::TERM, recorder.id());
    let outcome = lab.outcome(recorder);
    send(Signal::KILL, program);
    assert_eq!(outcome.status.code(), Some(128 + 15), "{}", outcome.stderr);
    assert_eq!(lab.trace().end().how, ExitReason::Stopped);
}

// CT-02
#[test]
fn ignored_signals_stay_ignored_in_the_program() {
    let lab = Lab::new();
    let recorder = lab.recorder(&[], fixture("signals"));
    let mut command = lab.command("sh");
    command.args(["-c", "trap '' INT; exec \"$@\"", "sh"]);
    command
        .arg(recorder.get_program())
        .args(recorder.get_args())
        .args(["log", "default"]);
    let recorder = command.spawn().expect("can be started");
    lab.wait_for_line("log", "ready");
    let program = only_child(recorder.id());
    send(Signal::INT, recorder.id());
    send(Signal::INT, program);
    send(Signal::INT, recorder.id());
    let_errors_show();
    send(Signal::TERM, program);
    assert_eq!(lab.outcome(recorder).status.code(), Some(128 + 15));
}
