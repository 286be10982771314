//! `--flame`, `--folded`, `--export speedscope` and `--export pprof`: where time was spent, as stacks.

pub mod model;
mod pprof;
pub mod samples;
mod speedscope;
mod stuck_waits;
pub mod text;

use std::io::Write;

use anyhow::{Result, bail};
use serde_json::{Value, json};

use crate::config::{Config, FlameView, FlameWidth, ProfileFormat, ProfileView};
use crate::document::flame_graph::{self, Widths};
use crate::document::{
    messages,
    selected_trace::{self, SelectedTrace},
};
use crate::evidence::selection::Selection;
use crate::load::{self, Input, Model};
use crate::names::Names;
use crate::text::{escape, units};
use crate::views::flame::model::{StackFolder, Stacks};
use crate::views::flame::samples::Samples;
use crate::views::flame::stuck_waits::StuckWaits;
use crate::{document, output};

/// Writes the stacks as a flame graph, as text, or as JSON.
///
/// # Errors
/// If the trace cannot be read, or a file cannot be written.
pub fn show(config: &Config, view: &FlameView, out: &mut dyn Write) -> Result<()> {
    let (folder, (model, names, selection)) = read(config, StackFolder::new(view.by))?;
    let stacks = folder.finish(&model, &names, &selection);
    let message = write(&model, &stacks, view, out)?;
    if !config.json {
        return messages::confirm(config, message, out);
    }
    let by = if view.by == FlameWidth::Wait {
        "wait"
    } else {
        "run"
    };
    let stacks = stacks.iter();
    let stacks: Vec<Value> = stacks
        .map(|(frames, ns)| json!({ "frames": frames, "ns": ns }))
        .collect();
    let trace = document::json::trace(&model, &names);
    let fields = json!({ "by": by, "stacks": stacks });
    Ok(document::json::write(trace, fields, out)?)
}

/// Reads the trace, and adds its waits and runs to the folder.
fn read(
    config: &Config,
    mut folder: StackFolder,
) -> Result<(StackFolder, (Model, Names, Selection))> {
    let input = load::open(config)?;
    let SelectedTrace {
        model,
        names,
        selection,
    } = selected_trace::read(
        config,
        &input,
        |_, _| {},
        |trace_model, span| folder.add(trace_model, span),
    )?;
    messages::print_unread(&model);
    let mut stuck = StuckWaits::default();
    if folder.has_waits() {
        stuck = StuckWaits::before_shutdown(&input, &model)?;
    }
    let folder = marked(folder, &input, stuck, &selection)?;
    Ok((folder, (model, names, selection)))
}

/// The folder of a trace that was read. If there are such waits of stuck coroutines, the trace is read again to
/// mark them.
///
/// # Errors
/// If the trace cannot be read.
fn marked(
    folder: StackFolder,
    input: &Input,
    stuck: StuckWaits,
    selection: &Selection,
) -> Result<StackFolder> {
    if stuck.is_empty() {
        return Ok(folder);
    }
    let mut folder = folder.marking(stuck);
    input.spans(&mut |trace_model, span| {
        if let Some(part) = selection.clip(span) {
            folder.add(trace_model, &part);
        }
    })?;
    Ok(folder)
}

/// Writes the stacks of both waits and runs as a profile.
///
/// # Errors
/// If the trace cannot be read or has no stack, or the file cannot be written.
pub fn export(config: &Config, view: &ProfileView, out: &mut dyn Write) -> Result<()> {
    if view.format == ProfileFormat::Pprof {
        output::refuse_terminal(view.output.as_deref(), "pprof")?;
    }
    let (folder, (model, names, selection)) = read(config, StackFolder::of_all())?;
    messages::print_notes(names.misses());
    let samples = Samples::of(folder, (&model, &names), &selection);
    if samples.0.is_empty() {
        bail!("no coroutine waited or ran in what is shown, so there is nothing to export");
    }
    let message = write_profile(&model, &samples, view, out)?;
    messages::confirm(config, message, out)
}

