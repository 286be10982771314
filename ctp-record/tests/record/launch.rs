//! CT-01: the program is started as if there were no recorder.

use std::ffi::OsStr;
use std::fs;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;

use ctp_trace::record::ExitReason;

use crate::lab::{Lab, Outcome, fixture};

// CT-01
#[test]
fn arguments_arrive_byte_for_byte_and_stand_in_the_trace() {
    let odd: [&[u8]; 9] = [
        b"",
        b"two words",
        b"\"quotes\" and 'more'",
        b"new\nline\ttab",
        b"$HOME `id` $(id) ; | & * ? ~ \\",
        b"\xFF\xFEnot utf-8\x80",
        b"--help",
        b"--",
        b"-q",
    ];
    let lab = Lab::new();
    let mut command = lab.recorder(&[], fixture("args_echo"));
    command.arg("echo").args(odd.map(OsStr::from_bytes));
    let outcome = lab.run(&mut command);
    assert_eq!(outcome.status.code(), Some(0), "{}", outcome.stderr);
    let echoed = fs::read(lab.path("echo")).expect("was written");
    let expected: Vec<u8> = odd
        .iter()
        .flat_map(|word| [word, &b"\0"[..]].concat())
        .collect();
    assert_eq!(echoed, expected);
    assert_eq!(lab.trace().start.argv[2..], odd.map(<[u8]>::to_vec));
}

/// Runs a program under a recorder that was started with this signal ignored, or with none.
fn with_ignored(signal: &str, program: &[&str]) -> (Outcome, ExitReason) {
    let lab = Lab::new();
    let mut command = lab.command("env");
    command.args([signal, env!("CARGO_BIN_EXE_ctp-record"), "-q", "--"]);
    let outcome = lab.run(command.args(program));
    (outcome, lab.trace().end().how)
}

/// Whether a program so started ignores the signal with this number.
fn is_ignored(signal: &str, number: u32) -> bool {
    let (outcome, _) = with_ignored(signal, &["grep", "SigIgn", "/proc/self/status"]);
    let ignored = outcome.stdout.split_whitespace().last().expect("a mask");
    let ignored = u64::from_str_radix(ignored, 16).expect("is hex");
    ignored >> (number - 1) & 1 == 1
}

// CT-01
#[test]
fn ignored_sigchld_does_not_prevent_the_wait() {
    let (outcome, how) = with_ignored("--ignore-signal=CHLD", &["sh", "-c", "sleep 0.1; exit 3"]);
    assert_eq!(outcome.status.code(), Some(3), "{}", outcome.stderr);
    assert_eq!(how, ExitReason::Exited(3));
}

// CT-01
#[test]
fn program_inherits_ignored_signals() {
    const SIGPIPE: u32 = 13;
    const SIGCHLD: u32 = 17;
    assert!(is_ignored("--ignore-signal=CHLD", SIGCHLD));
    assert!(is_ignored("--ignore-signal=PIPE", SIGPIPE));
    assert!(!is_ignored("--default-signal=PIPE", SIGPIPE));
    assert!(!is_ignored("--default-signal=CHLD", SIGCHLD));
}

// CT-01
#[test]
fn the_exit_status_is_the_programs() {
    for (script, status) in [
        ("exit 0", 0),
        ("exit 3", 3),
        ("exit 7", 7),
        ("exit 255", 255),
        ("kill -KILL $$", 128 + 9),
        ("kill -ABRT $$", 128 + 6),
        ("kill -TERM $$", 128 + 15),
        ("kill -SEGV $$", 128 + 11),
    ] {
        let lab = Lab::new();
        let outcome = lab.run(lab.recorder(&["-q"], "sh").args(["-c", script]));
        assert_eq!(outcome.status.code(), Some(status), "{script}");
        let how = lab.trace().end().how;
        match status {
            128..255 => assert_eq!(how, ExitReason::Signalled(status - 128)),
            code => assert_eq!(how, ExitReason::Exited(code)),
        }
    }
}

