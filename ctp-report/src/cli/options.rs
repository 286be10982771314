//! The options, grouped by view, and their conversion into views.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args, ValueEnum};
use ctp_trace::record::Nanos;
use regex_lite::Regex;
use symbolize::SearchPaths;

use super::{sort, tables, values};
use crate::config::filter::{Filter, Period, TimeSelects};
use crate::config::ignore::Ignore;
use crate::config::{
    ExportView, FlameView, FlameWidth, Format, HtmlView, ProfileFormat, ProfileView, SiteField,
    SitesView, Sort, StacksView, StuckView, TimelineView, TopView, TrackFormat, TracksView, View,
    WhyView,
};
use crate::findings::lints::LINTS;
use crate::output;

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

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Filters of all views, also for --fail and --check")]
pub(super) struct FilterArgs {
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
    pub(super) fn has_patterns(&self) -> bool {
        !self.site.is_empty() || !self.name.is_empty()
    }

    /// Whether any filter is given.
    pub(super) fn are_given(&self) -> bool {
        self.has_patterns() || self.time.is_some() || !self.id.is_empty() || self.has_states()
    }

    /// Whether a time is given.
    pub(super) fn has_time(&self) -> bool {
        self.time.is_some()
    }

    fn has_states(&self) -> bool {
        !self.thread.is_empty() || !self.state.is_empty()
    }

    /// The filter for a view, which gives `--time` its meaning.
    pub(super) fn into_filter(self, selects: TimeSelects) -> Filter {
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

#[derive(Debug, Args)]
#[command(next_help_heading = "Flame graph")]
pub(super) struct FlameArgs {
    /// Write a flame graph of waits to this file (- for standard output); with --stacks, of the stacks
    #[arg(
        help_heading = VIEWS,
        long,
        value_name = "FILE",
        conflicts_with_all = ["stuck", "last_words", "tree", "why", "histogram", "dump"]
    )]
    pub(super) flame: Option<PathBuf>,
    /// Write the folded stacks of the flame graph to this file (- for standard output)
    #[arg(help_heading = VIEWS, long, value_name = "FILE", conflicts_with = "ViewArgs")]
    pub(super) folded: Option<PathBuf>,
    /// What the width of a flame means
    #[arg(
        long,
        value_name = "WHAT",
        default_value = "wait",
        conflicts_with = "stacks"
    )]
    pub(super) by: FlameWidth,
    /// Title of the flame graph or timeline
    #[arg(long, value_name = "TEXT")]
    pub(super) title: Option<String>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Timeline")]
pub(super) struct TimelineArgs {
    /// Write a timeline to this file (- for standard output): a row for each coroutine or for a
    /// sample of them
    #[arg(help_heading = VIEWS, long, value_name = "FILE", conflicts_with_all = ["ViewArgs", "flame", "folded", "json"])]
    pub(super) timeline: Option<PathBuf>,
}

/// The options of [`SymbolArgs`], which views without names ignore.
const SYMBOLS: [&str; 4] = ["symfs", "debug_dir", "skip", "max_module"];

#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Symbols")]
pub(super) struct SymbolArgs {
    /// Look for programs, sources and debug info in this directory, by path or by name
    #[arg(long, value_name = "DIR")]
    pub(super) symfs: Option<PathBuf>,
    /// Also look for separate debug info here, as in /usr/lib/debug; may be repeated
    #[arg(long, value_name = "DIR")]
    pub(super) debug_dir: Vec<PathBuf>,
    /// For waits in functions that match, by name or file:line, name the caller; may be repeated
    #[arg(long, value_name = "REGEX")]
    pub(super) skip: Vec<Regex>,
    /// Memory limit for all programs and their debug info, like 1G; by default 256M
    #[arg(long, value_name = "SIZE", value_parser = values::parse_size)]
    pub(super) max_module: Option<u64>,
}

impl SymbolArgs {
    pub(super) fn are_given(&self) -> bool {
        let is_elsewhere = self.symfs.is_some() || !self.debug_dir.is_empty();
        is_elsewhere || self.max_module.is_some() || !self.skip.is_empty()
    }

