//! What the user types, and what it means.

use std::ffi::OsString;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::error::ErrorKind;
use clap::{CommandFactory as _, Parser, Subcommand};
use clap_complete::Shell;
use ctp_nostd::layout::{LaneRecord, MOST_STATIONS};

use crate::control::ask::Ask;
use crate::control::wire::Errand;
use crate::control::{Filter, Verb};
use crate::flight::{BadReach, Reach, Trigger};
use crate::{capacity, duration, size};

const EXAMPLES: &str = "\
Examples:
  ctp-record -- ./app --port 8080        record, write ctp.data, then: ctp-report --stuck
  ctp-record -o night.ctp -- ./app       write somewhere else
  ctp-record -n 200000 -- ./app          room for 200 000 coroutines
  ctp-record --summary -- ./app          totals instead of history, for days
  ctp-record --flight-recorder=30s -- ./app      the last 30 s, written when it ends
  ctp-record --stuck-after 2s -- ./app   say at once where coroutines are stuck
  ctp-record --inherit-fd -- sudo ./app  hand the memory over by descriptor, not by path
  ctp-record --check-probe -- ./app      does its probe keep to the protocol?
  ctp-record control 1234 snapshot       what a flight recorder has now, while it goes on
  ctp-record control 1234 stop           keep no events of process 1234 for now; then start
  ctp-record --image ram.bin --elf fw.elf   read a memory dump instead of running a program

The program links a probe (ctp-nostd, or any that speaks cTP v1) and attaches by itself. It keeps
its terminal, its signals and its exit status, and is never stopped.";

const AFTER: &str = "\
Exit status: that of the program (128+n if signal n ended it), 126 or 127 if it cannot be
executed, 1 for an error of the recorder, 2 for wrong usage. With --check-probe: 0, or 3 if a
rule is broken.
Ctrl-C goes to the program; recording goes on until it ends. A second one ends the wait.
Meanwhile `ctp-report --stuck`, in another terminal, tells what is stuck by then.
128 threads of a process have a buffer at a time, or up to 1024 if it is of 1M or less; up to 4096
more have a short one, of 64K at most, as far as all of those need no more room than the others.
A program that locks its memory (mlockall) locks that room too: give it --buffer 64K -n 1000, say.
With --no-bell a thread still calls gettid at its first event, and has no buffer of one that ended
without saying so.
A flight recorder writes nothing while the program runs. It has of each thread what --buffer holds,
and goes back no further than DURATION; SIZE is another word for --buffer.
Of the rest there are exact totals. Snapshots while the program goes on are FILE.1, FILE.2 and so
on; a signal for one (USR1, USR2, ALRM, VTALRM, PROF, IO) is sent to ctp-record.
What is stuck is told of each place once, and again when it has doubled; so is what is BUSY, with
the thread it keeps. A snapshot since stuck:2s is taken once a place, and 16 times at most, and none
of what is BUSY. What may still change is said to be LIKELY.
A DURATION is a number and a unit (ns, us, ms, s, min, h), like 500us or 1.5s.
While stdout goes elsewhere, a line on the terminal says how it goes; -q leaves it out.";

/// Runs a program and records what its coroutines do, from outside.
#[derive(Parser, Debug)]
#[command(
    name = "ctp-record",
    version = concat!(env!("CARGO_PKG_VERSION"), " (cTP v1, trace format 1)"),
    before_help = EXAMPLES,
    after_help = AFTER,
    disable_help_subcommand = true,
    args_conflicts_with_subcommands = true
)]
pub struct Args {
    #[command(subcommand)]
    subcommand: Option<Sub>,

    /// The trace; an earlier one is kept as FILE.old
    #[arg(short, long, value_name = "FILE", default_value = "ctp.data")]
    output: PathBuf,

