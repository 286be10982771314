//! `--stuck`: which coroutines are stuck, where, for how long and on what.

mod explained;
mod inspected;
pub mod json;
pub mod model;
pub mod text;
mod unrecorded;

use std::io::Write;
use std::path::Path;

use anyhow::Result;

use crate::config::{Config, StuckView};
use crate::document::{self, Output, hints};
use crate::document::{messages, trace_names};
use crate::evidence::thread_inspections::ThreadInspection;
use crate::findings::Finding as _;
use crate::findings::gate::{self, ReportStatus};
use crate::findings::leaks::Leak;
use crate::load::{self, Input, Model};
use crate::names::Names;
use crate::output;
use crate::text::Page;

pub use explained::{Explained, explain};
pub use model::members;

/// Writes the page. With `--fail`, returns whether anything is stuck.
///
/// # Errors
/// If the trace cannot be read, or the output cannot be written.
pub fn show(config: &Config, view: &StuckView, out: &mut dyn Write) -> Result<ReportStatus> {
    let input = load::open(config)?;
    let model = input.model_before_shutdown()?;
    let mut names = trace_names::resolve(config, &input, &model);
    let read = (&input, &model, &mut names);
    match &view.markdown {
        Some(path) => write_markdown(config, view, read, path, out),
        None => report(config, view, read, Output::of(config, out)),
    }
}

fn write_markdown(
    config: &Config,
    view: &StuckView,
    (input, model, names): (&Input, &Model, &mut Names),
    path: &Path,
    out: &mut dyn Write,
) -> Result<ReportStatus> {
    let mut text = Vec::new();
    let title = format!("What is stuck in {}", model.program_name());
    let page = Page::markdown(&mut text, &title)?;
    let status = report(config, view, (input, model, names), Output::Page(page))?;
    let is_file = output::save(path, &text, out)?;
    let message = is_file.then(|| format!("wrote {}", path.display()));
    messages::confirm(config, message, out)?;
    Ok(status)
}

/// Writes the findings to any output. With `--fail`, returns whether anything is stuck.
///
/// # Errors
/// If the trace has no coroutines, or the output cannot be written.
pub fn report(
    config: &Config,
    view: &StuckView,
    (input, model, names): (&Input, &Model, &mut Names),
    output: Output,
) -> Result<ReportStatus> {
    if model.is_inspection() {
        return inspected::report(config, view, (input, model, names), output);
    }
    match model.check_not_empty() {
        Err(empty) if view.fail => return Ok(ReportStatus::Incomplete(empty.to_string())),
        checked => checked?,
    }
    let stacks = trace_names::call_stacks(config, input, model, names);
    let names = &*names;
    let all = model::members(model, names, view);
    let context = model::Context::of(model, names, &stacks, &all);
    let members = model::admitted(model, names, &all, &config.filter);
    let groups = model::groups(&context, &members);
    let deadlocks = model::deadlocks::deadlocks(&context, &all);
    let deadlocks = model::deadlocks::of_members(deadlocks, &members);
    let pool = ThreadInspection::of_blocking_pool(model, &stacks);
    let (tasks, all_tasks) = unrecorded::groups(model, view, &config.filter);
    let fields = || {
        let leaks = Vec::<Leak>::find(model, names);
        let coroutines = json::fields(view.threshold, &groups, &deadlocks, &pool, &leaks);
        unrecorded::with_tasks(coroutines, model, &tasks)
    };
    document::write_to(output, config, (model, names), fields, |page| {
        let shown = text::ShownGroups {
            groups: &groups,
            deadlocks: &deadlocks,
            pool: &pool,
            tasks: unrecorded::findings(model, names, &tasks),
            left_out: all.len() - members.len(),
            gaps_of_waits: gate::gaps_of_waits(model, &members, view.threshold),
        };
        let shown_tasks: usize = tasks.iter().map(|group| group.tasks.len()).sum();
        let counts = (members.len() + shown_tasks, all.len() + all_tasks);
        text::filtered(page, &config.filter, counts)?;
        text::page(page, &shown, (names, view))?;
        if config.is_quiet() || !page.has_hints() {
            return Ok(());
        }
        let tool = hints::tool(config);
        text::hints(page, (&tool, model.is_by_name()), &groups, names, view)
    })?;
    if !view.fail {
        return Ok(ReportStatus::Fine);
    }
    let of_coroutines = gate::check(model, &members, view.threshold);
    Ok(of_coroutines.or_worse(unrecorded::check(model, &tasks)))
}
