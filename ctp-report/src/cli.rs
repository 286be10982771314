//! Parses the command line into a [`Config`].

mod applicability;
mod check;
mod conflicts;
mod diff;
mod general;
mod options;
mod sort;
mod tables;
mod values;

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Arg, ArgAction, Command, CommandFactory as _, FromArgMatches as _, Parser};
use clap_complete::Shell;
use ctp_trace::escape::escaped_lines;

use crate::config::ignore::Ignore;
use crate::config::{Config, DEFAULT_INPUT, Detail, ManPages, View};
use crate::terminal;
use check::CheckArgs;
use general::GeneralArgs;
use options::exchange::ExchangeArgs;
use options::filter::FilterArgs;
use options::graphics::{FlameArgs, TimelineArgs};
use options::symbols::SymbolArgs;
use options::{SitesArgs, StuckArgs, TopArgs, ViewArgs};

const EXAMPLES: &str = "\
Examples:
  ctp-report                            where coroutines waited, from ./ctp.data
  ctp-report --allow self-wakes         the same without the self-wakes lint
  ctp-report --stuck                    what is stuck: at which line, on what, for how long
  ctp-report --stuck --fail             the same as a check: exit status 3 if anything is stuck,
                                        4 if the trace is too incomplete to say
  ctp-report --check 'stuck=0,lost=0'   a check of several rules for CI, explained below
  ctp-report --stuck --threshold 200ms  what has not moved for 200 ms
  ctp-report --stuck --ignore 'listen$' the same without waits in functions that match
  ctp-report --stacks                   every inspected task and thread, with its stack
  ctp-report --top                      a live table of a recording that goes on (h: keys)
  ctp-report --top -p 1234              the same of a running process, without a recording
  ctp-report --top --once -n 20         the first 20 rows of this table, for scripts
  ctp-report --why 12                   the chain of wakes that led coroutine 12 to its state
  ctp-report --tree                     which coroutine spawned which, how many live or are stuck
  ctp-report --last-words               after a crash: what ran, and what each coroutine did last
  ctp-report --histogram                how long waits and runs took, in powers of two
  ctp-report --flame flame.svg          waiting time as a flame graph
  ctp-report --timeline t.svg           what ran and waited when, with stuck coroutines in red
  ctp-report -i old.data --json         figures as JSON, for a program
  ctp-report old.data --stuck           what is stuck in another trace; - for standard input
  ctp-report diff a.ctp b.ctp           which waits changed between two recordings
  ctp-report --html report.html         all of that in one page for a browser
  ctp-report --markdown stuck.md        what is stuck, to be pasted into an issue
  ctp-report --export perfetto -o t.gz  a timeline for ui.perfetto.dev
  ctp-report --export pprof -o waits.pb waits and runs for go tool pprof
  ctp-report --export jsonl -o t.jsonl  the events for the tools of coroTracer
  ctp-report --export parquet -o traces tables for SQL; each trace adds a folder to the dataset";

const AFTER: &str = "\
Verdicts of --stuck on a coroutine that has not moved for the threshold:
  DEADLOCK certain: it is in a cycle of coroutines, each of which waits for a lock held by the
           next, or for its end
  STUCK    certain, for any of these reasons:
           - what it waits for was closed without waking it, at least 1 s ago, and at least twice
             as long ago as any other coroutine needed to resume after that
           - it was woken but has not run for twice its longest delay so far, while coroutines
             that became ready later did run
           - the coroutine that holds its lock ended without releasing it
           - all of its wakers were dropped, at least 1 s ago
           - it can continue only after a coroutine that is stuck
  STUCK?   likely, for any of these reasons:
           - the same as above, but a wake may be missing from the trace
           - it has waited 10 times as long as 99 % of the ended waits at its site (at least 8),
             and twice as long as the longest; with --summary, of the waits of its name
           - its timer is overdue
           - it is of a plain cTP v1 program, which does not record wakes
  BUSY     it runs without a suspend and blocks its thread; --fail does not count it
  WAITING  its wait is usual for its site, long by design, ignored, or there is nothing to compare
  UNKNOWN  lost events of this coroutine may have changed its state
Facts behind the verdicts:
  NOT_WOKEN, WOKEN_NOT_RUN: from the number of wakes; NO_WAKER: nothing is left to wake it;
  SUSPENDED: its runtime records no wakes

Above that, on every page, and not verdicts:
  CRASH    a fault ended the program: what ran on the thread that faulted; if the kernel does not
           report this thread (before Linux 6.6, in containers), everything that ran
  BROKEN   two events of a coroutine contradict each other: it was resumed on two threads at once,
           suspended twice, or acted after its death. Its figures are not reliable

