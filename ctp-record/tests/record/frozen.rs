//! A recorder that is killed while it makes a coroutine wait (`examples/frozen.rs`).

use std::process::Command;

use crate::lab::{Lab, fixture, wait_until};

/// `ctp-record control PID stacks`, whatever comes of it.
fn request_stacks(lab: &Lab, recorder: u32) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ctp-record"));
    command.args(["control", &recorder.to_string(), "stacks"]);
    command.env("TMPDIR", lab.path("")).output().expect("runs");
}

// STB-10
#[test]
fn program_goes_on_if_the_recorder_is_killed_during_a_freeze() {
    let lab = Lab::new();
    let mut command = lab.recorder(&["-q"], fixture("frozen"));
    let mut recorder = command.arg("outcome").spawn().expect("can be started");
    wait_until("the program kills its recorder", || {
        request_stacks(&lab, recorder.id());
        recorder.try_wait().expect("was started here").is_some()
    });
    lab.wait_for_file("outcome");
    let outcome = lab.read("outcome");
    let words: Vec<&str> = outcome.split_whitespace().collect();
    let [is_held, broken, has_freezes, broken_later] = words[..] else {
        panic!("{outcome}");
    };
    assert_eq!(is_held, "true", "the recorder held the request: {outcome}");
    assert_eq!((broken, has_freezes), ("1", "false"), "{outcome}");
    assert_eq!(broken_later, "1", "a later run waited: {outcome}");
}
