//! The command line, and nothing but it.

mod heeding;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use anstream::ColorChoice;
use clap::error::ErrorKind;
use clap::{Args, Command, CommandFactory as _, FromArgMatches as _, Parser, ValueEnum};
use clap_complete::Shell;

use symbolize::Places;

use crate::config::ignore::{Ignore, Pattern};
use crate::config::{
    By, Config, DEFAULT_INPUT, Detail, ExportView, FlameView, Format, LastWordsView, SitesView,
    Sort, StuckView, TimelineView, TracksView, TreeView, View, WhyView,
};
use crate::figures::lints::Lint;
use crate::output;
use crate::units;

const EXAMPLES: &str = "\
Examples:
  ctp-report                            where the time went, from ./ctp.data
  ctp-report --allow self-wakes         the same without a word of these
  ctp-report --stuck                    what is stuck, at which line, on what, since when
  ctp-report --stuck --fail             the same as a gate: exit status 3 if anything is, 4 if
                                        that cannot be told
  ctp-report --stuck --threshold 200ms  what has not moved for 200 ms
  ctp-report --stuck --ignore 'listen$' the same without what waits in this function
  ctp-report --why 12                   what led coroutine 12 to where it is, wake by wake
  ctp-report --tree                     who spawned whom, how many live, how many are stuck
  ctp-report --last-words               after a crash: who ran, and what each did last
  ctp-report --histogram                how long waits and runs took, in powers of two
  ctp-report --flame flame.svg          waiting time as a flame graph
  ctp-report --timeline t.svg           who ran and waited when, the stuck ones in red
  ctp-report -i old.data --json         figures for a program
  ctp-report old.data --stuck           what is stuck in another trace; - for standard input
  ctp-report --export chrome -o t.json  who ran and waited when, for ui.perfetto.dev
  ctp-report --export jsonl -o t.jsonl  the events for coroTracer's tools";

const AFTER: &str = "\
What --stuck says of a coroutine that has not moved for the threshold, and the facts behind it:
  DEADLOCK certain: it waits for a lock, or the end, of one that waits, and so on, for this one
  STUCK    certain: what it waits for was closed without waking it, a second ago or more, and
           twice as long as any other was resumed after that; or it was woken and never run for
           twice as long as ever before, though others were that were ready only later; or its lock
           was not given back by one that has ended; or it goes on only after one that is stuck
  STUCK?   likely: the same, but a wake may be hidden; or it waits at least 10 times what 99 % of
           the waits at its site took (8 or more must have ended) and twice the longest; or its
           timer is overdue; or it is of a plain cTP v1 program, which tells nothing of wakes. Of
           a --summary not the site's waits are known but all those of the coroutine's name
  BUSY     it runs without a suspend, and its thread runs nobody else; no failure for --fail
  WAITING  as usual at its site, or meant to be long, or ignored, or nothing to compare with
  UNKNOWN  events of it are lost that may have changed everything
  NOT_WOKEN, WOKEN_NOT_RUN: by the count of wakes; SUSPENDED: its runtime does not tell of wakes

Above that, on every page, and no verdicts:
  CRASH    a fault ended the program: who ran on the thread that it came from; if the kernel did
           not tell which thread that was (before Linux 6.6, in containers), everybody who ran
  BROKEN   two events of a coroutine contradict each other: it was resumed on two threads at once,
           suspended twice, or did something after its death. Its figures mean little

Exit status: 0 fine, 1 error, 2 wrong usage, 3 a check failed, 4 nothing is known to fail it, but
the trace is not whole, coroutines were refused, processes not recorded, or records that would
tell are missing.
Durations are a number and a unit: 500us, 200ms, 2s, 1.5s, 3min.";

