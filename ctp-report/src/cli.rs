//! The command line, and nothing but it.

mod applicability;
mod options;
mod values;

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anstream::ColorChoice;
use clap::error::ErrorKind;
use clap::{Command, CommandFactory as _, FromArgMatches as _, Parser};
use clap_complete::Shell;
use ctp_trace::escape::escaped_lines;

use crate::config::{Config, DEFAULT_INPUT, Detail, View};
use crate::output;
use options::{
    ExchangeArgs, FlameArgs, PlacesArgs, SitesArgs, StuckArgs, Target, TimelineArgs, ViewArgs,
};

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
Rows of --json and --histogram --json are of what `by` says: site, or where there are totals name,
that of the coroutines; their file and line are then where one of that name was spawned.
A DURATION is a number and a unit (ns, us, ms, s, min, h), like 500us or 1.5s.";

/// What was typed: the options for all views, and a part for each heading of the help.
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
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
    /// No header lines, no hints
    #[arg(short, long, conflicts_with = "verbose")]
    quiet: bool,
    /// Say more
    #[arg(short, long)]
    verbose: bool,
    /// When to use colour (auto: on a terminal, unless NO_COLOR is set)
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    color: clap::ColorChoice,
    /// Most memory to use, like 2G; usually 256 MiB and twice what the trace takes
    #[arg(long, value_name = "SIZE", value_parser = values::parse_size)]
    max_memory: Option<u64>,
    /// Print completions for bash, zsh, fish, elvish or powershell
    #[arg(
        long,
        value_name = "SHELL",
        exclusive = true,
        hide_possible_values = true
    )]
    completions: Option<Shell>,
    /// Print the man page
    #[arg(long, exclusive = true)]
    man: bool,
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
            print(&error);
            Usage(error.exit_code())
        })
}

/// Prints help, or what is wrong with the words. These may be anything, and are repeated.
fn print(error: &clap::Error) {
    let plain = error.render().to_string();
    let safe = escaped_lines(&plain);
    // Without a standard error there is no place to say it.
    let _ = if plain == safe {
        error.print()
    } else {
        writeln!(io::stderr(), "{}", safe.trim_end())
    };
}

fn command() -> Command {
    Cli::command()
}

/// What was typed does not go together.
fn conflict(text: &str) -> clap::Error {
    command().error(ErrorKind::ArgumentConflict, text)
}

fn read(words: impl IntoIterator<Item = OsString>) -> Result<Cli, clap::Error> {
    let given = command().try_get_matches_from(words)?;
    applicability::check(&given)?;
    Cli::from_arg_matches(&given)
}

impl Cli {
    fn check(self) -> Result<Self, clap::Error> {
        self.check_trace()?;
        self.check_stdout()?;
        self.check_rows()?;
        Ok(self)
    }

    /// `ctp-report stuck` means `--stuck`, unless there is a file of that name.
    fn check_trace(&self) -> Result<(), clap::Error> {
        let Some(word) = self.trace.as_deref().filter(|path| !path.exists()) else {
            return Ok(());
        };
        let is_option = |argument: &clap::Arg| argument.get_long().map(Path::new) == Some(word);
        if command().get_arguments().any(is_option) {
            let word = word.display();
            let message = format!("no file {word} here; did you mean --{word}?");
            return Err(command().error(ErrorKind::InvalidValue, message));
        }
        Ok(())
    }

    /// Rows are of all events, as they are, and have no names.
    fn check_rows(&self) -> Result<(), clap::Error> {
        let is_rows = matches!(self.exchange.export, Some(Target::Jsonl | Target::Csv));
        let text = match (self.timeline.time, self.places.are_given()) {
            (Some(_), _) => "--time is for --timeline and --export chrome alone",
            (_, true) => {
                "--symfs, --debug-dir and --max-module are for names, of which jsonl and csv have none"
            }
            _ => return Ok(()),
        };
        if is_rows { Err(conflict(text)) } else { Ok(()) }
    }

    /// Two things on standard output could not be told apart.
    fn check_stdout(&self) -> Result<(), clap::Error> {
        let chart = self.flame.flame.as_deref().is_some_and(output::is_stdout);
        let stacks = self.flame.folded.as_deref().is_some_and(output::is_stdout);
        if chart && (stacks || self.json) {
            return Err(conflict(
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
            clap::ColorChoice::Auto => ColorChoice::Auto,
            clap::ColorChoice::Always => ColorChoice::Always,
            clap::ColorChoice::Never => ColorChoice::Never,
        };
        let json = self.json;
        let (most_module, most_memory) = (self.places.max_module, self.max_memory);
        let places = std::mem::take(&mut self.places).into_places();
        Config {
            input: self.trace.take().unwrap_or_else(|| self.input.clone()),
            run: self.exchange.run,
            places,
            most_module,
            most_memory,
            view: self.into_view(),
            json,
            detail,
            color,
        }
    }

    /// The first of these that is asked for; nobody has to ask for the table of sites.
    fn into_view(self) -> View {
        let threshold = self.stuck.threshold;
        let time = self.timeline.time.unwrap_or_default();
        let title = self.flame.title.clone();
        let fixed = self.completions.map(completions);
        let fixed = fixed.or_else(|| self.man.then(man));
        let view = fixed.map(View::Fixed);
        view.or_else(|| self.view.into_view(self.stuck))
            .or_else(|| self.exchange.into_view(time, threshold))
            .or_else(|| self.timeline.into_view(threshold, title))
            .or_else(|| self.flame.into_view(self.json))
            .unwrap_or_else(|| self.sites.into_view())
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
    use crate::config::FlameView;

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
