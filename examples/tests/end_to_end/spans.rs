//! A program whose spans are recorded by the layer. What the program says about its spans is the truth.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use ctp_trace::record::{CoroutineId, EventKind, Record, WaitKind};
use ctp_trace::{Reader, TraceModel};
use serde_json::Value;
use tempfile::tempdir;

use crate::support::{line_of, record, report_json};

const PROGRAM: &str = include_str!("../../src/bin/spans.rs");

/// How often spans of a name were created, entered, exited and closed.
type Counts = BTreeMap<String, [u32; 4]>;

fn reported(stdout: &[u8]) -> Counts {
    let text = str::from_utf8(stdout).expect("text");
    let counts = text.lines().map(|line| {
        let mut words = line.split(' ');
        let name = words.next().expect("a name").to_owned();
        let counts: Vec<u32> = words.map(|word| word.parse().expect("a count")).collect();
        (name, counts.try_into().expect("four counts"))
    });
    counts.collect()
}

/// The coroutine of a record, and which of the four counts the record adds to.
fn change(record: &Record) -> Option<(CoroutineId, usize)> {
    match record {
        Record::Birth(birth) => Some((birth.coroutine, 0)),
        Record::Event(event) => match event.kind {
            EventKind::Birth => None,
            EventKind::Run => Some((event.coroutine, 1)),
            EventKind::Suspend => Some((event.coroutine, 2)),
            EventKind::Death => Some((event.coroutine, 3)),
        },
        _ => None,
    }
}

/// Reads the trace. Returns births, runs, suspends and deaths of each name, and the model at the end.
fn recorded(directory: &Path) -> (Counts, TraceModel) {
    let bytes = fs::read(directory.join("ctp.data")).expect("there is a trace");
    let mut trace_model = TraceModel::new();
    let mut counts = Counts::new();
    for record in Reader::new(&bytes).expect("a trace").flatten() {
        trace_model.consume(&record);
        let Some((id, place)) = change(&record) else {
            continue;
        };
        let coroutine = trace_model.get(id).expect("born, and not forgotten");
        let name = trace_model.name(coroutine.name).to_owned();
        counts.entry(name).or_default()[place] += 1;
    }
    (counts, trace_model)
}

#[test]
fn spans_are_coroutines() {
    let directory = tempdir().expect("a directory");
    let output = record(directory.path(), "spans", &[]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let mut expected = reported(&output.stdout);
    assert_eq!(expected.len(), 3);
    for [_, runs, _, deaths] in expected.values_mut() {
        *runs += *deaths; // a span runs when it is closed
    }
    let (counts, trace_model) = recorded(directory.path());
    assert_eq!(counts, expected);
    let name = |id| trace_model.name(id);
    let all = trace_model.coroutines();
    let alive: Vec<_> = all
        .iter()
        .filter(|coroutine| coroutine.is_alive())
        .collect();
    let connections = { alive.iter() }.filter(|coroutine| name(coroutine.name) == "connection");
    let mut found = 0;
    for connection in connections {
        let wait = connection.suspend().expect("all wait");
        assert_eq!(wait.wait, WaitKind::Coroutine);
        let query = { alive.iter() }.find(|query| query.probe_id == wait.arg);
        let query = query.expect("the query is alive");
        assert_eq!(name(query.name), "query");
        assert_eq!(query.parent.map(|parent| parent.id), Some(connection.id));
        found += 1;
    }
    assert_eq!(found, 3);
}

#[test]
fn places_are_the_lines_of_spans() {
    let directory = tempdir().expect("a directory");
    let output = record(directory.path(), "spans", &[]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let document = report_json(directory.path(), &["--stuck"]);
    let groups = document["waiting"].as_array().expect("groups");
    let lines: BTreeMap<u64, u64> = groups
        .iter()
        .map(|group| {
            (
                group["line"].as_u64().expect("a line"),
                group["count"].as_u64().expect("a count"),
            )
        })
        .collect();
    let line = |span: &str| line_of(PROGRAM, span);
    let expected = [
        (line("info_span!(\"query\")"), 3),
        (line("info_span!(\"connection\")"), 3),
    ];
    assert_eq!(lines, expected.into());
    assert_eq!(document["stuck"], Value::Array(Vec::new()));
}