/// What was typed.
#[derive(Debug, Parser)]
#[command(
    name = "ctp-report",
    version,
    about = "Says what is stuck, where, since when and on what, from a recorded trace",
    before_help = EXAMPLES,
    after_help = AFTER,
    max_term_width = 100
)]
struct Cli {
    /// Trace to read: of ctp-record, or JSON lines of coroTracer (- for standard input)
    #[arg(short, long, value_name = "FILE", default_value = DEFAULT_INPUT)]
    input: PathBuf,
    /// Trace to read, as with --input
    #[arg(value_name = "FILE", conflicts_with = "input")]
    trace: Option<PathBuf>,
    #[command(flatten)]
    view: ViewArgs,
    #[command(flatten)]
    sites: SitesArgs,
    #[command(flatten)]
    stuck: StuckArgs,
    #[command(flatten)]
    flame: FlameArgs,
    #[command(flatten)]
    timeline: TimelineArgs,
    #[command(flatten)]
    places: PlacesArgs,
    #[command(flatten)]
    exchange: ExchangeArgs,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
    /// No header lines, no hints
    #[arg(short, long, conflicts_with = "verbose")]
    quiet: bool,
    /// Say more
    #[arg(short, long)]
    verbose: bool,
    /// Colour severity (auto: on a terminal, unless NO_COLOR is set)
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    color: When,
}

#[derive(Debug, Args)]
#[group(multiple = false)]
struct ViewArgs {
    /// List what is stuck
    #[arg(long)]
    stuck: bool,
    /// List what everybody did last who lived at the end, those that crashed first
    #[arg(long)]
    last_words: bool,
    /// Show who spawned whom, as a tree: coroutines of one name and place in one row
    #[arg(long)]
    tree: bool,
    /// Tell what led this coroutine to where it is: who woke it, and who woke that one
    #[arg(long, value_name = "ID")]
    why: Option<u32>,
    /// Draw how long waits and runs took, by site; of a --summary by name
    #[arg(long)]
    histogram: bool,
    /// Print every record
    #[arg(short = 'D', long)]
    dump: bool,
    /// Print a completion script
    #[arg(long, value_name = "SHELL", exclusive = true)]
    completions: Option<Shell>,
    /// Print the manual page
    #[arg(long, exclusive = true)]
    man: bool,
}

#[derive(Debug, Args)]
struct SitesArgs {
    /// Column to sort sites by
    #[arg(short, long, value_name = "KEY", default_value = "share")]
    sort: Sort,
    /// Leave out sites with less than this share of the waiting time
    #[arg(long, value_name = "PERCENT", default_value = "0", value_parser = units::parse_percent)]
    percent_limit: f64,
    /// Say nothing of this sort of what is seldom meant; may be repeated
    #[arg(short = 'A', long, value_name = "LINT", value_delimiter = ',')]
    allow: Vec<Lint>,
}

#[derive(Debug, Args)]
struct StuckArgs {
    /// How long nothing must have happened
    #[arg(long, value_name = "DURATION", default_value = "1s",
        value_parser = units::parse_duration)]
    threshold: ctp_trace::record::Nanos,
    /// Exit with status 3 if anything is stuck, and 4 if the trace lacks what would tell
    #[arg(long)]
    fail: bool,
    /// Do not call stuck what waits here: a pattern of a function, or of file:line; may be repeated
    #[arg(long, value_name = "REGEX")]
    ignore: Vec<Pattern>,
    /// List all ids, not a few of each group
    #[arg(long)]
    ids: bool,
}

#[derive(Debug, Args)]
struct FlameArgs {
    /// Write a flame graph (- for standard output)
    #[arg(long, value_name = "FILE", conflicts_with = "ViewArgs")]
    flame: Option<PathBuf>,
    /// Write the folded stacks that a flame graph is made of (- for standard output)
    #[arg(long, value_name = "FILE", conflicts_with = "ViewArgs")]
    folded: Option<PathBuf>,
    /// What the width of a flame means
    #[arg(long, value_name = "WHAT", default_value = "wait")]
    by: By,
    /// Headline of the picture
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
}

#[derive(Debug, Args)]
struct TimelineArgs {
    /// Write a timeline (- for standard output): one row a coroutine, or a sample of many
    #[arg(long, value_name = "FILE", conflicts_with_all = ["ViewArgs", "flame", "folded", "json"])]
    timeline: Option<PathBuf>,
    /// Show only this time, like 1s,5s or 500ms,
    #[arg(long, value_name = "FROM,TO", value_parser = units::parse_window)]
    time: Option<(ctp_trace::record::Nanos, Option<ctp_trace::record::Nanos>)>,
}

