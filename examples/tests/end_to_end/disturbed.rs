//! Call stacks of a program that throws exceptions, and loads and unloads a library, all the time. An unwinder within
//! the program would wait for locks that these hold.

use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::tempdir;

use crate::stackful_program::Recording;

/// How many call stacks are read, unless `CTP_STACKS` says otherwise.
const STACKS: u64 = 2_000;

/// A library that throws an exception through some of its own functions.
const SOURCE: &str = r#"
#include <stdexcept>
static void thrower(int depth) {
    if (depth == 0) throw std::runtime_error("thrown");
    thrower(depth - 1);
    asm volatile("");
}
extern "C" int throw_and_catch(int depth) {
    try { thrower(depth); } catch (const std::exception &) { return 1; }
    return 0;
}
"#;

/// Returns false if there is no compiler.
fn compile(directory: &Path) -> bool {
    let source = directory.join("throws.cpp");
    fs::write(&source, SOURCE).expect("can be written");
    let mut command = Command::new("c++");
    command.args(["-shared", "-fPIC", "-O1", "-o", "throws.so"]);
    match command.arg(&source).current_dir(directory).status() {
        Ok(status) => {
            assert!(status.success(), "{status}");
            true
        }
        Err(error) => {
            eprintln!("skipped: c++: {error}");
            false
        }
    }
}

// STB-18
#[test]
fn stacks_are_read_while_the_program_throws_and_loads() {
    let directory = tempdir().expect("room");
    if !compile(directory.path()) {
        return;
    }
    let minimum = std::env::var("CTP_STACKS");
    let minimum: u64 = minimum.map_or(STACKS, |count| count.parse().expect("a number"));
    let coroutines = (minimum / 10).clamp(300, 10_000).to_string();
    let arguments = ["corosensei", &coroutines, "0", "./throws.so"];
    let recording = Recording::start(directory.path(), &["-q"], &arguments);
    let mut read = 0;
    while read < minimum {
        read += recording.read_stacks()["stacks"]
            .as_u64()
            .expect("a number");
    }
    let compared = recording.end(directory.path());
    assert_eq!(compared.wrong, [] as [String; 0]);
    let (exact, moving) = (compared.exact, compared.moving);
    assert!(
        read <= exact && moving * 1000 <= read,
        "{exact} exact, {moving} moving"
    );
    println!("{exact} exact, {moving} moving");
    let counts = fs::read_to_string(directory.path().join("disturbances")).expect("counts");
    let mut counts = counts
        .split_whitespace()
        .map(|count| count.parse::<u64>().expect("a number"));
    assert!(counts.all(|count| 0 < count));
}
