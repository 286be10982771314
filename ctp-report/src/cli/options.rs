//! The options by what they are for, and the views that they ask for.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args, ValueEnum};
use ctp_trace::record::Nanos;
use regex_lite::Regex;
use symbolize::Places;

use super::values;
use crate::config::ignore::Ignore;
use crate::config::{
    By, ExportView, FlameView, Format, SitesView, Sort, StuckView, TimelineView, TracksView, View,
};
use crate::findings::lints::{LINTS, Lint};
use crate::output;

#[derive(Debug, Args)]
#[group(multiple = false)]
#[command(next_help_heading = "Views")]
pub(super) struct ViewArgs {
    /// List what is stuck
    #[arg(long)]
    pub(super) stuck: bool,
    /// List what everybody did last who lived at the end, those that crashed first
    #[arg(long)]
    pub(super) last_words: bool,
    /// Show who spawned whom, as a tree: coroutines of one name and place in one row
    #[arg(long)]
    pub(super) tree: bool,
    /// Tell what led this coroutine to where it is: who woke it, and who woke that one
    #[arg(long, value_name = "ID")]
    pub(super) why: Option<u32>,
    /// Draw how long waits and runs took, by site; of a --summary by name
    #[arg(long)]
    pub(super) histogram: bool,
    /// Print every record
    #[arg(short = 'D', long)]
    pub(super) dump: bool,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Sites")]
pub(super) struct SitesArgs {
    /// Column to sort sites by
    #[arg(short, long, value_name = "KEY", default_value = "share")]
    pub(super) sort: Sort,
    /// Leave out sites with less than this share of the waiting time
    #[arg(long, value_name = "PERCENT", default_value = "0", value_parser = values::parse_percent)]
    pub(super) percent_limit: f64,
    /// Hide this lint (see below); may be repeated
    #[arg(short = 'A', long, value_name = "LINT", value_delimiter = ',', value_parser = lint_names())]
    pub(super) allow: Vec<String>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Stuck")]
pub(super) struct StuckArgs {
    /// Judge only coroutines that have not moved for this long
    #[arg(long, value_name = "DURATION", default_value = "1s")]
    pub(super) threshold: Nanos,
    /// Exit with status 3 if anything is stuck, and 4 if the trace lacks what would tell
    #[arg(long)]
    pub(super) fail: bool,
    /// Never report waits whose function or file:line matches this pattern as stuck; may be repeated
    #[arg(long, value_name = "REGEX")]
    pub(super) ignore: Vec<Regex>,
    /// List all ids, not a few of each group
    #[arg(long)]
    pub(super) ids: bool,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Flame graph")]
pub(super) struct FlameArgs {
    /// Write a flame graph (- for standard output)
    #[arg(long, value_name = "FILE", conflicts_with = "ViewArgs")]
    pub(super) flame: Option<PathBuf>,
    /// Write the folded stacks that a flame graph is made of (- for standard output)
    #[arg(long, value_name = "FILE", conflicts_with = "ViewArgs")]
    pub(super) folded: Option<PathBuf>,
    /// What the width of a flame means
    #[arg(long, value_name = "WHAT", default_value = "wait")]
    pub(super) by: By,
    /// Headline of the picture
    #[arg(long, value_name = "TEXT")]
    pub(super) title: Option<String>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Timeline")]
pub(super) struct TimelineArgs {
    /// Write a timeline (- for standard output): one row a coroutine, or a sample of many
    #[arg(long, value_name = "FILE", conflicts_with_all = ["ViewArgs", "flame", "folded", "json"])]
    pub(super) timeline: Option<PathBuf>,
    /// Show only this time, like 1s,5s or 500ms,
    #[arg(long, value_name = "FROM,TO", value_parser = values::parse_window)]
    pub(super) time: Option<(Nanos, Option<Nanos>)>,
}

/// What shows records as they are, for which no name is looked up.
const NAMELESS: [&str; 1] = ["dump"];

#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Symbols")]
pub(super) struct PlacesArgs {
    /// Look for programs, sources and debug info below this directory, by path or by name
    #[arg(long, value_name = "DIR", conflicts_with_all = NAMELESS)]
    pub(super) symfs: Option<PathBuf>,
    /// Look for separate debug info here too, as in /usr/lib/debug; may be repeated
    #[arg(long, value_name = "DIR", conflicts_with_all = NAMELESS)]
    pub(super) debug_dir: Vec<PathBuf>,
    /// Most memory that programs and debug info may take together, like 1G; usually 256M
    #[arg(long, value_name = "SIZE", value_parser = values::parse_size, conflicts_with_all = NAMELESS)]
    pub(super) max_module: Option<u64>,
}

impl PlacesArgs {
    pub(super) fn are_given(&self) -> bool {
        self.symfs.is_some() || !self.debug_dir.is_empty() || self.max_module.is_some()
    }

