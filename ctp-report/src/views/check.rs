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

use anyhow::{Result, bail};
use serde_json::{Value, json};

use crate::config::rules::Metric;
use crate::config::{CheckView, Config, Detail};
use crate::document;
use crate::document::selected_trace::SelectedTrace;
use crate::evidence::ignored;
use crate::evidence::selection::Selection;
use crate::findings::gate::ReportStatus;
use crate::load::{self, Input, Model};
use crate::names::Names;
use crate::output;
use crate::views::check::facts::FactCollector;
use crate::views::check::model::{Checked, TraceFacts};

/// Why no value is known if a filter admits no coroutine. Such a check would pass whatever happened.
const NONE: &str = "no coroutine matches the filters";

/// The end of the sentence about the selected coroutines.
const CHECKED: &str = "coroutines are checked";

/// Writes the result of each rule. Returns whether a rule fails.
///
/// # Errors
/// If the trace cannot be read, or an output cannot be written.
pub fn show(config: &Config, view: &CheckView, out: &mut dyn Write) -> Result<ReportStatus> {
    let input = load::open(config)?;
    let mut collector = FactCollector::new(view);
    let SelectedTrace {
        model,
        names,
        selection,
    } = collector.read(config, &input)?;
    let empty = model.check_not_empty().map_err(|empty| empty.to_string());
    let none = selection.has_none().then(|| NONE.to_owned());
    if let Some(why) = empty.err().or(none) {
        let all = model::all_unknown(&view.rules, &view.deny, &why);
        save_junit(view, &model, (&all, &filtered(&selection)), out)?;
        return Ok(ReportStatus::Incomplete(why));
    }
    let all = check(view, &input, (&model, &names, &selection), collector)?;
    write(config, view, (&model, &names, &selection), &all, out)?;
    Ok(model::status(&all))
}

fn check(
    view: &CheckView,
    input: &Input,
    (model, names, selection): (&Model, &Names, &Selection),
    collector: FactCollector,
) -> Result<Vec<Checked>> {
    if selection.has_time() && model.is_by_name() {
        bail!("the trace has only totals, which have no times: leave out --time");
    }
    let earlier = before_shutdown(view, input, model)?;
    let judged = earlier.as_ref().unwrap_or(model);
    let mut members = ignored::members(judged, names, view.threshold, &view.ignore);
    members.retain(|(coroutine, _)| {
        selection.has(coroutine.id) && selection.has_start(coroutine.state().1)
    });
    let selected = selection.model(input)?;
    let longest_run = facts::longest_run((model, selection), collector.longest_run);
    let lints = collector.lints((model, names), selection);
    let facts = TraceFacts {
        model,
        selected: selected.as_ref().unwrap_or(model),
        names,
        judged,
        members: &members,
        threshold: view.threshold,
        longest_run,
        lints: &lints,
    };
    let collected = facts::durations(input, &view.rules, (model, names, selection))?;
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
    (model, names, selection): (&Model, &Names, &Selection),
    all: &[Checked],
    out: &mut dyn Write,
) -> Result<()> {
    let filtered = filtered(selection);
    if !save_junit(view, model, (all, &filtered), out)? {
        return Ok(());
    }
    let fields = || fields(all, &filtered);
    let is_verbose = config.detail == Detail::Verbose;
    document::write(config, (model, names), out, fields, |page| {
        selection.write_as(page, CHECKED)?;
        text::page(page, all, is_verbose)
    })
}

/// What was checked, if a filter is used.
fn filtered(selection: &Selection) -> Vec<String> {
    selection.statements(CHECKED)
}

fn fields(all: &[Checked], filtered: &[String]) -> Value {
    let mut fields = json!({ "rules": all });
    if !filtered.is_empty() {
        fields["filtered"] = json!(filtered);
    }
    fields
}

/// Writes the JUnit file, if requested. Returns whether standard output is free for the page.
fn save_junit(
    view: &CheckView,
    model: &Model,
    (all, filtered): (&[Checked], &[String]),
    out: &mut dyn Write,
) -> Result<bool> {
    let Some(path) = &view.junit else {
        return Ok(true);
    };
    let file = junit::document((all, filtered), &model.program_name());
    output::save(path, file.as_bytes(), out)
}
