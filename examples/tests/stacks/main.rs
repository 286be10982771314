//! Wakers called on a coroutine's stack, next to memory that is unmapped later: the probe never
//! reads that memory. On a thread's own stack the callers are found, however the stack was made.
#![cfg(target_arch = "x86_64")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ctp_trace::Reader;
use ctp_trace::record::Record;
use tempfile::tempdir;

const MODES: [&[&str]; 5] = [
    &[],
    &["--summary", "-n", "1000"],
    &["--buffer", "0", "-n", "1000"],
    &["--flight-recorder"],
    &["--precise-chains"],
];

fn built() -> PathBuf {
    let test = std::env::current_exe().expect("a test has a path");
    let profile = test.parent().and_then(Path::parent);
    let mut cargo = Command::new(env!("CARGO"));
    // The whole workspace, so that nothing is compiled again for other features.
    cargo.args(["build", "--quiet", "--workspace"]);
    cargo.args(["--bin", "ctp-record", "--example", "stacks"]);
    if !cfg!(debug_assertions) {
        cargo.arg("--release");
    }
    assert!(cargo.status().expect("cargo runs").success());
    profile.expect("in target/<profile>/deps").to_owned()
}

/// The program's output. It must exit with 0.
fn play(directory: &Path, flags: &[&str], scene: &str) -> String {
    let profile = built();
    let mut command = Command::new(profile.join("ctp-record"));
    command.args(flags).arg("--");
    command.arg(profile.join("examples/stacks")).arg(scene);
    let output = command.current_dir(directory).output();
    let output = output.expect("the recorder runs");
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(
        output.status.code(),
        Some(0),
        "{scene} {flags:?}: {message}"
    );
    String::from_utf8(output.stdout).expect("text")
}

fn survives_in_every_mode(scene: &str) {
    for flags in MODES {
        play(tempdir().expect("room").path(), flags, scene);
    }
}

// CT-13
#[test]
fn vector_above_a_coroutine_stack_may_be_freed() {
    survives_in_every_mode("vector");
}

// CT-13
#[test]
fn memory_merged_with_thread_local_storage_may_be_unmapped() {
    survives_in_every_mode("merged");
}

// CT-13
#[test]
fn memory_below_an_unguarded_thread_may_be_unmapped() {
    survives_in_every_mode("unguarded");
}

// CT-13
#[test]
fn guard_below_a_merged_coroutine_stack_proves_nothing() {
    survives_in_every_mode("guarded-below");
}

// CT-13
#[test]
fn wakes_on_a_coroutine_stack_populate_no_shared_memory() {
    let directory = tempdir().expect("room");
    let printed = play(
        directory.path(),
        &["--buffer", "0", "-n", "1000"],
        "kept-vector",
    );
    let kib = printed.trim().strip_prefix("grown ");
    let kib = kib.and_then(|rest| rest.strip_suffix(" KiB"));
    let kib: u64 = kib.and_then(|kib| kib.parse().ok()).expect("a number");
    assert!(kib <= 64, "{kib} KiB of the shared memory were populated");
}

/// Return addresses of each chain in the trace.
fn chains(directory: &Path) -> Vec<Vec<u64>> {
    let bytes = fs::read(directory.join("ctp.data")).expect("there is a trace");
    let records = Reader::new(&bytes).expect("a trace");
    let chains = records.filter_map(|record| match record.expect("a complete record") {
        Record::Chain(chain) => Some(chain.addresses.to_vec()),
        _ => None,
    });
    chains.collect()
}

fn finds_callers(scene: &str) {
    let directory = tempdir().expect("room");
    let printed = play(directory.path(), &[], scene);
    let Ok(first) = printed.trim().parse::<u64>() else {
        return eprintln!("SKIPPED: {printed}");
    };
    let chains = chains(directory.path());
    let is_found = |chain: &Vec<u64>| chain.windows(2).any(|pair| pair == [first, first + 1]);
    assert!(
        chains.iter().any(is_found),
        "{scene}: {first} in {chains:?}"
    );
}

// CT-13
#[test]
fn callers_are_found_on_the_main_thread() {
    finds_callers("main");
    finds_callers("elsewhere");
}

// CT-13
#[test]
fn callers_are_found_on_threads_of_any_stack_size() {
    finds_callers("thread");
    finds_callers("small");
}

// CT-13
#[test]
fn callers_are_found_above_a_guard_region() {
    finds_callers("region");
}
