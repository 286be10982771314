//! Numbers of coroutines and events, and what supports them.

use ctp_trace::record::ExitReason;
use ctp_trace::verdict::Confidence;

use crate::config::rules::CountMetric;
use crate::evidence::Member;
use crate::findings::gate;
use crate::findings::leaks::Leak;
use crate::findings::lints::{Detection, Lint, LintPlace};
use crate::load::Model;
use crate::names::Names;
use crate::views::check::missing::{self, Missing};
use crate::views::check::model::{MetricValue, TraceFacts};
use crate::views::check::proof;
use crate::views::check::range::MetricRange;

/// How many coroutines or places support a count.
const SHOWN: usize = 3;

/// The value of a count.
pub fn value(facts: &TraceFacts, count: CountMetric) -> MetricValue {
    let (model, names) = (facts.model, facts.names);
    match count {
        CountMetric::Stuck => stuck(facts, Confidence::Certain),
        CountMetric::Likely => stuck(facts, Confidence::Likely),
        CountMetric::Lost => lost(model, names),
        CountMetric::Leaks => leaks(facts),
        CountMetric::Coroutines => coroutines(facts),
    }
}

/// Coroutines that are stuck with this confidence.
fn stuck(facts: &TraceFacts, confidence: Confidence) -> MetricValue {
    let is_stuck = |member: &&Member| {
        let (_, judgement) = member;
        judgement.verdict.is_stuck() && judgement.confidence == confidence
    };
    let stuck: Vec<&Member> = facts.members.iter().filter(is_stuck).collect();
    let mut gaps = gate::gaps_of(facts.judged, facts.members, facts.threshold);
    if facts.judged.trace_model.inspected().next().is_some() {
        gaps.push("tasks without a probe are judged by --stuck --fail only".to_owned());
    }
    let proofs = stuck.iter().take(SHOWN);
    MetricValue {
        range: from(stuck.len() as u64, gaps),
        proof: proofs
            .map(|member| proof::of_member(facts.judged, facts.names, member))
            .collect(),
    }
}

fn lost(model: &Model, names: &Names) -> MetricValue {
    let why = if model.imported.is_some() {
        vec!["the file of another tool does not say what is missing".to_owned()]
    } else if model.is_readable() {
        Vec::new()
    } else {
        vec!["a part of the trace is missing".to_owned()]
    };
    MetricValue {
        range: from(model.lost(), why),
        proof: proof::of_losses(model, names).into_iter().collect(),
    }
}

/// Coroutines that were alive at a clean end. If events were lost, ends may be among them.
fn leaks(facts: &TraceFacts) -> MetricValue {
    let range = match facts.model.exit_reason() {
        Some(ExitReason::Exited(0)) => missing::hides_ends(facts.model),
        _ => Some("the program did not end with status 0".to_owned()),
    };
    let leaks = <Vec<Leak> as crate::findings::Finding>::find(facts.selected, facts.names);
    let count: usize = leaks.iter().map(|leak| leak.count).sum();
    MetricValue {
        range: range.map_or_else(|| MetricRange::exactly(count as u64), MetricRange::unknown),
        proof: leaks.iter().take(SHOWN).map(proof::of_leak).collect(),
    }
}

fn coroutines(facts: &TraceFacts) -> MetricValue {
    let count = facts.selected.trace_model.totals().coroutines;
    MetricValue {
        range: from(count, missing::hidden_coroutines(facts.model)),
        proof: Vec::new(),
    }
}

/// The coroutines that a lint found.
pub fn of_lint(facts: &TraceFacts, lint: &Lint) -> MetricValue {
    let found = facts.lints.iter();
    let found: Vec<&LintPlace> = found.filter(|place| place.lint.name == lint.name).collect();
    let count = found
        .iter()
        .fold(0, |sum: u64, place| sum.saturating_add(place.coroutines));
    let mut why: Vec<String> = Missing::of(facts.model).why.into_iter().collect();
    let needs_events = matches!(lint.detection, Detection::WhileReading(_));
    if needs_events && facts.model.is_by_name() {
        why.push("the trace has totals instead of events".to_owned());
    }
    MetricValue {
        range: from(count, why),
        proof: found
            .iter()
            .take(SHOWN)
            .map(|place| proof::of_lint(place))
            .collect(),
    }
}

/// The count, which may be larger for these reasons.
fn from(count: u64, reasons: Vec<String>) -> MetricRange {
    if reasons.is_empty() {
        MetricRange::exactly(count)
    } else {
        MetricRange::at_least(count, reasons.join("; "))
    }
}
