//! The real tools, run on the real programs.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Once;

use serde_json::Value;

/// A program of the workspace, built if need be.
pub fn program(name: &str) -> PathBuf {
    static BUILT: Once = Once::new();
    BUILT.call_once(|| {
        let mut cargo = Command::new(env!("CARGO"));
        // The whole workspace, so that nothing is compiled again for other features.
        cargo.args(["build", "--quiet", "--workspace"]);
        cargo.args(["--bins", "--example", "v1_writer"]);
        if !cfg!(debug_assertions) {
            cargo.arg("--release");
        }
        assert!(cargo.status().expect("cargo runs").success());
    });
    let test = std::env::current_exe().expect("a test has a path");
    let profile = test
        .parent()
        .and_then(Path::parent)
        .expect("in target/<profile>/deps");
    profile.join(name)
}

/// Runs a program under the recorder; the trace is `ctp.data` in `directory`.
pub fn record(directory: &Path, name: &str, arguments: &[&str]) -> Output {
    record_with(&[], directory, name, arguments)
}

/// The same, with flags of the recorder.
pub fn record_with(flags: &[&str], directory: &Path, name: &str, arguments: &[&str]) -> Output {
    record_built(flags, directory, &program(name), arguments)
}

/// The same, for a program that is built elsewhere.
pub fn record_built(flags: &[&str], directory: &Path, built: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(program("ctp-record"));
    command.args(flags).arg("--").arg(built).args(arguments);
    command
        .current_dir(directory)
        .output()
        .expect("the recorder runs")
}

/// Runs a shell command under the recorder, with the program as `$0`.
pub fn record_line(directory: &Path, line: &str, name: &str) -> Output {
    let mut command = Command::new(program("ctp-record"));
    command.args(["--", "sh", "-c", line]).arg(program(name));
    command
        .current_dir(directory)
        .output()
        .expect("the recorder runs")
}

/// Runs the reporter where the trace is.
pub fn report(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(program("ctp-report"));
    command
        .args(arguments)
        .current_dir(directory)
        .output()
        .expect("the reporter runs")
}

/// What the reporter says with `--json`.
pub fn report_json(directory: &Path, arguments: &[&str]) -> Value {
    let output = report(directory, &[arguments, &["--json"]].concat());
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error} in {}", String::from_utf8_lossy(&output.stdout)))
}

/// The number of the only line of a source file that has this text.
pub fn line_of(source: &str, text: &str) -> u64 {
    let lines: Vec<u64> = (1..)
        .zip(source.lines())
        .filter_map(|(number, line)| line.contains(text).then_some(number))
        .collect();
    assert_eq!(lines.len(), 1, "{text} stands once");
    lines[0]
}
