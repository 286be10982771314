//! The parents of coroutines match the program.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use ctp_trace::{Reader, TraceModel};
use serde_json::Value;
use tempfile::tempdir;

use crate::support::{record, record_with, report_json};

/// The parent of each that was alive at the end, both by name; `-` for none.
type Parents = BTreeMap<String, String>;

/// How many children of a kind belong to each kind of parent.
type Kinds = BTreeMap<(String, String), u64>;

fn reported(stdout: &str) -> Parents {
    let lines = stdout.lines().filter_map(|line| line.split_once(' '));
    lines
        .map(|(child, parent)| (child.to_owned(), parent.to_owned()))
        .collect()
}

fn recorded(directory: &Path) -> Parents {
    let bytes = fs::read(directory.join("ctp.data")).expect("there is a trace");
    let mut trace_model = TraceModel::new();
    for record in Reader::new(&bytes).expect("a trace").flatten() {
        trace_model.consume(&record);
    }
    let name = |id| trace_model.name(id).to_owned();
    let all = trace_model.coroutines().into_iter();
    all.map(|coroutine| {
        let parent = coroutine
            .parent
            .map_or("-".to_owned(), |parent| name(parent.name));
        (name(coroutine.name), parent)
    })
    .collect()
}

fn kind(name: &str) -> String {
    name.trim_end_matches(|last: char| last.is_ascii_digit())
        .to_owned()
}

fn kinds(parents: &Parents) -> Kinds {
    let mut kinds = Kinds::new();
    for (child, parent) in parents {
        // A tree of cousins is shown as one family.
        let parent = if kind(child) == kind(parent) {
            "aunt-".to_owned()
        } else {
            kind(parent)
        };
        *kinds.entry((kind(child), parent)).or_default() += 1;
    }
    kinds
}

fn walk(parent: &str, branches: &Value, kinds: &mut Kinds) {
    for branch in branches.as_array().expect("a list") {
        let name = branch["name"].as_str().expect("a name");
        let name = name.trim_end_matches('*');
        let count = |field: &str| branch[field].as_u64().expect("a count");
        let all = count("alive") + count("ended");
        assert!(all > 0, "{branch}");
        *kinds
            .entry((name.to_owned(), parent.to_owned()))
            .or_default() += all;
        walk(name, &branch["children"], kinds);
    }
}

/// Of the coroutines alive at the end: those with another parent than the program says, and the
/// number of known parents.
fn wrong_and_known(flags: &[&str]) -> (Vec<String>, usize) {
    let directory = tempdir().expect("room");
    let output = record_with(flags, directory.path(), "family", &[]);
    let truth = reported(&String::from_utf8(output.stdout).expect("text"));
    let recorded = recorded(directory.path());
    let claims = recorded.iter().filter(|(_, parent)| *parent != "-");
    let wrong = claims
        .clone()
        .filter(|(child, parent)| truth[*child] != **parent)
        .map(|(child, parent)| format!("{child} of {parent}"));
    (wrong.collect(), claims.count())
}

// CT-25
#[test]
fn lost_records_give_no_wrong_parent() {
    for _ in 0..4 {
        let (wrong, _) = wrong_and_known(&["--buffer", "4K"]);
        assert_eq!(wrong, Vec::<String>::new());
    }
}

// CT-25
#[test]
fn flight_recorder_knows_the_parents() {
    let (wrong, known) = wrong_and_known(&["--flight-recorder=30s"]);
    assert_eq!(wrong, Vec::<String>::new());
    assert_eq!(known, 320, "all but elders and strangers");
}

// CT-25
#[test]
fn parents_match_the_program() {
    let directory = tempdir().expect("room");
    let output = record(directory.path(), "family", &[]);
    let truth = reported(&String::from_utf8(output.stdout).expect("text"));
    assert!(300 < truth.len(), "{truth:?}");
    let mut alive = truth.clone();
    alive.retain(|child, _| !["uncle-", "guest-"].contains(&kind(child).as_str()));
    assert_eq!(recorded(directory.path()), alive);

    let json = report_json(directory.path(), &["--tree"]);
    let mut shown = Kinds::new();
    walk("-", &json["tree"], &mut shown);
    assert_eq!(shown, kinds(&truth), "{json}");
}
