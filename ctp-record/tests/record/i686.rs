//! A 32-bit program and a 64-bit program in the same recording.

use std::path::PathBuf;
use std::process::Command;

use crate::lab::{Lab, fixture};

const TARGET: &str = "i686-unknown-linux-gnu";

/// A program of `examples/` for 32 bits. `None`, with a visible reason, if it cannot be built.
fn of_32_bits(example: &str) -> Option<PathBuf> {
    let here = fixture(example);
    let target_directory = here
        .ancestors()
        .nth(3)
        .expect("target/debug/examples/family");
    let built = Command::new(env!("CARGO"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args([
            "build",
            "--quiet",
            "--locked",
            "--example",
            example,
            "--target",
            TARGET,
        ])
        .arg("--target-dir")
        .arg(target_directory)
        .output()
        .expect("cargo can be run");
    if !built.status.success() {
        let why = String::from_utf8_lossy(&built.stderr);
        let why = why.lines().next().unwrap_or_default();
        eprintln!("SKIPPED: no compiler for {TARGET}: {why}");
        return None;
    }
    let directory = target_directory.join(TARGET).join("debug/examples");
    Some(directory.join(example))
}

// LT-20
#[test]
fn both_widths_are_in_the_same_trace() {
    let Some(small) = of_32_bits("family") else {
        return;
    };
    let lab = Lab::new();
    let steps = "work $0 20 1000 fork work $0-child 20 1000";
    let script = format!(
        "set -e; run() {{ name=$1; program=$2; \"$program\" truth {}; }}; run wide {}; run narrow {}",
        steps.replace("$0", "$name"),
        fixture("family").display(),
        small.display()
    );
    let outcome = lab.run(lab.recorder(&[], "sh").args(["-c", &script]));
    assert_eq!(outcome.status.code(), Some(0), "{}", outcome.stderr);
    let trace = lab.trace();
    let lives = |name: &str| {
        let coroutine = trace.named(name);
        assert_eq!(coroutine.event_counts().attempted, 41, "{name}");
        (
            coroutine.birth.dialect,
            coroutine.events.len() as u64 + coroutine.lost(),
        )
    };
    for (wide, narrow) in [("wide", "narrow"), ("wide-child", "narrow-child")] {
        assert_eq!(lives(wide), lives(narrow));
    }
    assert_eq!(trace.coroutines.len(), 4);
}

// AGG-24, AGG-06
#[test]
fn totals_of_a_killed_32_bit_program_are_complete() {
    if let Some(small) = of_32_bits("ledger") {
        crate::summary::killed_at_any_instant(&small, 10);
    }
}
