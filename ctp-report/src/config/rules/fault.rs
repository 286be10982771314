//! Errors in rules, with the text and its position.

use std::fmt;

use ctp_trace::BadDuration;
use ctp_trace::escape::escaped;

/// An error in the value of `--check`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadRule {
    /// The text that is wrong; empty if the rules end where more is needed.
    pub text: String,
    /// The position of that text, in characters from 1.
    pub position: usize,
    /// What is wrong.
    pub fault: RuleFault,
}

/// What is wrong with a part of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RuleFault {
    /// The metric does not exist.
    Metric,
    /// The metric needs parentheses that name waits, runs or delays.
    NoArguments,
    /// The metric has no parentheses.
    Arguments,
    /// The first word in parentheses is not `wait`, `run` or `ready`.
    DurationKind,
    /// A further word in parentheses is not `site=` or `name=`, or is repeated.
    Filter,
    /// The pattern is invalid, for this reason.
    Pattern(String),
    /// The parentheses or quotes do not end.
    NoEnd,
    /// There is no comparison after the metric.
    Operator,
    /// The bound is not a number.
    Number,
    /// The bound is not a duration.
    Duration(BadDuration),
}

impl fmt::Display for BadRule {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.text.is_empty() {
            write!(out, "at the end: ")?;
        } else {
            write!(out, "`{}` at {}: ", escaped(&self.text), self.position)?;
        }
        self.fault.fmt(out)
    }
}

impl fmt::Display for RuleFault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            RuleFault::Metric => {
                "write stuck, likely, lost, leaks, coroutines, busy, or a statistic like p99(wait)"
            }
            RuleFault::NoArguments => "add (wait), (run) or (ready), like p99(wait)",
            RuleFault::Arguments => "this metric has no parentheses",
            RuleFault::DurationKind => "write wait, run or ready",
            RuleFault::Filter => "write site=REGEX or name=REGEX, each once",
            RuleFault::Pattern(why) => {
                return write!(out, "no regular expression: {}", escaped(why));
            }
            RuleFault::NoEnd => "the parenthesis or quote does not end",
            RuleFault::Operator => "write <, <=, =, >= or > and a bound",
            RuleFault::Number => "write a whole number",
            RuleFault::Duration(why) => return why.fmt(out),
        };
        out.write_str(text)
    }
}

impl std::error::Error for BadRule {}
