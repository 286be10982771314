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

use ctp_trace::census::{Census, Coroutine};
use ctp_trace::record::Nanos;
use ctp_trace::verdict::Judgement;

/// A coroutine that is not over, and what the rule says of it.
pub type Member<'a> = (&'a Coroutine, Judgement);

/// All coroutines that are not over, by the rule.
pub fn members(census: &Census, threshold: Nanos) -> impl Iterator<Item = Member<'_>> {
    let judged = census.judge(threshold).into_iter();
    judged.filter_map(|(id, judgement)| Some((census.get(id)?, judgement)))
}

/// Whether a field of a document says nothing, and is left out.
pub fn is_default<T: Default + PartialEq>(field: &T) -> bool {
    *field == T::default()
}