    /// Room for so many coroutines; costs nothing unused
    #[arg(short = 'n', long, value_name = "N", default_value_t = 65_536,
          value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_STATIONS)))]
    stations: u32,

    /// A thread's history, up to 256M; 0: only 8 events a coroutine [default: 16M, or what fits]
    #[arg(long, value_name = "SIZE", value_parser = size::buffer)]
    buffer: Option<u64>,

    /// Room for what waits to be written [default: 1/8 of memory, up to 512M]
    #[arg(long, value_name = "SIZE", value_parser = size::backlog)]
    backlog: Option<u64>,

    /// Keep totals and the latest events, not history: the trace stays small
    #[arg(long, conflicts_with_all = ["buffer", "check_probe", "image"])]
    summary: bool,

    /// Keep what came last and totals of the rest; write it when it is wanted
    #[arg(long, value_name = "DURATION|SIZE", num_args = 0..=1, require_equals = true,
          default_missing_value = "all", value_parser = reach,
          conflicts_with_all = ["summary", "check_probe", "image"])]
    flight_recorder: Option<Reach>,

    /// When: exit, exit:nonzero, signal:NAME, stuck:DURATION [default: exit]
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        requires = "flight_recorder"
    )]
    snapshot_on: Vec<Trigger>,

    /// Say at once where coroutines are stuck, or keep a thread, for so long
    #[arg(long, value_name = "DURATION", value_parser = duration::parse,
          conflicts_with_all = ["check_probe", "image"])]
    stuck_after: Option<Duration>,

    /// Go on until every process that came from the program has ended
    #[arg(long)]
    wait_all: bool,

    /// Never make the program ring: for one that filters its system calls
    #[arg(long)]
    no_bell: bool,

    /// Find who awaits whom in each wait; costs the program clones of wakers
    #[arg(long, conflicts_with_all = ["no_bell", "image"])]
    precise_chains: bool,

    /// Hand the memory over by descriptor (to another user or a container)
    #[arg(long)]
    inherit_fd: bool,

    /// Judge the program's probe by the rules of cTP instead of recording it
    #[arg(long, conflicts_with_all = ["output", "image"])]
    check_probe: bool,

    /// Read a dump of a program's memory instead of running a program
    #[arg(long, value_name = "FILE", conflicts_with = "command")]
    image: Option<PathBuf>,

    /// The program that the dump was taken from, for names
    #[arg(
        long,
        value_name = "ELF",
        requires = "image",
        conflicts_with = "command"
    )]
    elf: Option<PathBuf>,

    /// Say nothing but errors
    #[arg(short, long)]
    quiet: bool,

    /// Say more: processes, counters, how often the recorder was woken
    #[arg(short, long, conflicts_with = "quiet")]
    verbose: bool,

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

    /// The program and its arguments
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "PROGRAM"
    )]
    command: Vec<OsString>,
}

#[derive(Subcommand, Debug)]
enum Sub {
    Control(ControlArgs),
}

const CONTROL_AFTER: &str = "\
PID is a process that is recorded: it alone is meant. Or it is the recorder: all that it records
are meant, also those still to come. Only their user may do so.

EXPR says which events are kept; all others are counted as filtered, which is not lost:
  kind=run,suspend   events of these kinds. Births and deaths are always kept
  tid=N              runs and suspends on the thread with this id, as in the trace
  pid=N              events of this one of several processes
  none               all events: the filter is taken away
Several are joined by spaces, and an event must meet all of them. A filter replaces the one before.

A snapshot is answered once its file is there. Only recordings with --flight-recorder take any.

Stop and filter answer once they are in force: no event is later in the trace that they keep out.
What coroutines wait for meanwhile is not known, and no verdict is built on what came before.
Plain v1 peers, and other probes without lanes that do not look for it, know no control and are
recorded on: a stop fails where events of such a process come all the same. Whether it filters is not
looked at.

Exit status: 0, 1 for an error, 2 for wrong usage.";

/// Stops, resumes or filters a recording, takes a snapshot of it, or tells how it stands
#[derive(clap::Args, Debug)]
#[command(after_help = CONTROL_AFTER, disable_help_subcommand = true)]
struct ControlArgs {
    /// A process that is recorded, or its recorder
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pid: u32,

    #[command(subcommand)]
    verb: VerbArgs,