    pub(super) fn into_places(self) -> Places {
        let places = self.symfs.map_or_else(Places::recorded, Places::below);
        let directories = self.debug_dir.into_iter();
        let places = directories.fold(places, Places::with_debug_directory);
        match self.max_module {
            Some(bytes) => places.with_most_bytes(bytes),
            None => places,
        }
    }
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Import and export")]
pub(super) struct ExchangeArgs {
    /// Which run of an imported file to read, from 1; the last unless told
    #[arg(long, value_name = "N")]
    pub(super) run: Option<usize>,
    /// Write the trace for other tools
    #[arg(long, value_name = "FORMAT", conflicts_with_all = ["ViewArgs", "flame", "folded", "timeline", "json"])]
    pub(super) export: Option<Target>,
    /// Where to export to, if not to standard output
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
}

/// Whom an export is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Target {
    /// Events with the six columns of coroTracer, one JSON object a line
    Jsonl,
    /// The same as comma-separated values under a line of names
    Csv,
    /// Trace events: a track for each coroutine and thread, wakes as arrows, what is stuck marked; for
    /// Perfetto, chrome://tracing, speedscope
    Chrome,
}

impl ViewArgs {
    /// A view of its own, with what is asked of those that may be stuck.
    pub(super) fn into_view(self, stuck: StuckArgs) -> Option<View> {
        let (threshold, all_ids) = (stuck.threshold, stuck.ids);
        let view = self.dump.then_some(View::Dump);
        view.or_else(|| self.histogram.then_some(View::Histogram))
            .or_else(|| self.why.map(|id| View::Why { id, threshold }))
            .or_else(|| self.tree.then_some(View::Tree { threshold, all_ids }))
            .or_else(|| self.last_words.then_some(View::LastWords { all_ids }))
            .or_else(|| self.stuck.then(|| stuck.into_view()))
    }
}

/// What `--allow` takes.
fn lint_names() -> PossibleValuesParser {
    let value = |lint: &Lint| PossibleValue::new(lint.name).help(lint.help);
    LINTS.map(value).into()
}

impl SitesArgs {
    pub(super) fn into_view(self) -> View {
        View::Sites(SitesView {
            sort: self.sort,
            percent_limit: self.percent_limit,
            allow: self.allow,
        })
    }
}

impl StuckArgs {
    fn into_view(self) -> View {
        View::Stuck(StuckView {
            threshold: self.threshold,
            fail: self.fail,
            all_ids: self.ids,
            ignore: Ignore(self.ignore),
        })
    }
}

impl FlameArgs {
    /// JSON is printed instead of text.
    pub(super) fn into_view(self, json: bool) -> Option<View> {
        let is_text = |path: &PathBuf| !(json && output::is_stdout(path));
        let is_requested = self.flame.is_some() || self.folded.is_some();
        is_requested.then(|| {
            View::Flame(FlameView {
                svg: self.flame,
                folded: self.folded.filter(is_text),
                by: self.by,
                title: self.title,
            })
        })
    }
}

impl TimelineArgs {
    pub(super) fn into_view(self, threshold: Nanos, title: Option<String>) -> Option<View> {
        Some(View::Timeline(TimelineView {
            svg: self.timeline?,
            time: self.time.unwrap_or_default(),
            threshold,
            title,
        }))
    }
}

impl ExchangeArgs {
    /// Rows are of the whole trace; tracks may be of a part of it.
    pub(super) fn into_view(self, time: (Nanos, Option<Nanos>), threshold: Nanos) -> Option<View> {
        let output = self.output.filter(|path| !output::is_stdout(path));
        let rows = |format, output| View::Export(ExportView { format, output });
        Some(match self.export? {
            Target::Jsonl => rows(Format::Jsonl, output),
            Target::Csv => rows(Format::Csv, output),
            Target::Chrome => View::Tracks(TracksView {
                time,
                threshold,
                output,
            }),
        })
    }
}
