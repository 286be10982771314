//! The range in which the value of a metric lies, and what that means for a rule.

use serde::Serialize;

use crate::config::rules::{Operator, Rule};

/// The values that a metric can have, given what is missing in the trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetricRange {
    /// The least possible value.
    pub least: u64,
    /// The greatest possible value; `None` if there is no bound.
    pub most: Option<u64>,
    /// Why the value is not known exactly.
    pub why: Option<String>,
}

/// The result of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The rule holds for each possible value.
    Passed,
    /// The rule holds for no possible value.
    Failed,
    /// The rule holds for some possible values only.
    NotKnown,
    /// The value is not known, and the rule is optional.
    Skipped,
}

impl MetricRange {
    /// A known value.
    pub fn exactly(value: u64) -> Self {
        MetricRange {
            least: value,
            most: Some(value),
            why: None,
        }
    }

    /// A lower bound, for this reason.
    pub fn at_least(value: u64, why: String) -> Self {
        MetricRange {
            least: value,
            most: None,
            why: Some(why),
        }
    }

    /// Nothing is known, for this reason.
    pub fn unknown(why: String) -> Self {
        MetricRange::at_least(0, why)
    }

    /// Whether the value is known.
    pub fn is_exact(&self) -> bool {
        self.most == Some(self.least)
    }

    /// Applies a rule. All comparisons but equality hold for all values of a range if they hold for both
    /// ends.
    pub fn outcome(&self, rule: &Rule) -> Outcome {
        let holds = |value| rule.comparison.holds(value, rule.bound);
        let ends = [holds(self.least), holds(self.most.unwrap_or(u64::MAX))];
        let has_bound_inside =
            self.least <= rule.bound && self.most.is_none_or(|most| rule.bound <= most);
        let is_equality_open =
            rule.comparison == Operator::Equal && has_bound_inside && !self.is_exact();
        match ends {
            _ if is_equality_open => Outcome::without_value(rule),
            [true, true] => Outcome::Passed,
            [false, false] => Outcome::Failed,
            _ => Outcome::without_value(rule),
        }
    }
}

impl Outcome {
    /// The result of a rule that may hold or not.
    pub fn without_value(rule: &Rule) -> Self {
        if rule.is_optional {
            Outcome::Skipped
        } else {
            Outcome::NotKnown
        }
    }

    /// The word on pages.
    pub fn word(self) -> &'static str {
        match self {
            Outcome::Passed => "passed",
            Outcome::Failed => "FAILED",
            Outcome::NotKnown => "NOT KNOWN",
            Outcome::Skipped => "skipped",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::rules;

    fn outcome(text: &str, least: u64, most: Option<u64>) -> Outcome {
        let rule = rules::parse(text).unwrap().0.remove(0);
        let why = None;
        MetricRange { least, most, why }.outcome(&rule)
    }

    // CT-24
    #[test]
    fn rules_pass_only_if_all_values_do() {
        use Outcome::{Failed, NotKnown, Passed, Skipped};
        for (text, least, most, expected) in [
            ("lost=0", 0, Some(0), Passed),
            ("lost=0", 1, Some(1), Failed),
            ("lost=0", 0, None, NotKnown),
            ("lost=0", 1, None, Failed),
            ("lost=5", 3, Some(7), NotKnown),
            ("lost=5", 3, Some(4), Failed),
            ("?lost=0", 0, None, Skipped),
            ("?lost=0", 1, None, Failed),
            ("lost<5", 4, Some(4), Passed),
            ("lost<5", 5, Some(5), Failed),
            ("lost<5", 4, Some(5), NotKnown),
            ("lost<5", 5, None, Failed),
            ("lost<=5", 5, Some(5), Passed),
            ("lost<=5", 5, None, NotKnown),
            ("lost>5", 5, None, NotKnown),
            ("lost>=5", 5, None, Passed),
            ("lost>5", 5, Some(5), Failed),
        ] {
            assert_eq!(
                outcome(text, least, most),
                expected,
                "{text} {least} {most:?}"
            );
        }
    }
}
