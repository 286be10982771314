//! The facts that support or explain a verdict: records, blockers, wakers and observations. Findings
//! and views share them.

pub mod blocker_text;
pub mod blockers;
pub mod busy_threads;
pub mod coroutine_stacks;
pub mod figures;
pub mod first_calls;
pub mod ignored;
pub mod inspected;
pub mod joiners;
pub mod last_waker;
pub mod leaf_wait;
pub mod missing_wakes;
pub mod observations;
pub mod proof;
pub mod resource;
pub mod selected_sites;
pub mod selection;
pub mod thread_inspections;
pub mod usual_waker;

use ctp_trace::model::{Coroutine, TraceModel};
use ctp_trace::record::Nanos;
use ctp_trace::verdict::Judgement;

/// A coroutine that is alive, and its judgement.
pub type Member<'a> = (&'a Coroutine, Judgement);

/// Judges all coroutines that are alive.
pub fn members(trace_model: &TraceModel, threshold: Nanos) -> impl Iterator<Item = Member<'_>> {
    let judged = trace_model.judge(threshold).into_iter();
    judged.filter_map(|(id, judgement)| Some((trace_model.get(id)?, judgement)))
}

/// Whether a field of a document has its default value and is left out.
pub fn is_default<T: Default + PartialEq>(field: &T) -> bool {
    *field == T::default()
}
