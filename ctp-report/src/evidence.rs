//! What speaks for a verdict or explains it: records, blockers, wakers, observations. Findings and
//! views share it.

pub mod blocker_text;
pub mod blockers;
pub mod busy_threads;
pub mod last_waker;
pub mod missing_wakes;
pub mod observations;
pub mod proof;
pub mod resource;

use ctp_trace::record::Nanos;
use ctp_trace::trace_model::{Coroutine, TraceModel};
use ctp_trace::verdict::Judgement;

/// A coroutine that is not over, and what the rule says of it.
pub type Member<'a> = (&'a Coroutine, Judgement);

/// All coroutines that are not over, by the rule.
pub fn members(trace_model: &TraceModel, threshold: Nanos) -> impl Iterator<Item = Member<'_>> {
    let judged = trace_model.judge(threshold).into_iter();
    judged.filter_map(|(id, judgement)| Some((trace_model.get(id)?, judgement)))
}

/// Whether a field of a document says nothing, and is left out.
pub fn is_default<T: Default + PartialEq>(field: &T) -> bool {
    *field == T::default()
}
