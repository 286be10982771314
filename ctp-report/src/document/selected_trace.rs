//! Reads the part of a trace that the filter admits, with the names of its places.

use anyhow::Result;
use ctp_trace::TraceModel;
use ctp_trace::model::Span;
use ctp_trace::record::Record;

use super::trace_names;
use crate::config::Config;
use crate::evidence::selection::{EndedSubjects, Selection};
use crate::load::{Input, Model};
use crate::names::Names;

/// A trace, and what the filter admits.
pub struct SelectedTrace {
    /// The model of the whole trace, also with a filter.
    pub model: Model,
    /// The names of the places in the whole trace.
    pub names: Names,
    /// What the filter admits.
    pub selection: Selection,
}

/// Reads a trace that is not empty, and selects what the filter admits. `see` gets every selected record
/// before the trace model does. `each` gets the selected part of every span that ended. With a filter, the
/// trace is read several times. Both may be called before an error is returned.
///
/// # Errors
/// If the trace cannot be read, or has no coroutine.
pub fn read(
    config: &Config,
    input: &Input,
    see: impl FnMut(&TraceModel, &Record),
    each: impl FnMut(&TraceModel, &Span),
) -> Result<SelectedTrace> {
    let read = read_any(config, input, see, each)?;
    read.model.check_not_empty()?;
    Ok(read)
}

/// Like [`read`], also for a trace without coroutines.
///
/// # Errors
/// If the trace cannot be read.
pub fn read_any(
    config: &Config,
    input: &Input,
    mut see: impl FnMut(&TraceModel, &Record),
    mut each: impl FnMut(&TraceModel, &Span),
) -> Result<SelectedTrace> {
    if config.filter.is_empty() {
        let model = input.model(see, each)?;
        return Ok(SelectedTrace {
            names: trace_names::resolve(config, input, &model),
            selection: Selection::default(),
            model,
        });
    }
    let selected = select_in_any(config, input)?;
    let selection = &selected.selection;
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
    Ok(selected)
}

/// Reads a trace that is not empty, without passing its records, and selects what the filter admits.
///
/// # Errors
/// If the trace cannot be read, or has no coroutine.
pub fn select(config: &Config, input: &Input) -> Result<SelectedTrace> {
    let selected = select_in_any(config, input)?;
    selected.model.check_not_empty()?;
    Ok(selected)
}

/// Selects by states. If a process dropped its coroutines at the end, these are the states just before that.
fn select_in_any(config: &Config, input: &Input) -> Result<SelectedTrace> {
    let mut ended = EndedSubjects::default();
    let filter = &config.filter;
    let has_coroutines = filter.has_coroutines();
    let note = |trace_model: &TraceModel, record: &Record| {
        if has_coroutines {
            ended.see(trace_model, record);
        }
    };
    let model = input.model(note, |_, _| {})?;
    let names = trace_names::resolve(config, input, &model);
    let has_shutdown = has_coroutines && !model.trace_model.shutdowns().is_empty();
    let before_shutdown = has_shutdown
        .then(|| input.model_before_shutdown())
        .transpose()?;
    let judged = before_shutdown.as_ref().unwrap_or(&model);
    let selection = Selection::of(filter, (judged, &names), &ended);
    Ok(SelectedTrace {
        model,
        names,
        selection,
    })
}
