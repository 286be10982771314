//! What is missing in a trace, and so in the figures of rules.

use crate::load::Model;
use crate::text::units;

/// What a trace misses.
#[derive(Clone, Debug)]
pub struct Missing {
    /// At most this many waits, and this many runs, are missing; `None` if the number is not known.
    pub durations: Option<u64>,
    /// Why; `None` if nothing is missing.
    pub why: Option<String>,
}

impl Missing {
    /// Finds what is missing in the events of a trace. A lost event hides at most one wait and one run.
    pub fn of(model: &Model) -> Self {
        let lost = model.lost();
        let mut reasons = unbounded(model);
        let durations = reasons.is_empty().then_some(lost);
        if 0 < lost {
            reasons.push(format!("{} lost", were(lost, "event")));
        }
        Missing {
            durations,
            why: (!reasons.is_empty()).then(|| reasons.join("; ")),
        }
    }
}

/// Reasons for which any number of waits and runs may be missing.
pub fn unbounded(model: &Model) -> Vec<String> {
    let mut reasons = hidden_coroutines(model);
    let filtered = model.trace_model.totals().filtered;
    if 0 < filtered {
        reasons.push(format!("{} kept out by a filter", were(filtered, "event")));
    }
    if !model.trace_model.broken().is_empty() {
        reasons.push("events contradict each other".to_owned());
    }
    if reasons.is_empty() && model.lost() == 0 && !model.is_exact() {
        reasons.push("the counts of a coroutine cannot be trusted".to_owned());
    }
    reasons
}

/// Reasons for which whole coroutines may be missing.
pub fn hidden_coroutines(model: &Model) -> Vec<String> {
    let mut reasons = Vec::new();
    if model.imported.is_some() {
        reasons.push("the file of another tool does not say what is missing".to_owned());
    }
    if model.truncated_at.is_some() {
        reasons.push("the trace is cut off".to_owned());
    }
    if !model.damage.is_empty() {
        reasons.push("a part of the trace cannot be read".to_owned());
    }
    if 0 < model.refused() {
        let refused = were(model.refused(), "coroutine");
        reasons.push(format!("{refused} not recorded"));
    }
    if 0 < model.unrecorded() {
        let count = model.unrecorded();
        let plural = if count == 1 { " was" } else { "es were" };
        reasons.push(format!(
            "{} process{plural} not recorded",
            units::grouped(count)
        ));
    }
    reasons
}

/// `1 event was`, `2 events were`.
fn were(count: u64, thing: &str) -> String {
    let verb = if count == 1 { "was" } else { "were" };
    format!("{} {verb}", units::counted(count, thing))
}
