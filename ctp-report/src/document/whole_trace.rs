//! What exports of a whole trace are made from: tables, and the Common Trace Format.

use anyhow::Result;

use crate::config::Config;
use crate::document;
use crate::evidence::selection::Selection;
use crate::load::{self, Input, Model};
use crate::names::Names;
use crate::names::call_stacks::CallStacks;

/// What an export is made from, apart from the records.
pub struct WholeTrace<'t> {
    /// The trace, for another pass over its records.
    pub input: &'t Input<'t>,
    /// All coroutines of the trace.
    pub whole: &'t Model,
    /// The trace, as if only the selected coroutines existed. Names have numbers of their own.
    pub model: &'t Model,
    /// The selected coroutines and time.
    pub selection: &'t Selection,
    /// The whole trace until processes dropped their coroutines in order to end, from which verdicts
    /// follow.
    pub judged: &'t Model,
    /// The names of places.
    pub names: &'t Names,
    /// The call stacks of coroutines.
    pub stacks: &'t CallStacks,
}

/// Reads a trace, and writes it by `export`. The first pass over the trace collects names.
///
/// # Errors
/// If the trace cannot be read or has no coroutine, and those of `export`.
pub fn export<T>(config: &Config, export: impl FnOnce(&WholeTrace<'_>) -> Result<T>) -> Result<T> {
    let input = load::open(config)?;
    let (model, mut names, selection) = document::select(config, &input)?;
    let earlier = input.before_shutdown(&model)?;
    let judged = earlier.as_ref().unwrap_or(&model);
    let stacks = document::call_stacks(config, &input, judged, &mut names);
    document::warn(&model);
    document::notice(names.misses());
    let selected = selection.model(&input)?;
    export(&WholeTrace {
        input: &input,
        whole: &model,
        model: selected.as_ref().unwrap_or(&model),
        selection: &selection,
        judged,
        names: &names,
        stacks: &stacks,
    })
}
