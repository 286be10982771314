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
    /// Finds what is missing in the events of a trace. A lost event, or an event that a flight recorder left
    /// out, hides at most one wait and one run.
    pub fn of(model: &Model) -> Self {
        let left_out = left_out(model);
        let mut reasons = unbounded(model);
        let lost = model.lost().saturating_add(left_out);
        let durations = reasons.is_empty().then_some(lost);
        reasons.extend(losses(model));
        if 0 < left_out {
            let records = were(left_out, "record");
            reasons.push(format!("{records} left out by the flight recorder"));
        }
        Missing {
            durations,
            why: (!reasons.is_empty()).then(|| reasons.join("; ")),
        }
    }
}

/// Why a coroutine that has ended may look alive; `None` if that is impossible. What a flight recorder leaves
/// out is only about coroutines of which the end is known.
pub fn hides_ends(model: &Model) -> Option<String> {
    let mut reasons = unbounded(model);
    reasons.extend(losses(model));
    (!reasons.is_empty()).then(|| reasons.join("; "))
}

/// Records of the kept time that a flight recorder left out, because it had forgotten their coroutines. No
/// other count includes them.
fn left_out(model: &Model) -> u64 {
    let window = model.trace_model.window();
    window.map_or(0, |window| window.unattributed)
}

fn losses(model: &Model) -> Option<String> {
    let lost = model.lost();
    (0 < lost).then(|| format!("{} lost", were(lost, "event")))
}

/// Reasons for which any number of waits and runs may be missing.
pub fn unbounded(model: &Model) -> Vec<String> {
    let mut reasons = hidden_coroutines(model);
    reasons.extend(filtered(model));
    if !model.trace_model.broken().is_empty() {
        reasons.push("events contradict each other".to_owned());
    }
    if reasons.is_empty() && model.lost() == 0 && !model.is_exact() {
        reasons.push("the counts of a coroutine cannot be trusted".to_owned());
    }
    reasons
}

/// Says how many events a filter kept out, if any. Neither events nor totals include them.
pub fn filtered(model: &Model) -> Option<String> {
    let filtered = model.trace_model.totals().filtered;
    (0 < filtered).then(|| format!("{} kept out by a filter", were(filtered, "event")))
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

#[cfg(test)]
mod tests {
    use super::*;
    use ctp_trace::record::{Record, Window};

    // CT-24
    #[test]
    fn records_that_a_flight_recorder_left_out_are_missing() {
        for (unattributed, is_missing) in [(0, false), (12, true)] {
            let mut model = Model::default();
            model.trace_model.consume(&Record::Window(Window {
                unattributed,
                ..Window::default()
            }));
            let missing = Missing::of(&model);
            assert_eq!(missing.durations, Some(unattributed));
            assert_eq!(missing.why.is_some(), is_missing, "{missing:?}");
            assert_eq!(hides_ends(&model), None);
        }
    }
}
