//! The same figures for programs. Fields are added, never changed, while `version` stays.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::document::rows_by::RowsBy;
use crate::findings::contradictions;
use crate::findings::crash;
use crate::findings::leaks::Leak;
use crate::findings::lints::Finding;
use crate::findings::notes;
use crate::import::Imported;
use crate::load::ending;
use crate::load::model::Model;
use crate::names::Names;
use crate::text;
use crate::views::flame::model::Stacks;
use crate::views::histogram::model::Chart;
use crate::views::last_words::model::LastWords;
use crate::views::sites::model::Row;
use crate::views::stuck::deadlocks::Deadlock;
use crate::views::stuck::model::Group;
use crate::views::tree::model::Branch;
use crate::views::why::model::Why;
use ctp_trace::record::Nanos;
use ctp_trace::verdict::Verdict;

/// Version of all documents.
pub const VERSION: u32 = 1;

/// What every document begins with.
pub fn trace(model: &Model, names: &Names) -> Value {
    let totals = model.census.totals();
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
        "ended": ending::how_it_ended(model),
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
    if model.census.has_aggregates() {
        trace["summed_up"] = model.census.summed_up().into();
    }
    if let Some(window) = model.census.window() {
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
pub fn told(model: &Model, names: &Names) -> Value {
    let mut trace = trace(model, names);
    trace["crash"] = json!(crash::crash(model, names));
    trace["broken"] = json!(contradictions::broken(model, names));
    trace
}

/// What everybody did last.
pub fn last_words(trace: &Value, words: &[LastWords]) -> Value {
    json!({ "version": VERSION, "trace": trace, "last_words": words })
}

/// Who spawned whom.
pub fn tree(trace: &Value, model: &Model, threshold: Nanos, tree: &[Branch]) -> Value {
    json!({
        "version": VERSION,
        "trace": trace,
        "threshold_ns": threshold.0,
        "parents_unknown": model.census.parents_unknown(),
        "tree": tree,
    })
}

/// What led one coroutine to where it is.
pub fn why(trace: &Value, why: &Why) -> Value {
    json!({ "version": VERSION, "trace": trace, "why": why })
}

/// The table of sites: a row is a site, or a name with the place where one of that name was spawned.
pub fn sites(
    trace: &Value,
    by: RowsBy,
    (rows, lints, leaks): (&[Row], &[Finding], &[Leak]),
) -> Value {
    json!({
        "version": VERSION,
        "trace": trace,
        "by": by,
        "sites": rows,
        "lints": lints,
        "leaks": leaks,
    })
}

/// How long waits and runs took, at each site or of each name.
pub fn histogram(trace: &Value, by: RowsBy, charts: &[Chart]) -> Value {
    json!({ "version": VERSION, "trace": trace, "by": by, "charts": charts })
}

/// What the page tells that says what is stuck.
pub struct Found<'a> {
    /// All coroutines, in groups.
    pub groups: &'a [Group],
    /// Cycles of those that are stuck.
    pub deadlocks: &'a [Deadlock],
    /// Those that were alive at a clean end.
    pub leaks: &'a [Leak],
}

/// What is stuck, and what is not.
pub fn stuck(trace: &Value, threshold: Nanos, found: &Found<'_>) -> Value {
    let of = |wanted: fn(Verdict) -> bool| -> Vec<&Group> {
        found
            .groups
            .iter()
            .filter(|group| wanted(group.verdict()))
            .collect()
    };
    json!({
        "version": VERSION,
        "trace": trace,
        "threshold_ns": threshold.0,
        "deadlocks": found.deadlocks,
        "stuck": of(Verdict::is_stuck),
        "busy": of(|verdict| verdict == Verdict::Busy),
        "unknown": of(|verdict| verdict == Verdict::Unknown),
        "waiting": of(|verdict| verdict == Verdict::Waiting),
        "leaks": found.leaks,
    })
}

/// The stacks of a flame graph.
pub fn stacks(trace: &Value, by: &str, stacks: &Stacks) -> Value {
    let stacks: Vec<Value> = stacks
        .iter()
        .map(|(frames, ns)| json!({ "frames": frames, "ns": ns }))
        .collect();
    json!({ "version": VERSION, "trace": trace, "by": by, "stacks": stacks })
}

/// Writes a document.
pub fn write(document: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, document)?;
    writeln!(out)
}
