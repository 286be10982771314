//! The rules of `--check`: conditions that a trace must meet, such as `stuck=0` or `p99(wait)<5ms`.

mod fault;
mod parse;

use std::cmp::Ordering;

use regex_lite::Regex;

pub use fault::{BadRule, RuleFault};
pub use parse::parse;

/// The rules of one option.
#[derive(Clone, Debug)]
pub struct Rules(pub Vec<Rule>);

/// A comparison of a metric with a bound.
#[derive(Clone, Debug)]
pub struct Rule {
    /// The rule as the user wrote it.
    pub text: String,
    /// Whether the rule is skipped if the value is not known.
    pub is_optional: bool,
    /// What is compared.
    pub metric: Metric,
    /// How the metric must compare with the bound.
    pub comparison: Operator,
    /// The bound, in the unit of the metric.
    pub bound: u64,
}

/// A figure of a trace.
#[derive(Clone, Debug)]
pub enum Metric {
    /// A number of coroutines or events.
    Count(CountMetric),
    /// The longest single run.
    LongestRun,
    /// A statistic of waits, runs or delays.
    Statistic(Statistic, DurationSelector),
}

/// What a rule counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountMetric {
    /// Coroutines that are certainly stuck.
    Stuck,
    /// Coroutines that are likely stuck.
    Likely,
    /// Lost events.
    Lost,
    /// Coroutines that were alive at a clean end.
    Leaks,
    /// All coroutines.
    Coroutines,
}

/// A statistic of durations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statistic {
    /// The duration that this many percent do not exceed.
    Percentile(u8),
    /// The longest.
    Max,
    /// The arithmetic mean.
    Mean,
    /// How many there are.
    Count,
}

/// The durations that a statistic is about.
#[derive(Clone, Debug)]
pub struct DurationSelector {
    /// What the coroutines did.
    pub kind: DurationKind,
    /// A pattern for the function, or for file and line, of the wait.
    pub site: Option<Regex>,
    /// A pattern for the name of the coroutine.
    pub name: Option<Regex>,
}

/// What coroutines do for a duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DurationKind {
    /// Waiting, to the run that ends the wait.
    Wait,
    /// Running, to the next wait or the end of the coroutine.
    Run,
    /// Waiting to run, from the wake to the run.
    Ready,
}

/// How a metric must compare with the bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `=`
    Equal,
    /// `>=`
    AtLeast,
    /// `>`
    Greater,
}

impl Metric {
    /// Whether the metric is a time in nanoseconds, and not a number.
    pub fn is_time(&self) -> bool {
        match self {
            Metric::Count(_) => false,
            Metric::LongestRun => true,
            Metric::Statistic(statistic, _) => *statistic != Statistic::Count,
        }
    }
}

impl Operator {
    /// Whether the value compares with the bound in this way.
    pub fn holds(self, value: u64, bound: u64) -> bool {
        let order = value.cmp(&bound);
        match self {
            Operator::Less => order == Ordering::Less,
            Operator::AtMost => order != Ordering::Greater,
            Operator::Equal => order == Ordering::Equal,
            Operator::AtLeast => order != Ordering::Less,
            Operator::Greater => order == Ordering::Greater,
        }
    }
}
