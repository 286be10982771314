//! The options that filter coroutines, in every view.

use std::ops::RangeInclusive;

use clap::Args;
use regex_lite::Regex;

use crate::cli::values;
use crate::config::filter::{Filter, Period, TimeSelects};

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Filters of all views, also for --fail and --check")]
pub(in crate::cli) struct FilterArgs {
    /// Show only coroutines whose latest wait matches, by function or file:line; may be repeated
    #[arg(long, value_name = "REGEX")]
    site: Vec<Regex>,
    /// Show only coroutines and tasks whose name matches; may be repeated
    #[arg(long, value_name = "REGEX")]
    name: Vec<Regex>,
    /// Show only these ids, like 3,10-20
    #[arg(long, value_name = "IDS", value_delimiter = ',', value_parser = values::parse_ids)]
    id: Vec<RangeInclusive<u32>>,
    /// Show only coroutines that ran last on these threads
    #[arg(long, value_name = "TIDS", value_delimiter = ',')]
    thread: Vec<u64>,
    /// Show only these verdicts and states, like stuck, not_woken or ended
    #[arg(long, value_name = "WORDS", value_delimiter = ',')]
    state: Vec<String>,
    /// Show only this span of the recording: `1s,5s`, or `500ms,` for everything after 500 ms. Views that
    /// list coroutines (--stuck, --stacks, --last-words, --tree, --why, --markdown, --html) show those whose
    /// latest wait or run began then; verdicts are based on the whole recording, and the graphics of --html
    /// show the span. --check and diff take waits and runs that ended then, and `stuck` those that began then
    #[arg(long, value_name = "FROM,TO", value_parser = values::parse_window)]
    time: Option<Period>,
}

impl FilterArgs {
    /// Whether places or names are compared, which need the names of functions.
    pub(in crate::cli) fn has_patterns(&self) -> bool {
        !self.site.is_empty() || !self.name.is_empty()
    }

    /// Whether any filter is given.
    pub(in crate::cli) fn are_given(&self) -> bool {
        self.has_patterns() || self.time.is_some() || !self.id.is_empty() || self.has_states()
    }

    /// Whether a time is given.
    pub(in crate::cli) fn has_time(&self) -> bool {
        self.time.is_some()
    }

    fn has_states(&self) -> bool {
        !self.thread.is_empty() || !self.state.is_empty()
    }

    /// The filter for a view, which gives `--time` its meaning.
    pub(in crate::cli) fn into_filter(self, selects: TimeSelects) -> Filter {
        let of_starts = selects == TimeSelects::Starts;
        let began = self.time.filter(|_| of_starts);
        let time = self.time.filter(|_| !of_starts);
        Filter {
            sites: self.site,
            names: self.name,
            ids: self.id,
            threads: self.thread,
            states: self.state,
            time: time.unwrap_or_default(),
            began,
            whole_spans: selects == TimeSelects::Ends,
        }
    }
}
