//! How long coroutines usually wait at the place where a given coroutine waits.

use ctp_trace::trace_model::Coroutine;
use serde::Serialize;

use crate::load::Model;

/// The past waits at a site, or of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Usual {
    /// Whether the figures are complete.
    pub exact: bool,
    /// How many waits ended in a run.
    pub waits: u64,
    /// The mean wait.
    pub mean_ns: u64,
    /// The 99th percentile of the waits.
    pub p99_ns: u64,
    /// The longest wait.
    pub longest_ns: u64,
    /// How many delays between wake and run are known.
    pub queued: u64,
    /// The longest known delay between wake and run.
    pub longest_queued_ns: u64,
    /// Whether the figures cover all waits of all coroutines of this name, at any place.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub by_name: bool,
}

/// Returns the usual waits at the place where `coroutine` waits.
pub fn usual(model: &Model, coroutine: &Coroutine) -> Option<Usual> {
    let (wait, past) = (coroutine.suspend()?, model.trace_model.past(coroutine));
    let by_name = model.trace_model.is_past_of_name(coroutine);
    let (mean, approximate) = if by_name {
        let named = model.trace_model.named(coroutine.group_key())?;
        (named.waiting.mean()?, named.approximate)
    } else {
        let site = model.trace_model.site(wait.site, wait.wait)?;
        (site.waits.mean()?, site.approximate)
    };
    Some(Usual {
        exact: !approximate && !coroutine.account.is_approximate() && model.knows_losses(),
        waits: past.waits,
        mean_ns: mean.0,
        p99_ns: past.p99.0,
        longest_ns: past.longest.0,
        queued: past.queued,
        longest_queued_ns: past.longest_queued.0,
        by_name,
    })
}