// CT-01
#[test]
fn failed_exec_exits_with_126_or_127() {
    let lab = Lab::new();
    for (name, mode, text) in [
        ("data", 0o644, "exit 0\n"),
        ("no-shebang", 0o755, "exit 0\n"),
        ("script", 0o755, "#! /no/where/sh -e\nexit 0\n"),
        ("from-windows", 0o755, "#!/bin/sh\r\nexit 0\r\n"),
    ] {
        fs::write(lab.path(name), text).expect("can be written");
        let mode = fs::Permissions::from_mode(mode);
        fs::set_permissions(lab.path(name), mode).expect("can be set");
    }
    for (program, status, hint) in [
        ("./nowhere", 127, "is the path right?"),
        ("no-such-program-on-any-path", 127, "is the path right?"),
        ("./data", 126, "cannot be executed"),
        ("./no-shebang", 126, "cannot be executed"),
        ("/", 126, "cannot be executed"),
        ("", 127, "is the path right?"),
        ("./script", 127, "its interpreter /no/where/sh is missing"),
        (
            "./from-windows",
            127,
            "its interpreter /bin/sh\\r is missing",
        ),
    ] {
        let outcome = lab.run(&mut lab.recorder(&[], program));
        assert_eq!(outcome.status.code(), Some(status), "{program}");
        assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
        assert!(outcome.stderr.contains(hint), "{}", outcome.stderr);
    }
}

// CT-01
#[test]
fn value_without_an_equals_sign_is_explained() {
    let lab = Lab::new();
    for value in ["30s", "64M"] {
        let mut command = lab.bare_recorder();
        let outcome = lab.run(command.args(["--flight-recorder", value, "true"]));
        assert_eq!(outcome.status.code(), Some(127));
        let hint = format!("--flight-recorder={value}");
        assert!(outcome.stderr.contains(&hint), "{}", outcome.stderr);
    }
    let outcome = lab.run(lab.bare_recorder().args(["30s", "true"]));
    let hint = "is the path right?";
    assert!(outcome.stderr.contains(hint), "{}", outcome.stderr);
}

// CT-06
#[test]
fn failed_launch_keeps_the_earlier_trace() {
    let lab = Lab::new();
    lab.run(&mut lab.recorder(&["-q"], "true"));
    let kept = fs::read(lab.path("ctp.data")).expect("was recorded");
    lab.run(&mut lab.recorder(&["-q"], "./nowhere"));
    lab.run(&mut lab.recorder(&["-q"], "./nowhere"));
    assert_eq!(fs::read(lab.path("ctp.data")).ok(), Some(kept));
    assert!(!lab.path("ctp.data.old").exists());
}

// CT-01
#[test]
fn stdin_and_stdout_pass_through_untouched() {
    let bytes: Vec<u8> = (0..100_000_u32)
        .map(|i| (i.wrapping_mul(i) >> 3) as u8)
        .collect();
    let lab = Lab::new();
    let mut command = lab.recorder(&[], "cat");
    let mut child = command
        .stdin(Stdio::piped())
        .spawn()
        .expect("can be started");
    let mut stdin = child.stdin.take().expect("is piped");
    stdin.write_all(&bytes).expect("cat reads");
    drop(stdin);
    let outcome = lab.outcome(child);
    assert_eq!(outcome.status.code(), Some(0), "{}", outcome.stderr);
    assert_eq!(fs::read(lab.path("stdout")).ok(), Some(bytes));
}

// CT-01
#[test]
fn the_program_has_no_open_files_of_the_recorder() {
    let lab = Lab::new();
    let list = "ls -l /proc/self/fd | grep -c -e memfd -e socket -e eventpoll -e pidfd -e ctp.data";
    let outcome = lab.run(lab.recorder(&[], "sh").args(["-c", list]));
    assert_eq!(outcome.stdout, "0\n", "{}", outcome.stderr);
}

// CT-01
#[test]
fn an_inherited_descriptor_takes_the_place_of_the_path() {
    let lab = Lab::new();
    let script = "echo $CTP_SHM_PATH; exec \"$@\"";
    let mut command = lab.recorder(&["--inherit-fd"], "sh");
    command.args(["-c", script, "sh"]).arg(fixture("paced"));
    let outcome = lab.run(command.args(["truth", "2", "3", "100"]));
    assert_eq!(outcome.status.code(), Some(0), "{}", outcome.stderr);
    assert!(
        outcome.stdout.starts_with("/proc/self/fd/"),
        "{}",
        outcome.stdout
    );
    let trace = lab.trace();
    trace.is_complete();
    assert_eq!(trace.coroutines.len(), 2);
}
