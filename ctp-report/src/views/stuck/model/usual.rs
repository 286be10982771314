//! How long coroutines usually wait where one does.

use ctp_trace::trace_model::Coroutine;
use serde::Serialize;

use crate::load::Model;

/// What is usual at a site, or under a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Usual {
    /// Whether these figures are complete.
    pub exact: bool,
    /// Waits that ended in a run.
    pub waits: u64,
    /// Their mean.
    pub mean_ns: u64,
    /// 99 % of them took no longer.
    pub p99_ns: u64,
    /// The longest.
    pub longest_ns: u64,
    /// Delays between wake and run that are known.
    pub queued: u64,
    /// The longest of those.
    pub longest_queued_ns: u64,
    /// These are all waits of all coroutines of this name, wherever they waited.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub by_name: bool,
}

/// What is usual where this one waits.
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
