//! What exports of a whole trace are made from: tables, and the Common Trace Format.

use std::collections::BTreeSet;

use anyhow::Result;
use ctp_trace::TraceModel;
use ctp_trace::record::Record;

use crate::config::Config;
use crate::document::{
    messages,
    selected_trace::{self, SelectedTrace},
    trace_names,
};
use crate::evidence::selection::Selection;
use crate::load::{self, Input, Model};
use crate::names::Names;
use crate::names::call_stacks::CallStacks;

/// What an export is made from, apart from the records.
pub struct WholeTrace<'t> {
    config: &'t Config,
    input: &'t Input,
    /// All coroutines of the trace.
    pub whole: &'t Model,
    /// The trace, as if only the selected coroutines existed. Names have numbers of their own.
    pub model: &'t Model,
    /// The selected coroutines and time.
    pub selection: &'t Selection,
    /// The names of places.
    pub names: &'t Names,
}

/// What verdicts are made from.
pub struct Judged {
    earlier: Option<Model>,
    /// The call stacks of coroutines.
    pub stacks: CallStacks,
}

impl Judged {
    /// The whole trace until processes dropped their coroutines in order to end.
    pub fn model<'t>(&'t self, trace: &WholeTrace<'t>) -> &'t Model {
        self.earlier.as_ref().unwrap_or(trace.whole)
    }
}

impl WholeTrace<'_> {
    /// Passes the records of selected coroutines to `take`, before the trace model takes them.
    ///
    /// # Errors
    /// If the trace cannot be read.
    pub fn read(&self, take: impl FnMut(&TraceModel, &Record)) -> Result<Judged> {
        let earlier = self.read_records(take)?;
        let judged = earlier.as_ref().unwrap_or(self.whole);
        let root = self.names.root();
        let stacks = trace_names::call_stacks_below(root, self.config, self.input, judged);
        let misses = self.names.misses().chain(stacks.misses.reasons());
        messages::print_notes(misses.collect::<BTreeSet<_>>());
        Ok(Judged { earlier, stacks })
    }

    /// Returns the state just before processes dropped their coroutines, if any did.
    fn read_records(&self, take: impl FnMut(&TraceModel, &Record)) -> Result<Option<Model>> {
        let shutdowns = self.whole.trace_model.shutdowns();
        // A damaged trace takes a reading of its own.
        let is_whole = self.whole.damage.is_empty();
        if is_whole && self.selection.has_all_coroutines() && !shutdowns.is_empty() {
            let earlier = self.input.model_with_shutdown(&shutdowns, take)?;
            return Ok(Some(earlier));
        }
        let admit = |record: &Record| self.selection.keeps(record);
        self.input.part_with(admit, take)?;
        self.input.before_shutdown(self.whole)
    }
}

/// Reads a trace, and writes it by `export`. The first pass over the trace collects names.
///
/// # Errors
/// If the trace cannot be read or has no coroutine, and those of `export`.
pub fn export<T>(config: &Config, export: impl FnOnce(&WholeTrace<'_>) -> Result<T>) -> Result<T> {
    let input = load::open(config)?;
    let SelectedTrace {
        model,
        names,
        selection,
    } = selected_trace::select(config, &input)?;
    messages::print_unread(&model);
    let selected = selection.model(&input)?;
    export(&WholeTrace {
        config,
        input: &input,
        whole: &model,
        model: selected.as_ref().unwrap_or(&model),
        selection: &selection,
        names: &names,
    })
}
