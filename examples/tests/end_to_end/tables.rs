//! The queries of `docs/tables.md`, on tables of real recordings.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use ctp_trace::record::Record;
use ctp_trace::{Reader, Writer};
use serde_json::Value;
use tempfile::tempdir;

use crate::support::{record, report};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/tables.md");
const SCRIPT: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/end_to_end/tables/queries.py"
);

/// Makes the trace that of another host.
fn rename_host(trace: &Path, host: &str) {
    let bytes = fs::read(trace).expect("a trace");
    let mut records = Reader::new(&bytes).expect("a trace").flatten();
    let Some(Record::Start(mut start)) = records.next() else {
        panic!("a trace begins with its start");
    };
    host.clone_into(&mut start.host);
    let file = File::create(trace).expect("the trace can be written");
    let mut writer = Writer::new(file, &start).expect("there is room");
    for record in records {
        if let Record::End(end) = record {
            writer.finish(&end).expect("there is room");
            return;
        }
        writer.write(&record).expect("there is room");
    }
    panic!("a trace ends with its end");
}

/// Records the program, and exports the trace as that of a host.
fn export(directory: &Path, arguments: &[&str], host: &str, datasets: &[&str]) {
    let recorded = record(directory, "lost_wakeup", arguments);
    assert!(recorded.status.success(), "{recorded:?}");
    rename_host(&directory.join("ctp.data"), host);
    for dataset in datasets {
        let exported = report(directory, &["--export", "parquet", "-o", dataset]);
        assert!(exported.status.success(), "{exported:?}");
    }
}

/// What the queries find in a dataset and in a database; `None`, with a visible reason, without DuckDB.
fn run_queries(directory: &Path, dataset: &str) -> Option<Vec<Value>> {
    let mut python = Command::new("python3");
    python.args([SCRIPT, PAGE, dataset, "web-1.sqlite"]);
    let Ok(output) = python.current_dir(directory).output() else {
        eprintln!("SKIPPED: no python3");
        return None;
    };
    let error = String::from_utf8_lossy(&output.stderr);
    if error.starts_with("SKIPPED") {
        eprintln!("{error}");
        return None;
    }
    assert!(output.status.success(), "{error}");
    Some(serde_json::from_slice(&output.stdout).expect("a list"))
}

/// The rows of a query, by the beginning of its title, in a fixed order.
fn rows<'r>(results: &'r [Value], title: &str, engine: &str) -> Vec<&'r Value> {
    let of_title = |result: &&Value| {
        result["title"]
            .as_str()
            .is_some_and(|t| t.starts_with(title))
    };
    let result = results.iter().find(of_title).expect("a query");
    let mut rows: Vec<&Value> = result[engine][1].as_array().expect("rows").iter().collect();
    rows.sort_by_key(ToString::to_string);
    rows
}

// CT-20
#[test]
fn queries_of_the_page_answer_their_questions() {
    let directory = tempdir().expect("room");
    let directory = directory.path();
    export(directory, &[], "web-1", &["one", "two"]);
    let database = report(directory, &["--export", "sqlite", "-o", "web-1.sqlite"]);
    assert!(database.status.success(), "{database:?}");
    export(directory, &["--fixed"], "web-2", &["two"]);
    let Some(both) = run_queries(directory, "two") else {
        return;
    };
    assert_eq!(both.len(), 10);
    for result in &both {
        let title = &result["title"];
        assert_eq!(result["duckdb"][0], result["header"], "{title}");
        assert_ne!(result["duckdb"][1], Value::Array(Vec::new()), "{title}");
    }
    // The program resets 47 connections, whose readers are then never woken; with --fixed, none.
    let stuck = rows(&both, "What is stuck", "duckdb");
    assert_eq!(stuck.len(), 1, "{stuck:?}");
    assert_eq!((&stuck[0][0], &stuck[0][1]), (&"STUCK".into(), &47.into()));
    let open = rows(&both, "What differs between hosts", "duckdb");
    let open_reads = |host: &str| -> Option<u64> {
        let of_host = open.iter().find(|row| {
            row[0]
                .as_str()
                .is_some_and(|name| name.ends_with("read_frame"))
                && row[2] == host
        });
        of_host?[5].as_u64()
    };
    assert_eq!(
        (open_reads("web-1"), open_reads("web-2")),
        (Some(50), Some(3))
    );

    let of_web_1 = run_queries(directory, "one").expect("DuckDB is here");
    let portable = of_web_1.iter().filter(|result| !result["sqlite"].is_null());
    assert_eq!(portable.clone().count(), 8);
    for title in portable.filter_map(|result| result["title"].as_str()) {
        assert_eq!(
            rows(&of_web_1, title, "duckdb"),
            rows(&of_web_1, title, "sqlite"),
            "{title}"
        );
    }
}
