//! Exports, read by the programs that their formats are for, or by decoders of their publishers.
//!
//! The expected numbers come from the records of each trace. A test is skipped, with a message, if its
//! reader is not installed; `.ci/viewers` installs all of them.

mod ctf;
mod facts;
mod firefox;
mod otlp;
mod perfetto;
mod profiles;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use crate::test_dir::TestDir;
use crate::traces;
use facts::Facts;

/// Where `.ci/viewers` installs readers.
fn viewers() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/viewers")
}

/// Python with these packages, if installed.
fn python(packages: &str) -> Option<PathBuf> {
    let own = viewers().join("bin/python");
    let found = [own, PathBuf::from("python3")].into_iter().find(|python| {
        let mut command = Command::new(python);
        let output = command.args(["-c", &format!("import {packages}")]).output();
        output.is_ok_and(|output| output.status.success())
    });
    if found.is_none() {
        eprintln!("SKIPPED: no Python with {packages}");
    }
    found
}

/// Runs a script beside this file on exports. The script prints what it reads, as JSON by file name.
fn read_by(python: &Path, script: &str, test_dir: &TestDir, exports: &[String]) -> Value {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/exports");
    let mut command = Command::new(python);
    command.arg(folder.join(script)).args(exports);
    let output = command.current_dir(test_dir.path("")).output().unwrap();
    assert!(output.status.success(), "{script}: {}", stderr(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Exports a trace to a file with the name of the trace.
fn export(test_dir: &TestDir, trace: &str, format: &str) {
    let input = format!("{trace}.data");
    let output = test_dir.report(&["-i", &input, "--export", format, "-o", trace]);
    assert!(output.status.success(), "{trace}: {}", stderr(&output));
}

/// The traces to export: waits of all kinds, losses, damage, hostile names, and several processes.
const TRACES: [&str; 15] = [
    "lost_wakeup",
    "closed",
    "woken",
    "chain",
    "family",
    "deadlock",
    "senders",
    "busy",
    "torn",
    "lossy",
    "lossy_ends",
    "hostile",
    "truncated",
    "corrupt",
    "survivor",
];

/// Exports all of [`TRACES`]. Returns the facts of their records.
fn export_all(test_dir: &TestDir, format: &str) -> BTreeMap<String, Facts> {
    let all = traces::all().iter();
    let all = all.filter(|(trace, _)| TRACES.contains(trace));
    let facts = all.map(|(trace, bytes)| {
        export(test_dir, trace, format);
        ((*trace).to_owned(), Facts::of(bytes))
    });
    let facts: BTreeMap<String, Facts> = facts.collect();
    assert_eq!(facts.len(), TRACES.len());
    facts
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

const FORMATS: [&str; 5] = ["perfetto", "firefox", "speedscope", "pprof", "otlp"];

// CT-20
#[test]
fn unknown_format_is_refused() {
    let output = TestDir::new().report(&["--export", "svg"]);
    assert_eq!(output.status.code(), Some(2));
    for format in FORMATS.iter().chain(&["ctf"]) {
        assert!(stderr(&output).contains(format), "{}", stderr(&output));
    }
}

// CT-20
#[test]
fn standard_output_gets_what_a_file_would() {
    let test_dir = TestDir::new();
    for format in FORMATS {
        export(&test_dir, "lost_wakeup", format);
        let args = ["-i", "lost_wakeup.data", "--export", format];
        let printed = test_dir.report(&args).stdout;
        assert_eq!(
            std::fs::read(test_dir.path("lost_wakeup")).unwrap(),
            printed
        );
    }
}

// CT-20
#[test]
fn exports_of_some_coroutines_are_smaller() {
    let test_dir = TestDir::new();
    for format in FORMATS {
        let all = ["-i", "lost_wakeup.data", "--export", format];
        let some = [&all[..], &["--id", "7", "--time", "1s,2s"]].concat();
        let (all, some) = (test_dir.report(&all), test_dir.report(&some));
        assert!(some.status.success(), "{}", stderr(&some));
        assert!(some.stdout.len() < all.stdout.len(), "{format}");
    }
}
