//! The options, grouped by view, and their conversion into views.

pub(super) mod exchange;
pub(super) mod filter;
pub(super) mod graphics;
pub(super) mod symbols;

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser};
use ctp_trace::record::Nanos;
use regex_lite::Regex;

use self::graphics::FlameArgs;
use self::symbols::SYMBOLS;
use super::{sort, values};
use crate::config::ignore::Ignore;
use crate::config::{
    HtmlView, SiteField, SitesView, Sort, StacksView, StuckView, TopView, View, WhyView,
};
use crate::findings::lints::LINTS;

/// Heading of all options that select a view.
pub(super) const VIEWS: &str =
    "Views (without any of these: a table of the places where coroutines waited)";

#[derive(Debug, Args)]
#[group(multiple = false)]
#[command(next_help_heading = VIEWS)]
pub(super) struct ViewArgs {
    /// List stuck coroutines, with the line, the reason and the time
    #[arg(long)]
    pub(super) stuck: bool,
    /// Show the stack of each task, coroutine and thread that was read, or only of this one
    #[arg(long, value_name = "ID", num_args = 0..=1)]
    pub(super) stacks: Option<Option<u32>>,
    /// Show a table of the coroutines while the recording goes on, stuck coroutines first
    #[arg(long)]
    pub(super) top: bool,
    /// List the last action of each coroutine that was alive at the end, crashed coroutines first
    #[arg(long)]
    pub(super) last_words: bool,
    /// Show which coroutine spawned which as a tree, one row for each name and place
    #[arg(long)]
    pub(super) tree: bool,
    /// Show the chain of wakes that led this coroutine to its state, or those that the filters choose
    #[arg(long, value_name = "ID", num_args = 0..=1)]
    pub(super) why: Option<Option<u32>>,
    /// Draw how long waits and runs took, by site (by name for a trace of --summary)
    #[arg(long)]
    pub(super) histogram: bool,
    /// Print every record
    #[arg(short = 'D', long, conflicts_with_all = SYMBOLS)]
    pub(super) dump: bool,
    /// Write the page of --stuck to this file as Markdown, for an issue tracker (- for standard
    /// output)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["flame", "json"])]
    pub(super) markdown: Option<PathBuf>,
    /// Write a page for a browser to this file (- for standard output): what is stuck, a table of
    /// all coroutines alive, the timeline and the flame graph
    #[arg(long, value_name = "FILE", conflicts_with_all = ["flame", "json"])]
    pub(super) html: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Sites")]
pub(super) struct SitesArgs {
    /// Columns to sort sites by, the most important first, like max,count [default: share]; with --top, the
    /// column to sort by [default: verdict]
    #[arg(
        short,
        long,
        value_name = "KEYS",
        value_delimiter = ',',
        value_parser = sort::possible_values()
    )]
    pub(super) sort: Vec<String>,
    /// Columns to show, in this order, like waits,p50,p99,max,function,site
    #[arg(short = 'F', long, value_name = "COLUMNS", value_delimiter = ',')]
    pub(super) fields: Vec<SiteField>,
    /// Show at most this many sites, and sum up the rest; with --top --once, at most this many rows
    #[arg(short = 'n', long, value_name = "N")]
    pub(super) limit: Option<usize>,
    /// Hide sites with less than this share of the waiting time
    #[arg(long, value_name = "PERCENT", default_value = "0", value_parser = values::parse_percent)]
    pub(super) percent_limit: f64,
    /// Hide this lint; may be repeated
    #[arg(short = 'A', long, value_name = "LINT", value_delimiter = ',', value_parser = lint_names())]
    pub(super) allow: Vec<String>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Live table")]
pub(super) struct TopArgs {
    /// Print the table once, for scripts; while a recording goes on, with the rates of one interval
    #[arg(long)]
    pub(super) once: bool,
    /// Inspect this process, with ctp-record, instead of reading a trace
    #[arg(short, long, value_name = "PID", conflicts_with_all = ["input", "trace"],
          value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) pid: Option<u32>,
    /// Time between two refreshes
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = values::parse_interval)]
    pub(super) interval: Nanos,
    /// Show a row for each place and verdict, instead of each coroutine
    #[arg(long)]
    pub(super) group: bool,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Stuck")]
pub(super) struct StuckArgs {
    /// Judge only coroutines that have not moved for at least this long
    #[arg(long, value_name = "DURATION", default_value = "1s")]
    pub(super) threshold: Nanos,
    /// Exit with status 3 if anything is stuck, and 4 if the trace is too incomplete to say
    #[arg(long)]
    pub(super) fail: bool,
    /// Never report waits as stuck if their function or file:line matches; may be repeated
    #[arg(long, value_name = "REGEX")]
    pub(super) ignore: Vec<Regex>,
    /// List all ids, instead of a few of each group
    #[arg(long)]
    pub(super) ids: bool,
}

impl ViewArgs {
    /// The requested view. `stuck` has the threshold and says whether to list all ids. `flame` has
    /// the file of a flame graph.
    pub(super) fn into_view(self, stuck: StuckArgs, flame: &FlameArgs) -> Option<View> {
        let (threshold, all_ids) = (stuck.threshold, stuck.ids);
        let stacks = self.stacks.map(|id| StacksView {
            id,
            svg: flame.flame.clone(),
            threshold,
            all_ids,
            title: flame.title.clone(),
        });
        if let Some(html) = self.html {
            return Some(View::Html(HtmlView {
                html,
                stuck: stuck.into_view(None),
                title: flame.title.clone(),
            }));
        }
        let view = self.dump.then_some(View::Dump);
        view.or_else(|| self.histogram.then_some(View::Histogram))
            .or_else(|| {
                self.why.map(|id| {
                    View::Why(WhyView {
                        id,
                        threshold,
                        all_ids,
                    })
                })
            })
            .or_else(|| self.tree.then_some(View::Tree { threshold, all_ids }))
            .or_else(|| self.last_words.then_some(View::LastWords { all_ids }))
            .or_else(|| stacks.map(View::Stacks))
            .or_else(|| {
                let is_requested = self.stuck || self.markdown.is_some();
                is_requested.then(|| View::Stuck(stuck.into_view(self.markdown)))
            })
    }
}

/// The values of `--allow` and `--deny`.
pub(super) fn lint_names() -> PossibleValuesParser {
    LINTS
        .map(|lint| PossibleValue::new(lint.name).help(lint.help))
        .into()
}

impl TopArgs {
    pub(super) fn into_view(self, stuck: &StuckArgs, sites: &SitesArgs) -> View {
        View::Top(TopView {
            once: self.once,
            pid: self.pid,
            interval: self.interval,
            threshold: stuck.threshold,
            ignore: Ignore(stuck.ignore.clone()),
            sort: sort::parse(&sites.sort).next().unwrap_or_default(),
            is_grouped: self.group,
            limit: sites.limit,
        })
    }
}

impl SitesArgs {
    pub(super) fn into_view(self) -> View {
        let sort: Vec<Sort> = sort::parse(&self.sort).collect();
        let is_usual = sort.is_empty();
        View::Sites(SitesView {
            sort: if is_usual { vec![Sort::Share] } else { sort },
            fields: self.fields,
            limit: self.limit,
            percent_limit: self.percent_limit,
            allow: self.allow,
        })
    }
}

impl StuckArgs {
    fn into_view(self, markdown: Option<PathBuf>) -> StuckView {
        StuckView {
            threshold: self.threshold,
            fail: self.fail,
            all_ids: self.ids,
            ignore: Ignore(self.ignore),
            markdown,
        }
    }
}
