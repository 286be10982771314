//! The configuration of a run, as parsed from the command line.

pub mod filter;
mod folders;
pub mod ignore;
mod output_files;
pub mod rules;

use std::path::PathBuf;

use anstream::ColorChoice;
use ctp_trace::record::Nanos;
use symbolize::SearchPaths;

use crate::config::filter::{Filter, TimeSelects};
use crate::config::ignore::Ignore;
use crate::config::rules::Rule;
use crate::text::Width;

pub use folders::{CtfView, TableFormat, TablesView};

/// The trace that is read by default.
pub const DEFAULT_INPUT: &str = "ctp.data";

/// What to read and what to show.
#[derive(Clone, Debug)]
pub struct Config {
    /// The trace to read.
    pub input: PathBuf,
    /// Run of an imported file, counted from 1. `None` is the last.
    pub run: Option<usize>,
    /// Where to look for programs, sources and debug info.
    pub search_paths: SearchPaths,
    /// Functions that do not count as code of the user.
    pub skip: Ignore,
    /// Memory limit in bytes for all programs and their debug info together. `None` is the default
    /// limit, or what remains of the report's memory if that is less.
    pub max_module: Option<u64>,
    /// Memory limit in bytes for the report. `None` derives the limit from the size of the trace.
    pub max_memory: Option<u64>,
    /// What to show.
    pub view: View,
    /// Which coroutines, tasks and time to show and to check.
    pub filter: Filter,
    /// Whether to print JSON instead of text.
    pub json: bool,
    /// How much to print in addition to the view.
    pub detail: Detail,
    /// Whether to colour verdicts.
    pub color: ColorChoice,
    /// The width of the page.
    pub width: Width,
    /// Whether places of the source are links, which many terminals can open.
    pub has_links: bool,
    /// Whether the output goes through a pager.
    pub has_pager: bool,
}

impl Config {
    /// Whether to leave out header lines, hints and the names of written files.
    pub fn is_quiet(&self) -> bool {
        self.detail == Detail::Quiet
    }
}

/// What to show.
#[derive(Clone, Debug)]
pub enum View {
    /// A table of sites.
    Sites(SitesView),
    /// Stuck coroutines.
    Stuck(StuckView),
    /// The stacks of all tasks and threads of inspected processes.
    Stacks(StacksView),
    /// Files with a flame graph or folded stacks.
    Flame(FlameView),
    /// A picture of when each coroutine ran and waited.
    Timeline(TimelineView),
    /// All of a trace in one page for a browser.
    Html(HtmlView),
    /// A table of the coroutines of a recording that goes on.
    Top(TopView),
    /// The last action of each coroutine that was alive at the end.
    LastWords {
        /// Whether to list all coroutines instead of groups.
        all_ids: bool,
    },
    /// Which coroutine spawned which.
    Tree {
        /// Coroutines that have not moved for at least this long are judged.
        threshold: Nanos,
        /// Whether to list all ids instead of a few.
        all_ids: bool,
    },
    /// The chains of wakes that led coroutines to their states.
    Why(WhyView),
    /// Whether the trace keeps to rules.
    Check(CheckView),
    /// Which waits changed between two recordings.
    Diff(DiffView),
    /// How long waits and runs took.
    Histogram,
    /// Every record.
    Dump,
    /// The events for other tools.
    Export(ExportView),
    /// The trace for other viewers.
    Tracks(TracksView),
    /// Stacks of waits and runs for viewers of profiles.
    Profile(ProfileView),
    /// The trace as tables.
    Tables(TablesView),
    /// The trace in the Common Trace Format.
    Ctf(CtfView),
    /// Completions or the man page, which need no trace.
    Fixed(Vec<u8>),
    /// All man pages.
    ManPages(ManPages),
}

impl View {
    /// Whether the output consists of bytes that are no text.
    pub fn is_binary(&self) -> bool {
        match self {
            View::Tracks(view) => view.format == TrackFormat::Perfetto,
            View::Profile(view) => view.format == ProfileFormat::Pprof,
            _ => false,
        }
    }

    /// What `--time` selects in this view.
    pub fn time_selects(&self) -> TimeSelects {
        match self {
            View::Stuck(_)
            | View::Stacks(_)
            | View::Html(_)
            | View::LastWords { .. }
            | View::Tree { .. }
            | View::Why(_)
            | View::Top(_) => TimeSelects::Starts,
            View::Check(_) | View::Diff(_) => TimeSelects::Ends,
            View::Sites(_)
            | View::Flame(_)
            | View::Timeline(_)
            | View::Histogram
            | View::Dump
            | View::Export(_)
            | View::Tracks(_)
            | View::Profile(_)
            | View::Tables(_)
            | View::Ctf(_)
            | View::Fixed(_)
            | View::ManPages(_) => TimeSelects::Parts,
        }
    }
}

