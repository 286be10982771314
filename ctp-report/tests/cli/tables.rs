//! Exports as tables. The trace's own records are the truth.

mod filters;
#[cfg(feature = "parquet")]
mod fleet;
#[cfg(all(feature = "sqlite", feature = "parquet"))]
mod formats;
mod outputs;
mod read;
mod records;

use std::collections::BTreeMap;

use serde_json::Value;

use crate::test_dir::TestDir;
use crate::traces;
use read::Tables;

/// Traces with different verdicts, records, and faults.
const TRACES: [&str; 12] = [
    "lost_wakeup",
    "peers",
    "woken",
    "closed",
    "deadlock",
    "held",
    "joins",
    "busy",
    "filtered",
    "robbed",
    "hostile",
    "leaks",
];

// CT-20
#[test]
fn tables_have_all_records() {
    let test_dir = TestDir::new();
    let mut compared = 0;
    for (name, bytes) in traces::all() {
        if let Some(tables) = Tables::of(&test_dir, name) {
            records::compare(name, bytes, &tables);
            compared += 1;
        }
    }
    assert!(40 < compared, "{compared}");
}

/// Of each coroutine: verdict, state, reason and caveat, as `--stuck --json` has them.
fn judged(document: &Value) -> BTreeMap<String, [Value; 4]> {
    let mut found = BTreeMap::new();
    for section in ["stuck", "busy", "unknown", "waiting"] {
        for group in document[section].as_array().unwrap() {
            let words = ["verdict", "state", "reason", "caveat"].map(|word| group[word].clone());
            for id in group["ids"].as_array().unwrap() {
                found.insert(id.to_string(), words.clone());
            }
        }
    }
    found
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

// CT-20
#[test]
fn verdicts_are_those_of_the_page() {
    let test_dir = TestDir::new();
    let mut proofs = 0;
    for name in TRACES {
        let tables = Tables::of(&test_dir, name).unwrap();
        let page = ["-i", &format!("{name}.data"), "--stuck"];
        let json = test_dir.text(&[&page[..], &["--json"]].concat());
        let page = test_dir.text(&[&page[..], &["--ids", "--wide"]].concat());
        let mut expected = judged(&serde_json::from_str(&json).unwrap());
        for row in tables.rows("verdicts") {
            let id = row.text("coroutine_id").unwrap();
            let found = ["verdict", "state", "reason", "caveat"]
                .map(|word| row.text(word).map_or(Value::Null, Value::from));
            assert_eq!(expected.remove(id), Some(found), "{name}: {id}");
            let text = row.text("text").unwrap();
            assert!(
                !text.is_empty() && words(&page).contains(&words(text)),
                "{name}: {text}"
            );
            proofs += check_proof(&page, id, row.text("proof").unwrap());
        }
        assert!(expected.is_empty(), "{name}: {expected:?}");
    }
    assert!(5 < proofs, "{proofs}");
}

/// Compares a proof with that of the page, which has the proof of one coroutine of a group. Returns how many
/// proofs were compared.
fn check_proof(page: &str, id: &str, proof: &str) -> usize {
    let Some((_, below)) = page.split_once(&format!("  proof for id {id}:\n")) else {
        return 0;
    };
    let lines: String = proof.lines().map(|line| format!("     {line}\n")).collect();
    assert!(below.starts_with(&lines), "{lines}\n{below}");
    1
}
