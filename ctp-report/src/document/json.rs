//! JSON documents. While `version` stays the same, fields may be added but never changed.

use std::io::{self, Write};

use serde_json::{Map, Value, json};

use crate::findings::{ON_EVERY_PAGE, notes};
use crate::import::Imported;
use crate::load::{Model, exit_reason};
use crate::names::Names;
use crate::text;

/// Version of all documents.
pub const VERSION: u32 = 1;

/// The word for what each row of a table stands for: a coroutine name or a waiting place.
pub fn rows_by(by_name: bool) -> &'static str {
    if by_name { "name" } else { "site" }
}

/// The `trace` field of every document.
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

/// The `trace` field of a page's document, with the findings that concern every figure.
pub fn trace_with_findings(model: &Model, names: &Names) -> Value {
    let mut trace = trace(model, names);
    for kind in &ON_EVERY_PAGE {
        trace[kind.name] = (kind.json)(model, names);
    }
    trace
}

/// Writes a document with the common fields and the fields of a view.
pub fn write(trace: Value, fields: Value, out: &mut dyn Write) -> io::Result<()> {
    let mut document = fields;
    document["version"] = VERSION.into();
    document["trace"] = trace;
    serde_json::to_writer_pretty(&mut *out, &document)?;
    writeln!(out)
}