    /// Print the figures as JSON
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Subcommand, Clone, Debug)]
enum VerbArgs {
    /// Keep no events
    Stop,
    /// Keep events again, as the filter in force says
    Start,
    /// Keep only events that meet EXPR
    Filter {
        /// kind=run,suspend  tid=N  pid=N, of which an event must meet all that are given; or none
        #[arg(required = true)]
        expr: Vec<String>,
    },
    /// Tell how the recording stands
    Status,
    /// Write what a flight recorder has, while the program goes on
    Snapshot {
        /// To this file; else beside the trace, as FILE.1, FILE.2 and so on
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// None of these.
    #[command(external_subcommand)]
    Unknown(Vec<OsString>),
}

/// What to record, and how.
#[derive(Clone, Debug)]
pub struct Config {
    /// What to do.
    pub task: Task,
    /// Where the trace goes.
    pub output: PathBuf,
    /// Bytes that may wait in memory to be written; nothing: what this machine can spare.
    pub backlog_bytes: Option<u64>,
    /// How much to say on stderr.
    pub talk: Talk,
}

/// Where the events come from.
#[derive(Clone, Debug)]
pub enum Task {
    /// Run a program.
    Launch(Launch),
    /// Run a program and judge its probe.
    CheckProbe(Launch),
    /// Read a dump.
    Image(Image),
    /// Ask a recorder.
    Control(Ask),
    /// Print a completion script.
    Completions(Shell),
    /// Print the man page.
    Man,
}

/// A program to run.
#[derive(Clone, Debug)]
pub struct Launch {
    /// Program and arguments; not empty.
    pub command: Vec<OsString>,
    /// Coroutines that can be recorded.
    pub stations: u32,
    /// Records that each thread has room for, a power of two; 0: no lanes.
    pub lane_records: u32,
    /// Record what programs sum up instead of history.
    pub summary: bool,
    /// Keep only what came last.
    pub flight: Option<Flight>,
    /// Say where coroutines are stuck for so long, while the program runs.
    pub stuck_after: Option<Duration>,
    /// Leave the memory's descriptor open in the program.
    pub inherit_fd: bool,
    /// Never make the program ring.
    pub no_bell: bool,
    /// Have the program find the await chain of each wait.
    pub precise_chains: bool,
    /// Wait for all processes that come from the program.
    pub wait_all: bool,
}

/// What a flight recorder keeps, and when it writes that.
#[derive(Clone, Debug)]
pub struct Flight {
    /// How far back a snapshot goes.
    pub reach: Reach,
    /// When one is taken, besides commands.
    pub triggers: Vec<Trigger>,
}

/// A dump to read.
#[derive(Clone, Debug)]
pub struct Image {
    /// Bytes of the program's memory.
    pub dump: PathBuf,
    /// Its executable.
    pub elf: Option<PathBuf>,
}

/// How much to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Talk {
    /// Errors.
    Quiet,
    /// The closing lines.
    Normal,
    /// More.
    Verbose,
}

const NO_STDOUT: &str = "\
-o - is no place for a trace: stdout is the program's; for a file of that name: -o ./-";

impl Args {
    /// What it means.
    ///
    /// # Errors
    /// Usage: there is nothing to record.
    pub fn into_config(self) -> Result<Config, clap::Error> {
        let talk = match (self.quiet, self.verbose) {
            (true, _) => Talk::Quiet,
            (_, true) => Talk::Verbose,
            _ => Talk::Normal,
        };
        let output = self.output.clone();
        if output == Path::new("-") {
            return Err(Args::command().error(ErrorKind::ValueValidation, NO_STDOUT));
        }
        let backlog_bytes = self.backlog;
        let task = self.task()?;
        Ok(Config {
            task,
            output,
            backlog_bytes,
            talk,
        })
    }

    fn task(self) -> Result<Task, clap::Error> {
        if let Some(Sub::Control(control)) = self.subcommand {
            return control.ask().map(Task::Control);
        }
        if let Some(shell) = self.completions {
            return Ok(Task::Completions(shell));
        }
        if self.man {
            return Ok(Task::Man);
        }
        if let Some(dump) = self.image {
            let elf = self.elf;
            return Ok(Task::Image(Image { dump, elf }));
        }
        if self.command.is_empty() {
            return Err(Args::command().error(
                ErrorKind::MissingRequiredArgument,
                "no program to record; try: ctp-record -- ./app",
            ));
        }
        let flight = self.flight()?;
        let usual = || capacity::buffer(capacity::memory_bytes());
        let buffer = self.buffer.unwrap_or_else(usual);
        let launch = Launch {
            command: self.command,
            stations: self.stations,
            lane_records: match self.summary {
                true => 0,
                false => lane_records(flight.as_ref().map_or(buffer, |it| it.room(buffer))),
            },
            summary: self.summary,
            flight,
            stuck_after: self.stuck_after,
            inherit_fd: self.inherit_fd,
            wait_all: self.wait_all,
            no_bell: self.no_bell,
            precise_chains: self.precise_chains,
        };
        Ok(match self.check_probe {
            true => Task::CheckProbe(launch),
            false => Task::Launch(launch),
        })
    }
}

