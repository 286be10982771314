//! The parts that the pages and JSON documents of all views share: the trace with its names, the
//! header of every page, and the messages about written files.

pub mod flame_graph;
pub mod header;
pub mod hints;
pub mod inspection;
pub mod json;
mod links;
pub mod whole_trace;

use std::fmt::Display;
use std::io::{self, Write};
use std::path::Path;

use anyhow::Result;
use ctp_trace::TraceModel;
use ctp_trace::escape::escaped;
use ctp_trace::model::Span;
use ctp_trace::record::Record;
use serde_json::Value;
use symbolize::SearchPaths;

use crate::config::Config;
use crate::evidence::selection::{EndedSubjects, Selection};
use crate::findings::{ON_EVERY_PAGE, notes};
use crate::load::{Input, Model};
use crate::names::Names;
use crate::names::call_stacks::CallStacks;
use crate::text::Page;

/// Reads a trace that is not empty, and selects what the filter admits. `see` gets every selected record
/// before the trace model does. `each` gets the selected part of every span that ended. With a filter, the
/// trace is read several times.
///
/// # Errors
/// If the trace cannot be read, or has no coroutine.
pub fn read_selected(
    config: &Config,
    input: &Input,
    see: impl FnMut(&TraceModel, &Record),
    each: impl FnMut(&TraceModel, &Span),
) -> Result<(Model, Names, Selection)> {
    let read = read_any_selected(config, input, see, each)?;
    read.0.check_not_empty()?;
    Ok(read)
}

/// Like [`read_selected`], also for a trace without coroutines.
///
/// # Errors
/// If the trace cannot be read.
pub fn read_any_selected(
    config: &Config,
    input: &Input,
    mut see: impl FnMut(&TraceModel, &Record),
    mut each: impl FnMut(&TraceModel, &Span),
) -> Result<(Model, Names, Selection)> {
    if config.filter.is_empty() {
        let model = input.model(see, each)?;
        let names = names(config, input, &model);
        return Ok((model, names, Selection::default()));
    }
    let (model, names, selection) = select_in_any(config, input)?;
    input.model(
        |trace_model, record| {
            if selection.has_record(record) {
                see(trace_model, record);
            }
        },
        |trace_model, span| {
            if let Some(part) = selection.clip(span) {
                each(trace_model, &part);
            }
        },
    )?;
    Ok((model, names, selection))
}

/// Reads a trace that is not empty, and selects what the filter admits.
///
/// # Errors
/// If the trace cannot be read, or has no coroutine.
pub fn select(config: &Config, input: &Input) -> Result<(Model, Names, Selection)> {
    let selected = select_in_any(config, input)?;
    selected.0.check_not_empty()?;
    Ok(selected)
}

fn select_in_any(config: &Config, input: &Input) -> Result<(Model, Names, Selection)> {
    let mut ended = EndedSubjects::default();
    let filter = &config.filter;
    let has_coroutines = filter.has_coroutines();
    let note = |trace_model: &TraceModel, record: &Record| {
        if has_coroutines {
            ended.see(trace_model, record);
        }
    };
    let model = input.model(note, |_, _| {})?;
    let names = names(config, input, &model);
    let is_judged_earlier = has_coroutines && !model.trace_model.shutdowns().is_empty();
    let selection = if is_judged_earlier {
        Selection::of(filter, (&input.model_before_shutdown()?, &names), &ended)
    } else {
        Selection::of(filter, (&model, &names), &ended)
    };
    Ok((model, names, selection))
}

/// Finds the functions on the call stacks of inspected threads. The reasons for missing names are added
/// to `names`.
pub fn call_stacks(config: &Config, input: &Input, model: &Model, names: &mut Names) -> CallStacks {
    let mut stacks = call_stacks_below(names.root(), config, input, model);
    names.add_misses(std::mem::take(&mut stacks.misses));
    stacks
}

/// Finds the functions on the call stacks of inspected threads. The files of the program are shown relative to
/// the directory `root`, if there is one.
fn call_stacks_below(
    root: Option<&Path>,
    config: &Config,
    input: &Input,
    model: &Model,
) -> CallStacks {
    let mut stacks = CallStacks::resolve(model, &search_paths(config, input));
    if let Some(root) = root {
        stacks.show_below(root);
    }
    stacks
}

/// Finds the names of the places in a trace. Without `--max-module`, this takes at most the memory
/// that the trace has left.
pub fn names(config: &Config, input: &Input, model: &Model) -> Names {
    Names::resolve(model, &search_paths(config, input), &config.skip)
}

fn search_paths(config: &Config, input: &Input) -> SearchPaths {
    let search_paths = config.search_paths.clone();
    if config.max_module.is_some() {
        return search_paths;
    }
    let max_bytes = search_paths.max_bytes().min(input.allowance().left());
    search_paths.with_max_bytes(max_bytes)
}

/// The output of a view.
pub enum Output<'o> {
    /// A JSON document.
    Json(&'o mut dyn Write),
    /// A page.
    Page(Page<'o>),
}

impl<'o> Output<'o> {
    /// The output that the user requested: JSON, or a page for a terminal.
    pub fn of(config: &Config, out: &'o mut dyn Write) -> Self {
        if config.json {
            Output::Json(out)
        } else {
            Output::Page(Page::terminal(out, config.width))
        }
    }
}

/// Writes a page below the common header, or a JSON document with `fields` added to the common
/// fields.
///
/// # Errors
/// If `out` cannot be written.
pub fn write(
    config: &Config,
    about: (&Model, &Names),
    out: &mut dyn Write,
    fields: impl FnOnce() -> Value,
    page: impl FnOnce(&mut Page) -> io::Result<()>,
) -> Result<()> {
    write_to(Output::of(config, out), config, about, fields, page)
}

/// Like [`write()`], for any output.
///
/// # Errors
/// If the output cannot be written.
pub fn write_to(
    output: Output,
    config: &Config,
    (model, names): (&Model, &Names),
    fields: impl FnOnce() -> Value,
    page: impl FnOnce(&mut Page) -> io::Result<()>,
) -> Result<()> {
    let mut below = match output {
        Output::Json(out) => {
            return Ok(json::write(
                json::trace_with_findings(model, names),
                fields(),
                out,
            )?);
        }
        Output::Page(page) => page,
    };
    if config.has_links {
        below.set_links(links::of(model, names));
    }
    if !config.is_quiet() {
        header::write(&mut below, model, names, config.detail)?;
    }
    for kind in &ON_EVERY_PAGE {
        (kind.write)(model, names, &mut below)?;
    }
    page(&mut below)?;
    Ok(below.end()?)
}

/// Prints which files were written, unless `--quiet` is given.
///
/// # Errors
/// If `out` cannot be written.
pub fn confirm(
    config: &Config,
    message: impl IntoIterator<Item = String>,
    out: &mut dyn Write,
) -> Result<()> {
    let mut message = message.into_iter().filter(|_| !config.is_quiet());
    Ok(message.try_for_each(|line| writeln!(out, "{}", escaped(&line)))?)
}

/// Prints on standard error what is missing from the trace. Files and exports have no header that
/// could report this.
pub fn warn(model: &Model) {
    notice(notes::unread(model));
}

/// Writes notes to standard error.
pub fn notice(notes: impl IntoIterator<Item = impl Display>) {
    for note in notes {
        // If standard error is closed, the note cannot be shown.
        let _ = writeln!(
            io::stderr(),
            "ctp-report: note: {}",
            escaped(&note.to_string())
        );
    }
}
