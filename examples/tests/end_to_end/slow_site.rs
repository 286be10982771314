//! `ctp-report diff` names the site that the program slowed down, and no other. `CTP_RUNS=20` compares
//! that many pairs of recordings.

use std::path::Path;

use serde_json::Value;
use tempfile::tempdir;

use crate::support::{record, report_json};

const FUNCTIONS: [&str; 8] = [
    "read_config",
    "fetch_user",
    "fetch_order",
    "charge",
    "reserve",
    "ship",
    "notify",
    "archive",
];

fn runs() -> usize {
    std::env::var("CTP_RUNS").map_or(2, |runs| runs.parse().expect("a number"))
}

/// Records the program. Returns the function and the line that it slowed down, if any.
fn recorded(directory: &Path, trace: &str, arguments: &[&str]) -> Option<(String, u64)> {
    let output = record(directory, "slow_site", arguments);
    assert!(output.status.success(), "{output:?}");
    std::fs::rename(directory.join("ctp.data"), directory.join(trace)).expect("a trace");
    let stdout = String::from_utf8(output.stdout).expect("text");
    let mut lines = stdout
        .lines()
        .map(|line| line.split(' ').collect::<Vec<_>>());
    let slow = lines.find(|words| words[0] == "slow")?;
    Some((slow[1].to_owned(), slow[2].parse().expect("a line")))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

/// The functions and lines that changed, each once.
fn changed(directory: &Path, before: &str, after: &str) -> Vec<(String, u64)> {
    let diff = report_json(directory, &["diff", before, after]);
    for only in ["new", "gone"] {
        assert!(list(&diff[only]).is_empty(), "{diff}");
    }
    let places = list(&diff["changes"]).iter().map(|change| {
        let function = change["function"].as_str().expect("a function");
        let function = function.rsplit("::").next().expect("a name");
        (
            function.to_owned(),
            change["line"].as_u64().expect("a line"),
        )
    });
    let mut places: Vec<_> = places.collect();
    places.sort();
    places.dedup();
    places
}

#[test]
fn slow_site_is_named_and_no_other() {
    let directory = tempdir().expect("room");
    for run in 0..runs() {
        let function = FUNCTIONS[run % FUNCTIONS.len()];
        assert_eq!(recorded(directory.path(), "before", &[]), None);
        assert_eq!(recorded(directory.path(), "again", &[]), None);
        let slow = recorded(directory.path(), "slow", &[function, "200"]);
        let slow = slow.expect("the program has slowed a site");
        assert_eq!(slow.0, function);
        let found = changed(directory.path(), "before", "again");
        assert_eq!(found, [], "run {run}: the same program");
        let found = changed(directory.path(), "before", "slow");
        assert_eq!(found, [slow], "run {run}");
    }
}
