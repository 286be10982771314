//! What leaves for other tools is compared with what the program itself wrote down.

use std::collections::BTreeMap;
use std::fs;

use crate::support::{record, report};
use serde_json::Value;
use tempfile::tempdir;

type Columns = (u64, u64, u64, bool, String);

/// The program's own account, as coroTracer numbers events: by id, (time, seq, thread, runs, frame).
fn truth(text: &str) -> BTreeMap<u64, Vec<Columns>> {
    let mut truth: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [id, n, ts, tid, runs, addr] = words[..] else {
            continue;
        };
        let number = |word: &str| word.parse::<u64>().expect("a number");
        let (seq, runs) = (number(n) / 8 * 2 + 2, runs == "true");
        let addr = format!("{:#018x}", number(addr));
        let of_first = truth.entry(number(id)).or_default();
        of_first.push((number(ts), seq, number(tid), runs, addr));
    }
    truth
}

fn exported(text: &str) -> BTreeMap<u64, Vec<Columns>> {
    let mut exported: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for line in text.lines() {
        let row: Value = serde_json::from_str(line).expect("a line is JSON");
        let number = |column: &str| row[column].as_u64().expect("a number");
        let is_active = row["is_active"].as_bool().expect("a truth value");
        let addr = row["addr"].as_str().expect("text").to_owned();
        let of_first = exported.entry(number("probe_id")).or_default();
        of_first.push((number("ts"), number("seq"), number("tid"), is_active, addr));
    }
    exported
}

// CT-20
#[test]
fn exported_lines_match_the_events() {
    let directory = tempdir().expect("room");
    let account = directory.path().join("truth");
    let account = account.to_string_lossy();
    let arguments = [&*account, "d2", "3", "100", "1", "2000", "dead", "patient"];
    let recorded = record(directory.path(), "examples/v1_writer", &arguments);
    assert_eq!(recorded.status.code(), Some(0), "{recorded:?}");
    let output = report(directory.path(), &["--export", "jsonl"]);
    let text = String::from_utf8(output.stdout).expect("JSON is text");
    let truth = truth(&fs::read_to_string(&*account).expect("the program writes its account"));
    assert_eq!(truth.values().map(Vec::len).sum::<usize>(), 300);
    assert_eq!(exported(&text), truth);
    let times: Vec<u64> = text
        .lines()
        .map(|line| line.rsplit_once(":").expect("columns").1)
        .map(|end| end.trim_end_matches('}').parse().expect("a number"))
        .collect();
    assert!(times.is_sorted(), "{text}");
}
