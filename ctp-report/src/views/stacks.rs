//! `--stacks`: the stack of every task and thread that inspections found, also during a recording, and of every
//! coroutine that waits on a stack of its own.

mod model;
mod selected;
mod text;

use std::io::Write;

use anyhow::{Result, bail};
use ctp_trace::record::Nanos;

use crate::config::ignore::Ignore;
use crate::config::{Config, StacksView};
use crate::document::flame_graph::{self, Widths};
use crate::document::{self, inspection};
use crate::document::{messages, trace_names};
use crate::evidence::coroutine_stacks;
use crate::evidence::inspected::threads::threads;
use crate::evidence::inspected::{self, groups};
use crate::evidence::selection::notice;
use crate::load::{self, Input, Model};
use crate::names::Names;
use crate::output;
use crate::text::{escape, units};
use crate::views::stacks::model::Stacks;
use crate::views::stacks::selected::Selected;

/// Writes the stacks as text, as JSON or as a flame graph.
///
/// # Errors
/// If the trace cannot be read or has no stacks, nothing with a stack has the id, or the output cannot be
/// written.
pub fn show(config: &Config, view: &StacksView, out: &mut dyn Write) -> Result<()> {
    let input = load::open(config)?;
    let model = input.model(|_, _| {}, |_, _| {})?;
    let is_inspected = model.trace_model.inspected_threads().next().is_some();
    if !is_inspected && model.trace_model.coroutine_stacks().next().is_none() {
        bail!(
            "the trace has no stacks: `ctp-record -p PID` records those of a running process; a recording \
             of a program has the stack of a thread only if a coroutine blocked the thread for long, and \
             of a coroutine only if the program calls suspend_with_stack"
        );
    }
    let mut names = trace_names::resolve(config, &input, &model);
    let call_stacks = trace_names::call_stacks(config, &input, &model, &mut names);
    if model.is_inspection() {
        inspected::check_filter(&config.filter)?;
    }
    let mut selected = Selected {
        tasks: model.trace_model.judge_inspected(view.threshold),
        coroutines: coroutine_stacks::waiting(&model, &names, &call_stacks, view.threshold),
        threads: threads(&model, &call_stacks),
    };
    let all = selected.count();
    selected.filter((&model, &names), &config.filter);
    let counts = (selected.count(), all);
    if let Some(id) = view.id {
        selected.choose(id)?;
    }
    let Selected {
        tasks,
        coroutines,
        threads,
    } = selected;
    let groups = groups(tasks, &Ignore::default());
    let stacks = Stacks::of(&groups, &coroutines, &threads);
    if let Some(path) = &view.svg {
        return draw(config, (&model, view, path), &stacks, out);
    }
    document::write(
        config,
        (&model, &names),
        out,
        || inspection::with_coroutines(&model, &groups, &coroutines, &threads),
        |page| {
            notice::write(
                page,
                &config.filter,
                counts,
                "tasks, coroutines and threads are shown",
            )?;
            text::page(page, &stacks, view)
        },
    )
}

/// Draws the stacks of all inspected tasks and threads. Returns `None` if there are none.
///
/// # Errors
/// If the graph cannot be drawn.
pub fn draw_all(
    config: &Config,
    (input, model, names): (&Input, &Model, &mut Names),
    threshold: Nanos,
) -> Result<Option<String>> {
    let call_stacks = trace_names::call_stacks(config, input, model, names);
    let mut selected = Selected {
        tasks: model.trace_model.judge_inspected(threshold),
        coroutines: Vec::new(),
        threads: threads(model, &call_stacks),
    };
    selected.filter((model, names), &config.filter);
    let groups = groups(selected.tasks, &Ignore::default());
    let stacks = Stacks::of(&groups, &[], &selected.threads);
    if stacks.groups.is_empty() {
        return Ok(None);
    }
    flame_graph(model, &stacks, None).map(|(drawn, _)| Some(drawn))
}

/// Returns the flame graph, and how many stacks it has.
fn flame_graph(model: &Model, stacks: &Stacks, title: Option<&str>) -> Result<(String, String)> {
    let title = title.map(escape);
    let title =
        title.unwrap_or_else(|| format!("{}: where everything waits", model.program_name()));
    let about = units::counted(stacks.groups.len() as u64, "stack");
    let drawn = flame_graph::flame(&stacks.folded(), &title, &about, Widths::Number)?;
    Ok((drawn, about))
}

fn draw(
    config: &Config,
    (model, view, path): (&Model, &StacksView, &std::path::Path),
    stacks: &Stacks,
    out: &mut dyn Write,
) -> Result<()> {
    let (drawn, about) = flame_graph(model, stacks, view.title.as_deref())?;
    let is_file = output::save(path, drawn.as_bytes(), out)?;
    let message =
        is_file.then(|| format!("wrote {} ({about}); open it in a browser", path.display()));
    messages::confirm(config, message, out)
}