impl Args {
    fn flight(&self) -> Result<Option<Flight>, clap::Error> {
        let Some(reach) = self.flight_recorder else {
            return Ok(None);
        };
        let refused = |why: &str| Err(Args::command().error(ErrorKind::ArgumentConflict, why));
        match (reach, self.buffer) {
            (_, Some(0)) => {
                refused("a flight recorder keeps what threads write: --buffer 0 leaves no room")
            }
            (Reach::Bytes(_), Some(_)) => {
                refused("--flight-recorder=SIZE and --buffer say the same: leave out one of them")
            }
            _ => {
                let triggers = match self.snapshot_on.is_empty() {
                    true => vec![Trigger::Exit],
                    false => self.snapshot_on.clone(),
                };
                Ok(Some(Flight { reach, triggers }))
            }
        }
    }
}

impl Flight {
    /// Bytes of a thread's room.
    fn room(&self, buffer: u64) -> u64 {
        match self.reach {
            Reach::Bytes(bytes) => bytes,
            Reach::All | Reach::Length(_) => buffer,
        }
    }
}

/// As much as there is, if nothing is said.
fn reach(text: &str) -> Result<Reach, BadReach> {
    match text {
        "all" => Ok(Reach::All),
        text => text.parse(),
    }
}

impl ControlArgs {
    fn ask(self) -> Result<Ask, clap::Error> {
        let errand = match self.verb {
            VerbArgs::Stop => Errand::Verb(Verb::Stop),
            VerbArgs::Start => Errand::Verb(Verb::Start),
            VerbArgs::Status => Errand::Verb(Verb::Status),
            VerbArgs::Unknown(words) => return Err(no_verb(&words)),
            VerbArgs::Filter { expr } => Errand::Verb(Verb::Filter(filter(&expr)?)),
            VerbArgs::Snapshot { output } => {
                Errand::Snapshot(output.as_deref().map(from_here).transpose()?)
            }
        };
        let (pid, json) = (self.pid, self.json);
        Ok(Ask { pid, errand, json })
    }
}

/// Wrong usage of `ctp-record control`.
fn wrong_control(kind: ErrorKind, why: impl Display) -> clap::Error {
    let mut command = Args::command();
    command.build();
    let control = command.find_subcommand_mut("control");
    control.expect("there is one").error(kind, why)
}

fn no_verb(words: &[OsString]) -> clap::Error {
    let verbs = VerbArgs::augment_subcommands(clap::Command::default());
    let verbs: Vec<&str> = verbs.get_subcommands().map(|it| it.get_name()).collect();
    let word = words.first().map(|it| it.to_string_lossy());
    let word = word.unwrap_or_default();
    let why = format!("no verb '{word}'; there are: {}", verbs.join(", "));
    wrong_control(ErrorKind::InvalidSubcommand, why)
}

/// The recorder may be somewhere else, and is told the name in a line of text.
fn from_here(path: &Path) -> Result<PathBuf, clap::Error> {
    let refused = |why: &str| wrong_control(ErrorKind::ValueValidation, why);
    let path = std::path::absolute(path).map_err(|error| refused(&error.to_string()))?;
    let is_line = |text: &str| !text.contains('\n') && text.len() < LONGEST_PATH;
    match path.to_str().is_some_and(is_line) {
        true => Ok(path),
        false => Err(refused(
            "the name of a snapshot is one line of UTF-8, and not very long",
        )),
    }
}

/// As long as the kernel takes.
const LONGEST_PATH: usize = 4096;

fn filter(words: &[String]) -> Result<Filter, clap::Error> {
    let filter = words.join(" ").parse();
    filter.map_err(|bad| wrong_control(ErrorKind::ValueValidation, bad))
}

/// At least so many bytes of records, or none.
fn lane_records(bytes: u64) -> u32 {
    match bytes {
        0 => 0,
        bytes => (bytes as u32 / size_of::<LaneRecord>() as u32)
            .max(2)
            .next_power_of_two(),
    }
}