/// The man pages of the program and its subcommands.
#[derive(Clone, Debug)]
pub struct ManPages {
    /// Where the pages are written.
    pub directory: PathBuf,
    /// The pages with their file names.
    pub pages: Vec<(String, Vec<u8>)>,
}

/// Order and filters of the table of sites.
#[derive(Clone, Debug)]
pub struct SitesView {
    /// The columns to sort by, the most important first.
    pub sort: Vec<Sort>,
    /// The columns to show, in this order. Empty shows the usual columns.
    pub fields: Vec<SiteField>,
    /// How many rows to show. The others are summed up. `None` shows all.
    pub limit: Option<usize>,
    /// Hides sites with a smaller share, in percent.
    pub percent_limit: f64,
    /// Names of lints to hide.
    pub allow: Vec<String>,
}

/// What the live table shows, and of which process.
#[derive(Clone, Debug)]
pub struct TopView {
    /// Whether to print the table once, instead of showing it on the terminal.
    pub once: bool,
    /// The process to inspect. `None` follows the trace.
    pub pid: Option<u32>,
    /// The time between two refreshes, over which rates are computed.
    pub interval: Nanos,
    /// Coroutines that have not moved for at least this long are judged.
    pub threshold: Nanos,
    /// Places that are never reported as stuck.
    pub ignore: Ignore,
    /// The column to sort by.
    pub sort: TopSort,
    /// Whether the coroutines of a place are one row.
    pub is_grouped: bool,
    /// How many rows `once` prints. `None` prints all.
    pub limit: Option<usize>,
}

/// Columns that the live table can be sorted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum TopSort {
    /// The worst verdict, then the longest time in a state.
    #[default]
    Verdict,
    /// Time in the present state.
    Wait,
    /// Runs per second.
    Polls,
    /// Wakes per second.
    Wakes,
    /// Share of the time spent running.
    Run,
    /// Coroutines of a place.
    Count,
    /// Id.
    Id,
    /// Name of the coroutine.
    Name,
    /// Name of the function.
    Function,
}

/// What to judge and list as stuck.
#[derive(Clone, Debug)]
pub struct StuckView {
    /// Coroutines that have not moved for at least this long are judged.
    pub threshold: Nanos,
    /// Whether stuck coroutines fail the check.
    pub fail: bool,
    /// Whether to list all ids instead of a few.
    pub all_ids: bool,
    /// Places that are never reported as stuck.
    pub ignore: Ignore,
    /// The Markdown file to write; `-` is standard output. `None` writes a page or JSON.
    pub markdown: Option<PathBuf>,
}

/// The rules to check, and the file for the results.
#[derive(Clone, Debug)]
pub struct CheckView {
    /// The rules, in the order of the command line.
    pub rules: Vec<Rule>,
    /// Names of lints that may find nothing.
    pub deny: Vec<String>,
    /// Coroutines that have not moved for at least this long are judged.
    pub threshold: Nanos,
    /// Places that are never reported as stuck.
    pub ignore: Ignore,
    /// The JUnit file to write; `-` is standard output, instead of a page.
    pub junit: Option<PathBuf>,
}

/// The traces to compare.
#[derive(Clone, Debug)]
pub struct DiffView {
    /// The trace to compare with.
    pub before: PathBuf,
    /// The trace to compare.
    pub after: PathBuf,
    /// Which changes are large enough to count.
    pub least: LeastChange,
    /// File of a flame graph; `-` is standard output, instead of a page.
    pub flame: Option<PathBuf>,
}

/// How large a change must be to count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LeastChange {
    /// As a share of the smaller value: 0.1 is 10 %.
    pub share: f64,
    /// As a time.
    pub time: Nanos,
}

/// Output file and content of the HTML page.
#[derive(Clone, Debug)]
pub struct HtmlView {
    /// The file; `-` is standard output.
    pub html: PathBuf,
    /// What to judge and list as stuck.
    pub stuck: StuckView,
    /// The title, if not the default.
    pub title: Option<String>,
}

/// Which coroutines to explain.
#[derive(Clone, Debug)]
pub struct WhyView {
    /// Id of the coroutine, as other views print it. `None` explains those that the filter admits.
    pub id: Option<u32>,
    /// Coroutines that have not moved for at least this long are judged.
    pub threshold: Nanos,
    /// Whether to explain all of many coroutines instead of the first.
    pub all_ids: bool,
}

