//! `--check`: whether a trace keeps to rules, as a gate for scripts and CI services.

mod counts;
mod durations;
mod facts;
mod junit;
mod missing;
mod model;
mod proof;
mod range;
mod text;
mod totals;

use std::io::Write;

use anyhow::Result;
use serde_json::json;

use crate::config::rules::Metric;
use crate::config::{CheckView, Config, Detail};
use crate::document;
use crate::evidence::ignored;
use crate::findings::gate::Status;
use crate::load::{self, Input, Model};
use crate::names::Names;
use crate::output;
use crate::views::check::facts::Collector;
use crate::views::check::model::{Checked, Facts};

/// Writes the result of each rule. Returns whether a rule fails.
///
/// # Errors
/// If the trace cannot be read, or an output cannot be written.
pub fn show(config: &Config, view: &CheckView, out: &mut dyn Write) -> Result<Status> {
    let input = load::open(config)?;
    let mut collector = Collector::new(view);
    let model = collector.read(&input)?;
    if let Err(empty) = model.check_not_empty() {
        let why = empty.to_string();
        let all = model::all_unknown(&view.rules, &view.deny, &why);
        save_junit(view, &model, &all, out)?;
        return Ok(Status::Incomplete(why));
    }
    let names = document::names(config, &input, &model);
    let all = check(view, &input, (&model, &names), collector)?;
    write(config, view, (&model, &names), &all, out)?;
    Ok(model::status(&all))
}

fn check(
    view: &CheckView,
    input: &Input,
    (model, names): (&Model, &Names),
    collector: Collector,
) -> Result<Vec<Checked>> {
    let earlier = before_shutdown(view, input, model)?;
    let judged = earlier.as_ref().unwrap_or(model);
    let members = ignored::members(judged, names, view.threshold, &view.ignore);
    let longest_run = facts::longest_run(model, collector.longest_run);
    let lints = collector.lints(model, names);
    let facts = Facts {
        model,
        names,
        judged,
        members: &members,
        threshold: view.threshold,
        longest_run,
        lints: &lints,
    };
    let collected = facts::durations(input, &view.rules, (model, names))?;
    Ok(model::check(&facts, &view.rules, &view.deny, &collected))
}

/// The model to judge, if processes dropped waiting coroutines when they ended.
fn before_shutdown(view: &CheckView, input: &Input, model: &Model) -> Result<Option<Model>> {
    let mut rules = view.rules.iter();
    let has_counts = rules.any(|rule| matches!(rule.metric, Metric::Count(_)));
    if !has_counts || model.trace_model.shutdowns().is_empty() {
        return Ok(None);
    }
    input.model_before_shutdown().map(Some)
}

fn write(
    config: &Config,
    view: &CheckView,
    about: (&Model, &Names),
    all: &[Checked],
    out: &mut dyn Write,
) -> Result<()> {
    if !save_junit(view, about.0, all, out)? {
        return Ok(());
    }
    let fields = || json!({ "rules": all });
    let is_verbose = config.detail == Detail::Verbose;
    document::write(config, about, out, fields, |page| {
        text::page(page, all, is_verbose)
    })
}

/// Writes the JUnit file, if requested. Returns whether standard output is free for the page.
fn save_junit(
    view: &CheckView,
    model: &Model,
    all: &[Checked],
    out: &mut dyn Write,
) -> Result<bool> {
    let Some(path) = &view.junit else {
        return Ok(true);
    };
    let file = junit::document(all, &model.program_name());
    output::save(path, file.as_bytes(), out)
}
