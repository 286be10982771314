//! The rows of `traces`, `processes` and `sites`, which do not depend on events.

use std::collections::BTreeSet;

use ctp_trace::record::{Process, Site};

use super::references::References;
use super::{About, Output};
use crate::load::Model;
use crate::load::exit_reason::exit_description;
use crate::names::Names;
use crate::tables::schema::TableId;
use crate::tables::value::Value;
use crate::text::{escape, shell_word, units};

/// Separates the functions of an await chain.
const AWAITED_BY: &str = " <- ";

/// Writes the rows of processes and sites.
pub fn write(about: About<'_>, references: &References, out: &mut Output<'_>) {
    // A damaged trace may describe a process twice.
    let mut known = BTreeSet::new();
    let processes = about.model.processes.iter();
    for process in processes.filter(|process| known.insert(process.id)) {
        self::process(about.model, process, out);
    }
    for site in about.model.sites.values() {
        self::site(about.names, references, site, out);
    }
}

/// Writes the row of the trace.
pub fn trace(model: &Model, out: &mut Output<'_>) {
    let start = &model.start;
    let words: Vec<String> = start.argv.iter().map(|word| shell_word(word)).collect();
    let totals = model.trace_model.totals();
    out.row(
        TableId::Traces,
        &[
            Value::Text(&units::timestamp(start.started_unix_ns)),
            Value::count(start.started_unix_ns),
            Value::count(model.duration().0),
            Value::Text(&words.join(" ")),
            Value::Text(&escape(&start.recorder)),
            Value::Text(env!("CARGO_PKG_VERSION")),
            Value::Text(&exit_description(model)),
            Value::count(totals.coroutines),
            Value::count(totals.events),
            Value::count(model.lost()),
            Value::count(model.refused()),
            Value::Flag(model.is_exact()),
        ],
    );
}

fn process(model: &Model, process: &Process, out: &mut Output<'_>) {
    let end = model.trace_model.ended_early(process.id);
    out.row(
        TableId::Processes,
        &[
            Value::id(Some(process.id.0)),
            Value::count(process.pid.into()),
            Value::count(process.attached.0),
            Value::count_or_null(end.map(|end| end.at.0)),
        ],
    );
}

fn site(names: &Names, references: &References, site: &Site, out: &mut Output<'_>) {
    let label = names.of(site.id).cloned().unwrap_or_default();
    let awaits = names.awaits(site.id);
    let chain = awaits.map(|awaits| awaits.functions().join(AWAITED_BY));
    out.row(
        TableId::Sites,
        &[
            Value::id(Some(site.id.0)),
            references.process(site.process),
            Value::text(label.function.as_deref()),
            Value::text(label.file.as_deref()),
            Value::count_or_null(label.line.map(u64::from)),
            Value::count_or_null(label.column.map(u64::from)),
            Value::unsigned(site.place.address()),
            Value::text(label.module.as_deref().filter(|_| label.line.is_none())),
            Value::text(label.within.as_deref()),
            Value::text(chain.as_deref()),
        ],
    );
}
