//! The same figures for programs. Fields are added, never changed, while `version` stays.

use std::io::{self, Write};

use serde_json::{Map, Value, json};

use crate::findings::{ON_EVERY_PAGE, notes};
use crate::import::Imported;
use crate::load::{Model, exit_reason};
use crate::names::Names;
use crate::text;

/// Version of all documents.
pub const VERSION: u32 = 1;

/// What the rows of a table are of, as a word: all coroutines of one name, or a place where they wait.
pub fn rows_by(by_name: bool) -> &'static str {
    if by_name { "name" } else { "site" }
}

/// What every document begins with.
pub fn trace(model: &Model, names: &Names) -> Value {
    let totals = model.trace_model.totals();
    let argv: Vec<String> = model
        .start
        .argv
        .iter()
        .map(|word| text::escape_bytes(word))
        .collect();
    let mut trace = json!({
        "command": argv,
        "host": text::escape(&model.start.host),
        "recorder": text::escape(&model.start.recorder),
        "started_unix_ns": model.start.started_unix_ns,
        "duration_ns": model.duration().0,
        "ended": exit_reason::exit_description(model),
        "coroutines": totals.coroutines,
        "cancelled": totals.cancelled,
        "events": totals.events,
        "lost": model.lost(),
        "refused": model.refused(),
        "exact": model.is_exact(),
        "truncated": model.truncated_at.is_some(),
        "notes": notes::notes(model, names),
    });
    if model.unrecorded() > 0 {
        trace["unrecorded_processes"] = model.unrecorded().into();
    }
    if model.trace_model.has_aggregates() {
        trace["summed_up"] = model.trace_model.summed_up().into();
    }
    if let Some(window) = model.trace_model.window() {
        trace["window_since_ns"] = window.since.0.into();
        trace["unattributed"] = window.unattributed.into();
    }
    if let Some(imported) = &model.imported {
        trace["imported"] = self::imported(imported);
    }
    trace
}

fn imported(imported: &Imported) -> Value {
    let lines = imported.left_out.iter();
    let left_out: Map<String, Value> = lines
        .map(|(fault, lines)| (fault.word().to_owned(), lines.as_slice().into()))
        .collect();
    json!({ "run": imported.run, "runs": imported.runs, "left_out": left_out })
}

/// What the document of a page begins with: also what went so wrong that it concerns every figure.
pub fn reported(model: &Model, names: &Names) -> Value {
    let mut trace = trace(model, names);
    for kind in &ON_EVERY_PAGE {
        trace[kind.name] = (kind.json)(model, names);
    }
    trace
}

/// Writes a document: what every document has, and the fields of one view.
pub fn write(trace: Value, fields: Value, out: &mut dyn Write) -> io::Result<()> {
    let mut document = fields;
    document["version"] = VERSION.into();
    document["trace"] = trace;
    serde_json::to_writer_pretty(&mut *out, &document)?;
    writeln!(out)
}