Exit status: 0 success, 1 error, 2 wrong usage, 3 a check failed, 4 the check found no failure,
but the trace is incomplete: cut off, coroutines refused, processes not recorded, or records lost.
Rows of --json and --histogram --json are by the field `by`: `site`, or `name` for a trace with
totals. By name, file and line are those where a coroutine of this name was spawned.
A DURATION is a number and a unit (ns, us, ms, s, min, h), like 500us or 1.5s.";

/// Heading of the options that apply to every view.
const GENERAL: &str = "General options";

/// All options: first the views, then the options of single views, then those of every view.
#[derive(Debug, Parser)]
#[command(
    name = "ctp-report",
    version,
    about = "Reports what is stuck, where, for how long and on what, from a recorded trace",
    before_help = EXAMPLES,
    after_help = format!("{AFTER}\n\n{}", check::RULES),
    max_term_width = 100
)]
struct Cli {
    #[command(flatten)]
    view: ViewArgs,
    #[command(flatten)]
    flame: FlameArgs,
    #[command(flatten)]
    timeline: TimelineArgs,
    #[command(flatten)]
    exchange: ExchangeArgs,
    #[command(flatten)]
    sites: SitesArgs,
    #[command(flatten)]
    top: TopArgs,
    #[command(flatten)]
    stuck: StuckArgs,
    #[command(flatten)]
    check: CheckArgs,
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    symbols: SymbolArgs,
    /// Trace to read: from ctp-record, or coroTracer JSON lines (- for standard input)
    #[arg(help_heading = GENERAL, short, long, value_name = "FILE", default_value = DEFAULT_INPUT)]
    input: PathBuf,
    /// Trace to read, as with --input
    #[arg(help_heading = GENERAL, value_name = "FILE", conflicts_with = "input")]
    trace: Option<PathBuf>,
    #[command(flatten)]
    general: GeneralArgs,
    /// Print completions for bash, zsh, fish, elvish or powershell
    #[arg(
        help_heading = GENERAL,
        long,
        value_name = "SHELL",
        exclusive = true,
        hide_possible_values = true
    )]
    completions: Option<Shell>,
    /// Print the man page, or write all man pages to DIR
    #[arg(
        help_heading = GENERAL,
        long,
        value_name = "DIR",
        num_args = 0..=1,
        require_equals = true,
        exclusive = true
    )]
    man: Option<Option<PathBuf>>,
}

/// Why the command line leads to no [`Config`]: it asks for help, or is invalid. The text for the user has
/// already been printed.
#[derive(Debug)]
pub struct Usage(i32);

impl Usage {
    /// The status to exit with.
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(u8::try_from(self.0).unwrap_or(2))
    }
}

/// Parses the command line.
///
/// # Errors
/// If the user asked for help, or the command line is invalid. In both cases, the text for the user
/// is printed.
pub fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Config, Usage> {
    read(words).map_err(|error| {
        print(&error);
        Usage(error.exit_code())
    })
}

/// Prints help or an error. Errors quote arguments, which may contain any characters.
fn print(error: &clap::Error) {
    let plain = error.render().to_string();
    let safe = escaped_lines(&plain);
    // If standard error is closed, the message cannot be shown.
    let _ = if plain == safe {
        error.print()
    } else {
        writeln!(io::stderr(), "{}", safe.trim_end())
    };
}

/// The definition of the command line. Its own help and version flags replace those of clap, so that the
/// help lists the views first.
fn command() -> Command {
    Cli::command()
        .disable_help_flag(true)
        .disable_version_flag(true)
        .disable_help_subcommand(true)
        .args_conflicts_with_subcommands(true)
        .arg(flag("help", 'h', ArgAction::Help, HELP))
        .arg(flag(
            "version",
            'V',
            ArgAction::Version,
            "Print the version",
        ))
        .subcommand(diff::command().arg(flag("help", 'h', ArgAction::Help, HELP)))
}

const HELP: &str = "Print help: a summary with -h, everything with --help";

fn flag(id: &'static str, short: char, action: ArgAction, help: &'static str) -> Arg {
    let flag = Arg::new(id).long(id).short(short).action(action);
    flag.help(help).help_heading(GENERAL)
}

/// The error for options that exclude each other.
fn conflict(text: &str) -> clap::Error {
    command().error(ErrorKind::ArgumentConflict, text)
}

