//! How long coroutines usually wait at the place where a given coroutine waits.

use ctp_trace::model::{Coroutine, Levels};
use ctp_trace::verdict::Level;
use serde::Serialize;

use crate::load::Model;

/// Past waits of the first level that has enough past waits, or else of the closest level.
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
    /// Which waits these are.
    #[serde(serialize_with = "level_word")]
    pub level: Level,
    /// Whether the figures cover all waits of all coroutines of this name, at any place.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub by_name: bool,
}

/// Returns the past waits with which the wait of `coroutine` is compared; `None` if there are no
/// past waits.
pub fn usual(model: &Model, levels: &Levels, coroutine: &Coroutine) -> Option<Usual> {
    coroutine.suspend()?;
    let past = model.trace_model.past(coroutine, levels);
    let approximate = is_approximate(model, coroutine, past.level);
    (0 < past.waits).then_some(Usual {
        exact: !approximate && !coroutine.account.is_approximate() && model.knows_losses(),
        waits: past.waits,
        mean_ns: past.mean.0,
        p99_ns: past.p99.0,
        longest_ns: past.longest.0,
        queued: past.queued,
        longest_queued_ns: past.longest_queued.0,
        level: past.level,
        by_name: past.level == Level::Name,
    })
}

fn is_approximate(model: &Model, coroutine: &Coroutine, level: Level) -> bool {
    let wait = coroutine.suspend();
    match level {
        Level::Chain | Level::Line => wait
            .and_then(|wait| model.trace_model.site(wait.site, wait.wait))
            .is_some_and(|site| site.approximate),
        Level::Coroutine => false,
        Level::Name => model
            .trace_model
            .named(coroutine.group_key())
            .is_some_and(|named| named.has_totals() && named.approximate),
        _ => model.trace_model.is_approximate(),
    }
}

fn level_word<S: serde::Serializer>(level: &Level, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(level.word())
}
