//! Files of coroTracer, in both directions.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;

use crate::test_dir::TestDir;
use crate::traces;
use crate::traces::foreign::{self, BROKEN, RUNS};

const MESSY: &str = "three_runs.data";

fn json(test_dir: &TestDir, args: &[&str]) -> Value {
    serde_json::from_str(&test_dir.text(&[args, &["--stuck", "--json"]].concat())).unwrap()
}

// CT-17
#[test]
fn appended_runs_are_separated() {
    let test_dir = TestDir::new();
    for (number, events) in (1..).zip(RUNS) {
        let run: &str = &format!("{number}");
        let trace = &json(&test_dir, &["-i", MESSY, "--run", run])["trace"];
        assert_eq!(trace["events"], events, "run {number}");
        let duration = trace["duration_ns"].as_u64().unwrap();
        assert!(
            2_000_000_000 < duration && duration < 2_040_000_000,
            "{trace}"
        );
        assert_eq!(trace["exact"], false);
        assert_eq!(trace["lost"], 0);
    }
    let last = json(&test_dir, &["-i", MESSY]);
    assert_eq!(last, json(&test_dir, &["-i", MESSY, "--run", "3"]));
}

// CT-17
#[test]
fn broken_lines_are_left_out_with_a_reason() {
    let test_dir = TestDir::new();
    let put = foreign::three_runs().broken;
    assert_eq!(put.values().map(Vec::len).sum::<usize>(), BROKEN);
    let mut found: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for line in test_dir.text(&["-i", MESSY, "--dump"]).lines() {
        let Some(note) = line.strip_prefix("# note: line ") else {
            continue;
        };
        let (number, reason) = note.split_once(" left out: ").unwrap();
        let lines = found.entry(reason.to_owned()).or_default();
        lines.push(number.parse().unwrap());
    }
    let put: BTreeMap<String, Vec<usize>> = put
        .into_iter()
        .map(|(reason, lines)| (reason.to_owned(), lines))
        .collect();
    assert_eq!(found, put);
}

// CT-20
#[test]
fn what_was_imported_is_exported_line_for_line() {
    let test_dir = TestDir::new();
    let broken: Vec<usize> = foreign::three_runs()
        .broken
        .into_values()
        .flatten()
        .collect();
    let bytes = fs::read(test_dir.path(MESSY)).unwrap();
    let lines = (1..).zip(bytes.split(|&byte| byte == b'\n'));
    let mut whole: Vec<String> = lines
        .filter(|(number, _)| !broken.contains(number))
        .map(|(_, line)| String::from_utf8(line.to_vec()).unwrap())
        .collect();
    let mut exported = String::new();
    for run in ["1", "2", "3"] {
        exported += &test_dir.text(&["-i", MESSY, "--run", run, "--export", "jsonl"]);
    }
    let mut exported: Vec<&str> = exported.lines().collect();
    exported.sort_unstable();
    whole.sort_unstable();
    assert_eq!(exported, whole);
}

// CT-20
#[test]
fn a_file_holds_what_standard_output_would() {
    let test_dir = TestDir::new();
    for format in ["jsonl", "csv"] {
        let args = ["-i", "lossy.data", "--export", format];
        let message = test_dir.text(&[&args[..], &["-o", "rows"]].concat());
        assert!(
            message.starts_with("wrote rows (50 events; 212 lost"),
            "{message}"
        );
        assert_eq!(
            fs::read_to_string(test_dir.path("rows")).unwrap(),
            test_dir.text(&args)
        );
    }
}

/// Of each track, by process and thread id: its name, and from when to when its slices are, in ns.
type Tracks = BTreeMap<(u64, u64), (Option<String>, Vec<(u64, u64)>)>;

fn tracks(document: &Value) -> Tracks {
    let ns = |value: &Value| (value.as_f64().unwrap_or_default() * 1000.0).round() as u64;
    let mut tracks = Tracks::new();
    for event in document["traceEvents"].as_array().unwrap() {
        let key = (
            event["pid"].as_u64().unwrap(),
            event["tid"].as_u64().unwrap(),
        );
        let is_of_process = event["name"] == "process_name";
        if is_of_process {
            continue;
        }
        let (name, slices) = tracks.entry(key).or_default();
        match event["ph"].as_str().unwrap() {
            "M" => *name = Some(event["args"]["name"].as_str().unwrap().to_owned()),
            "X" => slices.push((ns(&event["ts"]), ns(&event["ts"]) + ns(&event["dur"]))),
            "i" | "s" | "f" => {}
            other => panic!("{other}: {event}"),
        }
    }
    tracks
}

/// One that lies neither within another one nor apart from it: viewers know no such ones.
fn that_does_not_nest(slices: &[(u64, u64)]) -> Option<(u64, u64)> {
    let mut slices = slices.to_vec();
    slices.sort_unstable_by_key(|&(from, to)| (from, Reverse(to)));
    let mut open: Vec<u64> = Vec::new();
    slices.into_iter().find(|&(from, to)| {
        open.retain(|&end| from < end);
        let overlaps = open.iter().any(|&end| end < to);
        open.push(to);
        overlaps
    })
}

// CT-20
#[test]
fn exported_tracks_have_names_and_nested_slices() {
    let test_dir = TestDir::new();
    let mut shown = 0;
    for (trace, _) in traces::all() {
        let file = format!("{trace}.data");
        let output = test_dir.report(&["-i", &file, "--export", "chrome"]);
        if !output.status.success() {
            continue;
        }
        let document = serde_json::from_slice(&output.stdout).unwrap();
        for ((pid, tid), (name, slices)) in tracks(&document) {
            if 10_000_000 < pid {
                assert!(name.is_some(), "{trace}: {pid} {tid}");
                assert_eq!(that_does_not_nest(&slices), None, "{trace}: {name:?}");
                shown += 1;
            }
        }
    }
    assert!(500 < shown, "{shown}");
}
