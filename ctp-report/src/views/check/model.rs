//! The result of each rule.

use ctp_trace::record::Nanos;
use serde::Serialize;

use crate::config::rules::{CountMetric, Metric, Operator, Rule, Statistic};
use crate::evidence::Member;
use crate::findings::gate::ReportStatus;
use crate::findings::lints::{LINTS, Lint, LintPlace};
use crate::load::Model;
use crate::names::Names;
use crate::views::check::durations::SelectedDurations;
use crate::views::check::missing::Missing;
use crate::views::check::proof::{MetricProof, OwnedSpan};
use crate::views::check::range::{MetricRange, Outcome};
use crate::views::check::{counts, totals};

/// What is known of a trace.
pub struct TraceFacts<'f> {
    /// The trace.
    pub model: &'f Model,
    /// The trace as if only the selected coroutines existed, to count these. It numbers names in its own way,
    /// and takes the others for lost.
    pub selected: &'f Model,
    /// Its names.
    pub names: &'f Names,
    /// The trace up to the time at which processes dropped their coroutines.
    pub judged: &'f Model,
    /// The coroutines that were alive then.
    pub members: &'f [Member<'f>],
    /// How long these did not move before they were judged.
    pub threshold: Nanos,
    /// The longest run.
    pub longest_run: Option<OwnedSpan>,
    /// The findings of denied lints.
    pub lints: &'f [LintPlace],
}

/// A value, and what supports it.
pub struct MetricValue {
    /// The range of the value.
    pub range: MetricRange,
    /// What supports the value.
    pub proof: Vec<MetricProof>,
}

/// A rule and its result.
#[derive(Clone, Debug, Serialize)]
pub struct Checked {
    /// The rule as the user wrote it.
    pub rule: String,
    /// The result.
    pub outcome: Outcome,
    /// The unit of value and bound: `ns` or `count`.
    pub unit: &'static str,
    /// The least possible value.
    pub least: u64,
    /// The greatest possible value; `None` if there is no bound.
    pub most: Option<u64>,
    /// The bound of the rule.
    pub bound: u64,
    /// Why the value is not known exactly.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// What supports the value.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub proof: Vec<MetricProof>,
}

/// Applies the rules, in their order, and then the denied lints. `collected` has the durations of each
/// rule.
pub fn check(
    facts: &TraceFacts,
    rules: &[Rule],
    deny: &[String],
    collected: &[Option<SelectedDurations>],
) -> Vec<Checked> {
    let of_rules = rules.iter().zip(collected);
    let of_rules = of_rules.map(|(rule, collected)| {
        let value = value(facts, &rule.metric, collected.as_ref());
        checked(rule, value)
    });
    let of_lints = denied(deny).map(|lint| checked(&no(lint.name), counts::of_lint(facts, lint)));
    of_rules.chain(of_lints).collect()
}

/// The results of a trace without coroutines: no value is known, for this reason, so that not even a rule
/// that holds for all values passes.
pub fn all_unknown(rules: &[Rule], deny: &[String], why: &str) -> Vec<Checked> {
    let of_lints = denied(deny).map(|lint| no(lint.name));
    let all = rules.iter().cloned().chain(of_lints);
    let unknown = all.map(|rule| {
        let value = MetricValue {
            range: MetricRange::unknown(why.to_owned()),
            proof: Vec::new(),
        };
        Checked {
            outcome: Outcome::without_value(&rule),
            ..checked(&rule, value)
        }
    });
    unknown.collect()
}

fn denied(deny: &[String]) -> impl Iterator<Item = &'static Lint> {
    let all = LINTS.into_iter();
    all.filter(|lint| deny.iter().any(|name| name == lint.name))
}

/// The rule that a lint finds no coroutine.
fn no(lint: &str) -> Rule {
    Rule {
        text: format!("deny {lint}"),
        is_optional: false,
        metric: Metric::Count(CountMetric::Coroutines),
        comparison: Operator::Equal,
        bound: 0,
    }
}

fn value(
    facts: &TraceFacts,
    metric: &Metric,
    collected: Option<&SelectedDurations>,
) -> MetricValue {
    match metric {
        Metric::Count(count) => counts::value(facts, *count),
        Metric::LongestRun => longest_run(facts),
        Metric::Statistic(statistic, durations) => match collected {
            Some(collected) => of_collected(facts, *statistic, collected),
            None => MetricValue {
                range: totals::range(facts.selected, facts.names, *statistic, durations),
                proof: Vec::new(),
            },
        },
    }
}

fn of_collected(
    facts: &TraceFacts,
    statistic: Statistic,
    collected: &SelectedDurations,
) -> MetricValue {
    let proof = match statistic {
        Statistic::Count => None,
        _ => collected.proof(facts.model, facts.names),
    };
    MetricValue {
        range: collected.range(statistic, &Missing::of(facts.model)),
        proof: proof.into_iter().collect(),
    }
}

fn longest_run(facts: &TraceFacts) -> MetricValue {
    let (model, names) = (facts.model, facts.names);
    let longest = facts.longest_run.as_ref();
    let length = longest.map(|witness| witness.span.length());
    let proof = longest.map(|witness| witness.proof(model, names, "ran"));
    if model.is_by_name() {
        let ended = totals::longest_runner(facts.selected, names);
        let ended = ended.filter(|(ended, _)| length.is_none_or(|length| length < *ended));
        return MetricValue {
            range: totals::longest_run(facts.selected, length),
            proof: ended
                .map(|(_, proof)| proof)
                .or(proof)
                .into_iter()
                .collect(),
        };
    }
    let length = length.unwrap_or(Nanos(0)).0;
    MetricValue {
        range: match Missing::of(facts.model).why {
            None => MetricRange::exactly(length),
            Some(why) => MetricRange::at_least(length, why),
        },
        proof: proof.into_iter().collect(),
    }
}

fn checked(rule: &Rule, value: MetricValue) -> Checked {
    let MetricValue { range, proof } = value;
    Checked {
        rule: rule.text.clone(),
        outcome: range.outcome(rule),
        unit: if rule.metric.is_time() { "ns" } else { "count" },
        least: range.least,
        most: range.most,
        bound: rule.bound,
        why: range.why,
        proof,
    }
}

/// How many rules have this result.
pub fn count(all: &[Checked], outcome: Outcome) -> usize {
    all.iter()
        .filter(|checked| checked.outcome == outcome)
        .count()
}

/// The result of all rules: a failure, or else the first rule of which the value is not known.
pub fn status(all: &[Checked]) -> ReportStatus {
    if 0 < count(all, Outcome::Failed) {
        return ReportStatus::CheckFailed;
    }
    let open = all
        .iter()
        .find(|checked| checked.outcome == Outcome::NotKnown);
    match open {
        None => ReportStatus::Fine,
        Some(open) => ReportStatus::Incomplete(format!(
            "no rule fails, but the value of `{}` is not known: {}",
            open.rule,
            open.why.as_deref().unwrap_or("records are missing")
        )),
    }
}