/// Parses the command line, and returns help as an error, as clap does.
fn read(words: impl IntoIterator<Item = OsString>) -> Result<Config, clap::Error> {
    let given = command().try_get_matches_from(words)?;
    if let Some((diff::NAME, given)) = given.subcommand() {
        return diff::config(given);
    }
    applicability::reject_ignored(&given)?;
    let cli = Cli::from_arg_matches(&given)?;
    Ok(cli.check()?.into_config())
}

impl Cli {
    fn into_config(mut self) -> Config {
        // Readers of an issue want to know which version recorded the trace.
        let is_issue = self.view.markdown.is_some() && !self.general.quiet;
        let general = self.general.clone();
        let detail = if is_issue {
            Detail::Verbose
        } else {
            general.detail()
        };
        let has_links = terminal::is_capable();
        let is_live = self.view.top && !self.top.once;
        // A check has no reader, and its exit status must not depend on a pager.
        let is_page = !self.stuck.fail
            && !self.check.is_given()
            && !is_live
            && self.man.is_none()
            && self.completions.is_none();
        let has_pager = is_page && !general.no_pager && terminal::is_capable();
        let skip = Ignore(std::mem::take(&mut self.symbols.skip));
        let (max_module, max_memory) = (self.symbols.max_module, general.max_memory);
        let search_paths = std::mem::take(&mut self.symbols).into_search_paths();
        let (input, run) = (self.trace.take(), self.exchange.run);
        let input = input.unwrap_or_else(|| self.input.clone());
        let filter = self.filter.clone();
        let view = self.into_view();
        Config {
            input,
            run,
            search_paths,
            skip,
            max_module,
            max_memory,
            filter: filter.into_filter(view.time_selects()),
            view,
            json: general.json,
            detail,
            color: general.color(),
            width: general.width(),
            has_links,
            has_pager,
        }
    }

    /// The requested view, or the table of sites.
    fn into_view(self) -> View {
        let threshold = self.stuck.threshold;
        let title = self.flame.title.clone();
        let completions = self.completions.map(completions).map(View::Fixed);
        let manual = self.man.map(|directory| match directory {
            Some(directory) => View::ManPages(ManPages {
                directory,
                pages: man_pages(),
            }),
            None => View::Fixed(man()),
        });
        let fixed = completions.or(manual);
        let top = self.view.top;
        let top = top.then(|| self.top.into_view(&self.stuck, &self.sites));
        fixed
            .or(top)
            .or_else(|| self.check.into_view(&self.stuck))
            .or_else(|| self.view.into_view(self.stuck, &self.flame))
            .or_else(|| self.exchange.into_view(threshold))
            .or_else(|| self.timeline.into_view(threshold, title))
            .or_else(|| self.flame.into_view(self.general.json))
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

/// The man pages of the program and its subcommands, each with its file name.
fn man_pages() -> Vec<(String, Vec<u8>)> {
    let mut program = command().disable_help_subcommand(true);
    program.build();
    let subcommands = program.get_subcommands().cloned();
    let commands = subcommands.chain([program.clone()]);
    commands
        .map(|command| {
            let manual = clap_mangen::Man::new(command);
            let mut page = Vec::new();
            // Writing to memory cannot fail.
            let _ = manual.render(&mut page);
            (manual.get_filename(), page)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::FlameView;

    #[test]
    fn command_line_is_consistent() {
        command().debug_assert();
    }

    fn view(words: &[&str]) -> View {
        let words = ["ctp-report"].iter().chain(words).map(OsString::from);
        parse(words).expect("good usage").view
    }

    #[test]
    fn options_select_the_view() {
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
    fn diff_is_a_subcommand() {
        let View::Diff(diff) = view(&["diff", "-q", "before", "after", "--min-change", "5"]) else {
            panic!()
        };
        let traces = [diff.before, diff.after].map(|path| path.display().to_string());
        assert_eq!(traces, ["before", "after"]);
        assert!((diff.least.share - 0.05).abs() < 1e-9);
        let words = ["ctp-report", "-i", "diff"].map(OsString::from);
        let config = parse(words).expect("good usage");
        assert_eq!(config.input, Path::new("diff"));
    }

    #[test]
    fn rules_of_several_options_are_joined() {
        let words = [
            "--check",
            "stuck=0,lost=0",
            "--deny",
            "lost-waker",
            "--check",
            "busy<1s",
        ];
        let View::Check(check) = view(&words) else {
            panic!()
        };
        assert_eq!((check.rules.len(), check.deny.len()), (3, 1));
    }

    #[test]
    fn default_threshold_equals_that_of_the_recorder() {
        let View::Stuck(stuck) = view(&["--stuck"]) else {
            panic!()
        };
        assert_eq!(stuck.threshold, ctp_trace::verdict::THRESHOLD);
    }
}