/// Writes a profile. Returns a line about the file, if any.
fn write_profile(
    model: &Model,
    samples: &Samples,
    view: &ProfileView,
    out: &mut dyn Write,
) -> Result<Option<String>> {
    let path = view.output.as_deref();
    output::write(path, out, |out| match view.format {
        ProfileFormat::Speedscope => speedscope::write(model, samples, out),
        ProfileFormat::Pprof => pprof::write(model, samples, out),
    })?;
    let stacks = units::counted(samples.0.len() as u64, "stack");
    Ok(path.map(|path| {
        let path = path.display();
        let how = match view.format {
            ProfileFormat::Speedscope => {
                format!("open it in speedscope.app, or: speedscope {path}")
            }
            ProfileFormat::Pprof => format!("next: go tool pprof -http=: {path}"),
        };
        format!("wrote {path} ({stacks}); {how}")
    }))
}

/// Draws the time that a folder has added up. `earlier` is the model from just before a shutdown. Returns `None`
/// if no coroutine waited.
///
/// # Errors
/// If the trace cannot be read again, or the graph cannot be drawn.
pub fn draw_waits(
    folder: StackFolder,
    (input, model, names): (&Input, &Model, &Names),
    earlier: Option<&Model>,
    selection: &Selection,
    title: &str,
) -> Result<Option<String>> {
    let stuck = earlier.map(StuckWaits::of).unwrap_or_default();
    let folder = marked(folder, input, stuck, selection)?;
    let stacks = folder.finish(model, names, selection);
    if stacks.is_empty() {
        return Ok(None);
    }
    let (folded, about) = (text::folded(&stacks), stacks_and_time(model, &stacks));
    flame_graph::flame(&folded, title, &about, Widths::WaitingTime).map(Some)
}

/// Writes the requested files. Returns a line about each.
fn write(
    model: &Model,
    stacks: &Stacks,
    view: &FlameView,
    out: &mut dyn Write,
) -> Result<Vec<String>> {
    if stacks.is_empty() {
        match view.by {
            FlameWidth::Wait => {
                bail!("no coroutine waited, so there is nothing to draw: try --by run")
            }
            FlameWidth::Run => {
                bail!("no coroutine ran, so there is nothing to draw: try --by wait")
            }
        }
    }
    let folded = text::folded(stacks);
    let reported = stacks_and_time(model, stacks);
    let mut message = Vec::new();
    if let Some(path) = &view.folded
        && output::save(path, folded.as_bytes(), out)?
    {
        message.push(format!("wrote {} ({reported})", path.display()));
    }
    if let Some(path) = &view.svg {
        let widths = match view.by {
            FlameWidth::Wait => Widths::WaitingTime,
            FlameWidth::Run => Widths::RunningTime,
        };
        let drawn = flame_graph::flame(&folded, &title(model, view), &reported, widths)?;
        if output::save(path, drawn.as_bytes(), out)? {
            let path = path.display();
            message.push(format!("wrote {path} ({reported}); open it in a browser"));
        }
    }
    Ok(message)
}

fn title(model: &Model, view: &FlameView) -> String {
    let what = match view.by {
        FlameWidth::Wait => "waiting time",
        FlameWidth::Run => "running time",
    };
    let reported = view.title.as_deref().map(escape);
    reported.unwrap_or_else(|| format!("{}: {what} of its coroutines", model.program_name()))
}

/// Describes the number of stacks, the total time, and what is missing.
fn stacks_and_time(model: &Model, stacks: &Stacks) -> String {
    let sum = stacks
        .values()
        .fold(0u64, |sum, ns| sum.saturating_add(*ns));
    let stacks = units::counted(stacks.len() as u64, "stack");
    let mut reported = format!("{stacks}, {} in all", units::duration_ns(sum));
    if !model.has_all_events() {
        reported += "; approximate";
    }
    for (missing, thing, how) in [
        (model.lost(), "event", "lost"),
        (model.trace_model.summed_up(), "event", "in totals only"),
        (model.refused(), "coroutine", "refused"),
    ] {
        if 0 < missing {
            reported += &format!(", {} {how}", units::counted(missing, thing));
        }
    }
    reported
}
