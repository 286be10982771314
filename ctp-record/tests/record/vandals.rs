//! Programs that attack their recorder. It ends when they do, with their status, in bounded memory,
//! and leaves a readable trace with all valid records.

use std::process::Command;

use crate::lab::{Lab, fixture};
use crate::trace::Trace;

/// Address space of the recorder and of its program: the memory of a recording is sparse, but a
/// wrong size taken from it would exceed this.
const MAX_KIB: &str = "2097152";

fn recorder(lab: &Lab, flags: &[&str], damage: &str, number: &str) -> Command {
    let mut command = lab.command("sh");
    command
        .args(["-c", "ulimit -v $0 && exec \"$@\"", MAX_KIB])
        .arg(env!("CARGO_BIN_EXE_ctp-record"))
        .args(["-n", "2000", "--buffer", "16K"])
        .args(flags)
        .arg("--")
        .arg(fixture("vandal"))
        .args(["truth", damage, number]);
    command
}

/// The trace, in which these have had ten events, if what the machine made the recorder miss is
/// counted.
fn suffer(lab: &Lab, damage: &str, number: &str, sane: &[&str]) -> Trace {
    suffer_with(&[], lab, damage, number, sane)
}

fn suffer_with(flags: &[&str], lab: &Lab, damage: &str, number: &str, sane: &[&str]) -> Trace {
    let outcome = lab.run(&mut recorder(lab, flags, damage, number));
    assert_eq!(outcome.status.code(), Some(7), "{}", outcome.stderr);
    assert!(!outcome.stderr.contains("panicked"), "{}", outcome.stderr);
    let trace = Trace::read_of_mad(&lab.path("ctp.data"));
    for name in sane {
        let all = trace.coroutines.values();
        let named = all.filter(|coroutine| coroutine.birth.name == *name);
        let reported: Vec<_> = named.map(|named| named.event_counts().attempted).collect();
        assert!(
            reported.contains(&10),
            "{damage}: {name} had {reported:?} events"
        );
    }
    trace
}

// CTP-28
#[test]
fn recorder_survives_random_memory() {
    suffer(&Lab::new(), "scribble", "100", &["after"]);
}

// CTP-28
#[test]
fn plausible_wrong_words_are_marked_as_doubtful() {
    let lab = Lab::new();
    suffer(&lab, "spite", "100", &["after"]);
    let message = lab.read("stderr");
    assert!(message.contains("held impossible numbers"), "{message}");
    assert!(!message.contains("% of the run"), "{message}");
}

// CTP-28, LT-30
#[test]
fn memory_cannot_be_truncated_and_holes_are_survived() {
    let lab = Lab::new();
    suffer(&lab, "cut", "0", &["after"]);
    let message = "empty EPERM\nshrink EPERM\ngrow EPERM\nseal EPERM\npunch done\n";
    assert_eq!(lab.read("truth"), message);
}

// CTP-28
#[test]
fn flooded_sockets_do_not_affect_the_recording() {
    for (damage, number) in [
        ("babble", "500"),
        ("knock", "1000"),
        ("crowd", "1000"),
        ("beg", "200"),
        ("slam", "0"),
    ] {
        let trace = suffer(&Lab::new(), damage, number, &["before", "after"]);
        assert_eq!(trace.coroutines.len(), 2, "{damage}");
        assert_eq!(trace.end().quarantined, 0, "{damage}");
    }
}

/// Only the contents of the memory are recorded, and they were overwritten.
// CTP-28
#[test]
fn flight_recorder_survives_random_memory() {
    for damage in ["scribble", "spite", "cut", "babble", "beg"] {
        suffer_with(&["--flight-recorder"], &Lab::new(), damage, "100", &[]);
    }
}