    pub(super) fn into_search_paths(self) -> SearchPaths {
        let search_paths = self
            .symfs
            .map_or_else(SearchPaths::recorded, SearchPaths::below);
        let directories = self.debug_dir.into_iter();
        let search_paths = directories.fold(search_paths, SearchPaths::with_debug_directory);
        match self.max_module {
            Some(bytes) => search_paths.with_max_bytes(bytes),
            None => search_paths,
        }
    }
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Import and export")]
pub(super) struct ExchangeArgs {
    /// Run of an imported file to read, counted from 1; by default the last
    #[arg(long, value_name = "N")]
    pub(super) run: Option<usize>,
    /// Write the trace for other tools
    #[arg(help_heading = VIEWS, long, value_name = "FORMAT", conflicts_with_all = ["ViewArgs", "flame", "folded", "timeline", "json"])]
    pub(super) export: Option<ExportFormat>,
    /// File to export to, instead of standard output; for parquet, csv-tables and ctf a folder, to which each
    /// export adds a trace
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
}

/// Formats of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum ExportFormat {
    /// Events with the six columns of coroTracer, a JSON object per line
    Jsonl,
    /// The same columns as comma-separated values, with a header line
    Csv,
    /// A track for each coroutine and thread, with wakes as arrows and stuck coroutines marked, for
    /// Perfetto, chrome://tracing and speedscope
    Chrome,
    /// The same tracks for Perfetto alone, stuck coroutines first, in a file that is far smaller
    Perfetto,
    /// Time spent waiting and running by await chain, for speedscope
    Speedscope,
    /// Waits and runs by await chain, with their number and time, for go tool pprof
    Pprof,
    /// Markers of coroutines and threads, for Firefox Profiler; kept in memory
    Firefox,
    /// A span for each coroutine and wait, as JSON lines of OpenTelemetry
    Otlp,
    /// Eight tables for SQL and data frames, as Parquet files in a folder of the dataset -o DIR
    Parquet,
    /// The same tables as an SQLite database -o FILE
    Sqlite,
    /// The same tables as comma-separated values in a folder of the dataset -o DIR
    CsvTables,
    /// Every event in the Common Trace Format 2, for babeltrace2, in a folder of the dataset -o DIR
    Ctf,
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

impl FlameArgs {
    /// The requested files. With `json`, JSON replaces folded stacks on standard output.
    pub(super) fn into_view(self, json: bool) -> Option<View> {
        let is_requested = self.flame.is_some() || self.folded.is_some();
        is_requested.then(|| {
            View::Flame(FlameView {
                svg: self.flame,
                folded: self
                    .folded
                    .filter(|path| !(json && output::is_stdout(path))),
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
            threshold,
            title,
        }))
    }
}

impl ExchangeArgs {
    /// The requested export.
    pub(super) fn into_view(self, threshold: Nanos) -> Option<View> {
        if let Some(tables) = tables::tables_view(&self, threshold) {
            return Some(View::Tables(tables));
        }
        if let Some(ctf) = tables::ctf_view(&self, threshold) {
            return Some(View::Ctf(ctf));
        }
        let output = self.output.filter(|path| !output::is_stdout(path));
        Some(match self.export? {
            ExportFormat::Jsonl => View::Export(ExportView {
                format: Format::Jsonl,
                output,
            }),
            ExportFormat::Csv => View::Export(ExportView {
                format: Format::Csv,
                output,
            }),
            ExportFormat::Chrome => tracks(TrackFormat::Chrome, threshold, output),
            ExportFormat::Perfetto => tracks(TrackFormat::Perfetto, threshold, output),
            ExportFormat::Firefox => tracks(TrackFormat::Firefox, threshold, output),
            ExportFormat::Otlp => tracks(TrackFormat::Otlp, threshold, output),
            ExportFormat::Speedscope => profile(ProfileFormat::Speedscope, output),
            ExportFormat::Pprof => profile(ProfileFormat::Pprof, output),
            ExportFormat::Parquet
            | ExportFormat::Sqlite
            | ExportFormat::CsvTables
            | ExportFormat::Ctf => return None,
        })
    }
}

fn tracks(format: TrackFormat, threshold: Nanos, output: Option<PathBuf>) -> View {
    View::Tracks(TracksView {
        format,
        threshold,
        output,
    })
}

fn profile(format: ProfileFormat, output: Option<PathBuf>) -> View {
    View::Profile(ProfileView { format, output })
}