/// What shows records as they are, for which no name is looked up.
const NAMELESS: [&str; 1] = ["dump"];

#[derive(Debug, Default, Args)]
struct PlacesArgs {
    /// Look for programs, sources and debug info below this directory, by path or by name
    #[arg(long, value_name = "DIR", conflicts_with_all = NAMELESS)]
    symfs: Option<PathBuf>,
    /// Look for separate debug info here too, as in /usr/lib/debug; may be repeated
    #[arg(long, value_name = "DIR", conflicts_with_all = NAMELESS)]
    debug_dir: Vec<PathBuf>,
}

impl PlacesArgs {
    fn into_places(self) -> Places {
        let places = self.symfs.map_or_else(Places::recorded, Places::below);
        let directories = self.debug_dir.into_iter();
        directories.fold(places, Places::with_debug_directory)
    }
}

#[derive(Debug, Args)]
struct ExchangeArgs {
    /// Which run of an imported file to read, from 1; the last unless told
    #[arg(long, value_name = "N")]
    run: Option<usize>,
    /// Write the trace for other tools
    #[arg(long, value_name = "FORMAT", conflicts_with_all = ["ViewArgs", "flame", "folded", "timeline", "json"])]
    export: Option<Target>,
    /// Where to export to, if not to standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Whom an export is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Target {
    /// Events with the six columns of coroTracer, one JSON object a line
    Jsonl,
    /// The same as comma-separated values under a line of names
    Csv,
    /// Trace events: a track for each coroutine and thread, wakes as arrows, what is stuck marked; for
    /// Perfetto, chrome://tracing, speedscope
    Chrome,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum When {
    Auto,
    Always,
    Never,
}

/// A command line that asked for help, or made no sense. The user has been told.
#[derive(Debug)]
pub struct Usage(i32);

impl Usage {
    /// What to end with.
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(u8::try_from(self.0).unwrap_or(2))
    }
}

/// What the words mean.
///
/// # Errors
/// If the user asked for help, which is printed, or got it wrong, which is explained.
pub fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Config, Usage> {
    read(words)
        .and_then(Cli::check)
        .map(Cli::into_config)
        .map_err(|error| {
            // Nobody is left to tell if this fails too.
            let _ = error.print();
            Usage(error.exit_code())
        })
}

fn command() -> Command {
    Cli::command()
}

fn read(words: impl IntoIterator<Item = OsString>) -> Result<Cli, clap::Error> {
    let given = command().try_get_matches_from(words)?;
    heeding::check(&given)?;
    Cli::from_arg_matches(&given)
}

impl Cli {
    fn check(self) -> Result<Self, clap::Error> {
        self.check_stdout()?;
        self.check_rows()?;
        Ok(self)
    }

    /// Rows are of all events, as they are, and have no names.
    fn check_rows(&self) -> Result<(), clap::Error> {
        let is_rows = matches!(self.exchange.export, Some(Target::Jsonl | Target::Csv));
        let has_places = self.places.symfs.is_some() || !self.places.debug_dir.is_empty();
        let said = match (self.timeline.time, has_places) {
            (Some(_), _) => "--time is for --timeline and --export chrome alone",
            (_, true) => "--symfs and --debug-dir are for names, of which jsonl and csv have none",
            _ => return Ok(()),
        };
        match is_rows {
            true => Err(command().error(ErrorKind::ArgumentConflict, said)),
            false => Ok(()),
        }
    }

    /// Two things on standard output could not be told apart.
    fn check_stdout(&self) -> Result<(), clap::Error> {
        let picture = self.flame.flame.as_deref().is_some_and(output::is_stdout);
        let stacks = self.flame.folded.as_deref().is_some_and(output::is_stdout);
        if picture && (stacks || self.json) {
            return Err(command().error(
                ErrorKind::ArgumentConflict,
                "--flame - leaves no room for other things on standard output: name a file",
            ));
        }
        Ok(())
    }

