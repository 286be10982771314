//! The waits of coroutines that were stuck until their process dropped them in order to end.

use std::collections::HashMap;

use anyhow::Result;
use ctp_trace::model::Coroutine;
use ctp_trace::record::{CoroutineId, EventKind};
use ctp_trace::verdict::{THRESHOLD, Verdict};

use crate::load::{Input, Model};

/// For each coroutine, the number of the event with which the wait began, and the verdict.
#[derive(Debug, Default)]
pub struct StuckWaits(HashMap<CoroutineId, (u64, Verdict)>);

impl StuckWaits {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The waits from just before processes dropped all coroutines in order to end, if any did.
    ///
    /// # Errors
    /// If the trace cannot be read.
    pub fn before_shutdown(input: &Input, model: &Model) -> Result<Self> {
        let earlier = input.before_shutdown(model)?;
        Ok(earlier.as_ref().map(Self::of).unwrap_or_default())
    }

    /// The waits at the end of a model that leaves out what came after the first drop.
    pub fn of(earlier: &Model) -> Self {
        let trace_model = &earlier.trace_model;
        let judged = trace_model.judge(THRESHOLD).into_iter();
        let dropped = judged.filter(|(id, judgement)| {
            judgement.verdict.is_stuck() && trace_model.is_dropped_at_the_end(*id)
        });
        let waits = dropped.filter_map(|(id, judgement)| {
            let wait = trace_model.get(id)?.suspend()?;
            Some((id, (wait.n, judgement.verdict)))
        });
        StuckWaits(waits.collect())
    }

    /// The verdict, if the coroutine's latest event is its death in such a wait.
    pub fn ended_by_last_event(&self, coroutine: &Coroutine) -> Option<Verdict> {
        let (n, verdict) = self.0.get(&coroutine.id)?;
        let last = coroutine.last?;
        let has_died = last.kind == EventKind::Death && n.checked_add(1) == Some(last.n);
        has_died.then_some(*verdict)
    }
}
