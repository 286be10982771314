//! The options of `--check`, and the part of the help that explains rules.

use std::path::PathBuf;

use clap::Args;
use ctp_trace::record::Nanos;

use super::options::{StuckArgs, VIEWS, lint_names};
use crate::config::ignore::Ignore;
use crate::config::rules::{self, CountMetric, Metric, Rules};
use crate::config::{CheckView, View};

/// How to write rules.
pub(super) const RULES: &str = "\
Rules of --check, separated by commas:
  stuck=0                          no coroutine is certainly stuck (STUCK, DEADLOCK)
  likely=0                         none is likely stuck (STUCK?)
  lost=0                           no event was lost
  leaks=0                          the program ended with status 0, and no coroutine was left
  coroutines<=1000                 at most 1 000 coroutines were spawned
  busy<50ms                        no coroutine ran for 50 ms without a suspend
  p99(wait)<5ms                    99 % of the ended waits took less than 5 ms; also p50, p90,
                                   max, mean and count
  p90(run,site=db::query)<1ms      90 % of the runs after waits in functions, or at file:line, that
                                   match; quote a REGEX that has a comma: site=\"a{1,2}\"
  max(ready,name=^conn)<=20ms      how long coroutines whose names match took to run once woken
  ?p99(wait,name=^cron)<1s         not checked if the trace does not show the value
Comparisons are <, <=, =, >= and >. Records that are missing widen the range of a value: a rule passes
only if it holds for the whole range. If it holds for a part, the value is `not known` and the exit
status is 4, unless another rule fails. A statistic without any wait or run is not known either.
With filters such as --site, rules are about the selected coroutines; `lost` is about all.";

#[derive(Debug, Args)]
#[command(next_help_heading = "Check")]
pub(super) struct CheckArgs {
    /// Check rules like 'stuck=0,p99(wait,site=db)<5ms' (see below); exit with status 3 if a rule fails,
    /// and 4 if a value is not known
    #[arg(
        help_heading = VIEWS,
        long,
        value_name = "RULES",
        value_parser = rules::parse,
        conflicts_with_all = ["ViewArgs", "flame", "folded", "timeline", "export"]
    )]
    check: Vec<Rules>,
    /// Fail if this lint finds anything, with or without --check; may be repeated
    #[arg(
        long,
        value_name = "LINT",
        value_delimiter = ',',
        value_parser = lint_names(),
        conflicts_with_all = ["ViewArgs", "flame", "folded", "timeline", "export"]
    )]
    deny: Vec<String>,
    /// Write the results to this file as JUnit XML, which CI services show (- for standard output)
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
}

impl CheckArgs {
    /// Whether a check is requested.
    pub(super) fn is_given(&self) -> bool {
        !self.check.is_empty() || !self.deny.is_empty()
    }

    /// Whether lints are denied.
    pub(super) fn has_lints(&self) -> bool {
        !self.deny.is_empty()
    }

    /// A rule about the whole recording, if any.
    pub(super) fn timeless_rule(&self) -> Option<&str> {
        let mut rules = self.check.iter().flat_map(|rules| &rules.0);
        let rule = rules.find(|rule| match rule.metric {
            Metric::Count(count) => !matches!(count, CountMetric::Stuck | CountMetric::Likely),
            Metric::LongestRun | Metric::Statistic(..) => false,
        });
        rule.map(|rule| rule.text.as_str())
    }

    /// The requested check. `stuck` has the threshold and the places to ignore.
    pub(super) fn into_view(self, stuck: &StuckArgs) -> Option<View> {
        let threshold: Nanos = stuck.threshold;
        self.is_given().then(|| {
            View::Check(CheckView {
                rules: self.check.into_iter().flat_map(|rules| rules.0).collect(),
                deny: self.deny,
                threshold,
                ignore: Ignore(stuck.ignore.clone()),
                junit: self.junit,
            })
        })
    }
}