    fn into_config(mut self) -> Config {
        let detail = match (self.quiet, self.verbose) {
            (true, _) => Detail::Quiet,
            (_, true) => Detail::Verbose,
            _ => Detail::Usual,
        };
        let color = match self.color {
            When::Auto => ColorChoice::Auto,
            When::Always => ColorChoice::Always,
            When::Never => ColorChoice::Never,
        };
        let json = self.json;
        let places = std::mem::take(&mut self.places).into_places();
        Config {
            input: self.trace.take().unwrap_or_else(|| self.input.clone()),
            run: self.exchange.run,
            places,
            view: self.into_view(),
            json,
            detail,
            color,
        }
    }

    fn into_view(self) -> View {
        let Cli {
            view,
            sites,
            stuck,
            flame,
            timeline,
            exchange,
            json,
            ..
        } = self;
        if let Some(shell) = view.completions {
            View::Fixed(completions(shell))
        } else if view.man {
            View::Fixed(man())
        } else if view.dump {
            View::Dump
        } else if view.histogram {
            View::Histogram
        } else if let Some(id) = view.why {
            let threshold = stuck.threshold;
            View::Why(WhyView { id, threshold })
        } else if view.tree {
            let (threshold, all_ids) = (stuck.threshold, stuck.ids);
            View::Tree(TreeView { threshold, all_ids })
        } else if view.stuck {
            stuck.into_view()
        } else if let Some(target) = exchange.export {
            let output = exchange.output.filter(|path| !output::is_stdout(path));
            let rows = |format, output| View::Export(ExportView { format, output });
            match target {
                Target::Jsonl => rows(Format::Jsonl, output),
                Target::Csv => rows(Format::Csv, output),
                Target::Chrome => View::Tracks(TracksView {
                    time: timeline.time.unwrap_or_default(),
                    threshold: stuck.threshold,
                    output,
                }),
            }
        } else if view.last_words {
            let all_ids = stuck.ids;
            View::LastWords(LastWordsView { all_ids })
        } else if let Some(svg) = timeline.timeline {
            View::Timeline(TimelineView {
                svg,
                time: timeline.time.unwrap_or_default(),
                threshold: stuck.threshold,
                title: flame.title,
            })
        } else if flame.flame.is_some() || flame.folded.is_some() {
            flame.into_view(json)
        } else {
            sites.into_view()
        }
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
    fn into_view(self, json: bool) -> View {
        let is_text = |path: &PathBuf| !(json && output::is_stdout(path));
        View::Flame(FlameView {
            svg: self.flame,
            folded: self.folded.filter(is_text),
            by: self.by,
            title: self.title,
        })
    }
}

impl SitesArgs {
    fn into_view(self) -> View {
        View::Sites(SitesView {
            sort: self.sort,
            percent_limit: self.percent_limit,
            allow: self.allow,
        })
    }
}

fn completions(shell: Shell) -> Vec<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command(), "ctp-report", &mut script);
    script
}

fn man() -> Vec<u8> {
    let mut page = Vec::new();
    // Writing to memory cannot fail.
    let _ = clap_mangen::Man::new(command()).render(&mut page);
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        command().debug_assert();
    }

    fn view(words: &[&str]) -> View {
        let words = ["ctp-report"].iter().chain(words).map(OsString::from);
        parse(words).expect("good usage").view
    }

    #[test]
    fn words_become_a_view() {
        assert!(matches!(view(&[]), View::Sites(_)));
        assert!(matches!(
            view(&["--folded", "-"]),
            View::Flame(FlameView { svg: None, .. })
        ));
        let View::Stuck(stuck) = view(&["--stuck", "--threshold", "200ms"]) else {
            panic!()
        };
        assert_eq!((stuck.threshold.0, stuck.fail), (200_000_000, false));
    }

    #[test]
    fn what_nobody_says_is_what_the_recorder_takes() {
        let View::Stuck(stuck) = view(&["--stuck"]) else {
            panic!()
        };
        assert_eq!(stuck.threshold, ctp_trace::verdict::THRESHOLD);
    }
}
