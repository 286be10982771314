//! What the user asked for.

pub mod ignore;

use std::path::PathBuf;

use anstream::ColorChoice;
use ctp_trace::record::Nanos;
use symbolize::Places;

use crate::config::ignore::Ignore;

/// The trace that is read unless another one is named.
pub const DEFAULT_INPUT: &str = "ctp.data";

/// What to do, free of how it was typed.
#[derive(Clone, Debug)]
pub struct Config {
    /// The trace.
    pub input: PathBuf,
    /// Which run of an imported file, from 1; the last unless told.
    pub run: Option<usize>,
    /// Where programs, sources and debug info lie.
    pub places: Places,
    /// The most memory in bytes that all programs and their debug info may take together, unless that
    /// is left to what remains of the other limit.
    pub most_module: Option<u64>,
    /// The most memory in bytes that the report may take, unless that is left to the trace's size.
    pub most_memory: Option<u64>,
    /// What to show of it.
    pub view: View,
    /// As JSON instead of text.
    pub json: bool,
    /// How much is said around it.
    pub detail: Detail,
    /// Whether severity is coloured.
    pub color: ColorChoice,
}

impl Config {
    /// Whether header lines, hints and what was written are left out.
    pub fn is_quiet(&self) -> bool {
        self.detail == Detail::Quiet
    }
}

/// What to show.
#[derive(Clone, Debug)]
pub enum View {
    /// A table of sites.
    Sites(SitesView),
    /// What is stuck.
    Stuck(StuckView),
    /// Files with folded stacks.
    Flame(FlameView),
    /// A picture of who did what, when.
    Timeline(TimelineView),
    /// What everybody did last who lived at the end.
    LastWords {
        /// Whether all of them are told of one by one.
        all_ids: bool,
    },
    /// Who spawned whom.
    Tree {
        /// How long something must last to be worth a word.
        threshold: Nanos,
        /// Whether all ids are listed.
        all_ids: bool,
    },
    /// What led one coroutine to where it is.
    Why {
        /// Its number, as other views print it.
        id: u32,
        /// How long something must last to be worth a word.
        threshold: Nanos,
    },
    /// How long waits and runs took.
    Histogram,
    /// Every record.
    Dump,
    /// The events for other tools.
    Export(ExportView),
    /// The trace for viewers of others.
    Tracks(TracksView),
    /// Text that needs no trace: completions or a manual page.
    Fixed(Vec<u8>),
}

/// How the table of sites is arranged.
#[derive(Clone, Debug)]
pub struct SitesView {
    /// What comes first.
    pub sort: Sort,
    /// Sites with a smaller share than this, in percent, are left out.
    pub percent_limit: f64,
    /// Names of lints that are left out.
    pub allow: Vec<String>,
}

/// How to look for what is stuck.
#[derive(Clone, Debug)]
pub struct StuckView {
    /// How long something must last to be worth a word.
    pub threshold: Nanos,
    /// Whether something stuck fails a check.
    pub fail: bool,
    /// Whether all ids are listed.
    pub all_ids: bool,
    /// What is not to be called stuck.
    pub ignore: Ignore,
}

/// Which stacks go where.
#[derive(Clone, Debug)]
pub struct FlameView {
    /// The flame graph's file; `-` is standard output.
    pub svg: Option<PathBuf>,
    /// The folded stacks' file; `-` is standard output.
    pub folded: Option<PathBuf>,
    /// What the width means.
    pub by: By,
    /// Headline, if not the usual one.
    pub title: Option<String>,
}

/// Which timeline goes where.
#[derive(Clone, Debug)]
pub struct TimelineView {
    /// The picture's file; `-` is standard output.
    pub svg: PathBuf,
    /// From when; to when, if not to the end.
    pub time: (Nanos, Option<Nanos>),
    /// How long something must last to be worth a word.
    pub threshold: Nanos,
    /// Headline, if not the usual one.
    pub title: Option<String>,
}

/// Which events go where.
#[derive(Clone, Debug)]
pub struct ExportView {
    /// How they are written.
    pub format: Format,
    /// Where to, if not to standard output.
    pub output: Option<PathBuf>,
}

/// Which tracks go where.
#[derive(Clone, Debug)]
pub struct TracksView {
    /// From when; to when, if not to the end.
    pub time: (Nanos, Option<Nanos>),
    /// How long something must last to be worth a word.
    pub threshold: Nanos,
    /// Where to, if not to standard output.
    pub output: Option<PathBuf>,
}

/// Forms in which events leave for coroTracer's tools, with its six columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// One JSON object a line.
    Jsonl,
    /// Comma-separated values under a line of names.
    Csv,
}

/// How much is said around the figures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    /// No header lines, no hints.
    Quiet,
    /// Header lines, notes and hints.
    #[default]
    Usual,
    /// More of the same.
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
    /// Longest wait.
    Max,
    /// Time spent running from there on.
    Run,
    /// File and line.
    Site,
    /// Name of the function.
    Function,
}

/// What a flame graph's widths mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum By {
    /// Time spent waiting.
    #[default]
    Wait,
    /// Time spent running.
    Run,
}
