//! CT-01: where the recorder's options end, and the errors for unknown options.

use std::fs;
use std::os::unix::fs::symlink;

use crate::lab::{Lab, fixture};

// CT-01
#[test]
fn unknown_options_before_the_program_are_refused() {
    for (option, tip) in [
        ("--stuckafter", "did you mean '--stuck-after'?"),
        ("--sumary", "did you mean '--summary'?"),
        ("--frobnicate=2s", "ctp-record -- --frobnicate"),
        ("-Z", "ctp-record -- -Z"),
        ("-qZ", "unexpected argument '-Z'"),
    ] {
        let lab = Lab::new();
        let mut command = lab.bare_recorder();
        command.args([option, "2s", "--"]).arg(fixture("args_echo"));
        let outcome = lab.run(command.arg("started"));
        assert_eq!(outcome.status.code(), Some(2), "{}", outcome.stderr);
        assert!(outcome.stderr.contains(tip), "{}", outcome.stderr);
        assert!(!lab.path("started").exists(), "{option}");
    }
}

// CT-01
#[test]
fn control_after_an_option_gets_a_hint() {
    let lab = Lab::new();
    let outcome = lab.run(lab.bare_recorder().args(["-q", "control", "1", "status"]));
    assert_eq!(outcome.status.code(), Some(127), "{}", outcome.stderr);
    let message = "`control` comes before all options: ctp-record control PID";
    assert!(outcome.stderr.contains(message), "{}", outcome.stderr);
}

// CT-01
#[test]
fn words_after_the_program_name_are_the_arguments() {
    let words = [
        "--stuckafter",
        "x",
        "-p",
        "1",
        "--",
        "control",
        "--help",
        "-q",
    ];
    for before in [&[][..], &["--"], &["-q", "-o", "ctp.data"]] {
        let lab = Lab::new();
        let mut command = lab.bare_recorder();
        command.args(before).arg(fixture("args_echo"));
        let outcome = lab.run(command.arg("echo").args(words));
        assert_eq!(outcome.status.code(), Some(0), "{}", outcome.stderr);
        let echoed = fs::read(lab.path("echo")).expect("was written");
        assert_eq!(
            echoed,
            words.map(|word| format!("{word}\0")).concat().into_bytes()
        );
    }
}

// CT-01
#[test]
fn programs_with_odd_names_run_after_two_dashes() {
    for name in ["--odd-name", "-p", "--", "control", "--help"] {
        let lab = Lab::new();
        symlink(fixture("args_echo"), lab.path(name)).expect("can be made");
        let mut command = lab.bare_recorder();
        command.args(["-q", "--", name, "echo", "-q"]);
        let outcome = lab.run(command.env("PATH", lab.path(".")));
        assert_eq!(outcome.status.code(), Some(0), "{}", outcome.stderr);
        assert_eq!(fs::read(lab.path("echo")).ok(), Some(b"-q\0".to_vec()));
    }
}

// CT-01
#[test]
fn a_program_named_control_runs_by_the_path() {
    let lab = Lab::new();
    symlink(fixture("args_echo"), lab.path("control")).expect("can be made");
    let mut command = lab.bare_recorder();
    let outcome = lab.run(command.args(["./control", "echo", "1", "stop"]));
    assert_eq!(outcome.status.code(), Some(0), "{}", outcome.stderr);
    assert_eq!(fs::read(lab.path("echo")).ok(), Some(b"1\0stop\0".to_vec()));
}