/// Which stacks to show, and where.
#[derive(Clone, Debug)]
pub struct StacksView {
    /// The id of the only task, or of the only thread, to show. `None` shows all.
    pub id: Option<u32>,
    /// File of a flame graph; `-` is standard output. `None` writes text.
    pub svg: Option<PathBuf>,
    /// How long a timer must be overdue before the task is judged.
    pub threshold: Nanos,
    /// Whether to list all ids instead of a few.
    pub all_ids: bool,
    /// The title of the flame graph, if not the default.
    pub title: Option<String>,
}

/// Output files and content of the flame graph.
#[derive(Clone, Debug)]
pub struct FlameView {
    /// File of the flame graph; `-` is standard output.
    pub svg: Option<PathBuf>,
    /// File of the folded stacks; `-` is standard output.
    pub folded: Option<PathBuf>,
    /// What the widths mean.
    pub by: FlameWidth,
    /// The title, if not the default.
    pub title: Option<String>,
}

/// Output file and content of the timeline.
#[derive(Clone, Debug)]
pub struct TimelineView {
    /// File of the picture; `-` is standard output.
    pub svg: PathBuf,
    /// Coroutines that have not moved for at least this long are judged.
    pub threshold: Nanos,
    /// The title, if not the default.
    pub title: Option<String>,
}

/// Output file and format of exported events.
#[derive(Clone, Debug)]
pub struct ExportView {
    /// The format.
    pub format: Format,
    /// The output file; `None` is standard output.
    pub output: Option<PathBuf>,
}

/// Output file and content of exported tracks.
#[derive(Clone, Debug)]
pub struct TracksView {
    /// The format.
    pub format: TrackFormat,
    /// Coroutines that have not moved for at least this long are judged.
    pub threshold: Nanos,
    /// The output file; `None` is standard output.
    pub output: Option<PathBuf>,
}

/// Output file and format of an exported profile.
#[derive(Clone, Debug)]
pub struct ProfileView {
    /// The format.
    pub format: ProfileFormat,
    /// The output file; `None` is standard output.
    pub output: Option<PathBuf>,
}

/// Formats of profiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProfileFormat {
    /// JSON for speedscope.
    Speedscope,
    /// Protocol buffers for pprof.
    Pprof,
}

/// Formats of tracks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrackFormat {
    /// JSON for `chrome://tracing`.
    Chrome,
    /// Markers for Firefox Profiler, as JSON.
    Firefox,
    /// Protocol buffers for Perfetto.
    Perfetto,
    /// Spans of OpenTelemetry, as lines of JSON.
    Otlp,
}

/// Formats for the tools of coroTracer, with its six columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A JSON object per line.
    Jsonl,
    /// Comma-separated values with a header line.
    Csv,
}

/// How much to print in addition to the view.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    /// No header lines, no hints.
    Quiet,
    /// Header lines, notes and hints.
    #[default]
    Usual,
    /// More header lines and notes.
    Verbose,
}

/// Columns that the table of sites can be sorted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Sort {
    /// Share of all waiting time.
    #[default]
    Share,
    /// Coroutines that waited there.
    Coroutines,
    /// Waits.
    Count,
    /// Mean wait.
    Mean,
    /// The length that 99 % of the ended waits did not exceed.
    P99,
    /// Longest wait.
    Max,
    /// Time spent running after resuming there.
    Run,
    /// File and line.
    Site,
    /// Name of the function.
    Function,
}

/// Columns of the table of sites.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum SiteField {
    /// Share of all waiting time.
    Share,
    /// Coroutines that waited there.
    Coroutines,
    /// Waits.
    Waits,
    /// Waits that have not ended.
    Open,
    /// Mean wait.
    Mean,
    /// The length that half of the ended waits did not exceed.
    P50,
    /// The length that 99 % of the ended waits did not exceed.
    P99,
    /// Longest wait.
    Max,
    /// Standard deviation of the ended waits.
    Stddev,
    /// Time spent waiting.
    Waited,
    /// Time spent running after resuming there.
    Run,
    /// What is waited for.
    Resource,
    /// Name that the program gave.
    Name,
    /// Function.
    Function,
    /// File and line.
    Site,
}

/// What the widths in a flame graph mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum FlameWidth {
    /// Time spent waiting.
    #[default]
    Wait,
    /// Time spent running.
    Run,
}
