//! What users type after `ctp-record control`.

use std::ffi::OsString;
use std::fmt::Display;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use clap::Subcommand;
use clap::error::ErrorKind;

use ctp_trace::escape::escaped_bytes;

use super::usage;
use crate::control::ask::Ask;
use crate::control::wire::{Question, Request};
use crate::control::{Filter, Verb};

const CONTROL_AFTER: &str = "\
PID of a recorded process: stop, start and filter affect that process only. PID of the recorder:
they affect all processes it records, also later ones. So does the PID of the program it started, if
that is not recorded itself. Only the same user may do this, or root with the same ctp-record.

EXPR says which events are kept; all others are counted as filtered, which is not lost:
  kind=run,suspend   events of these kinds. Births and deaths are always kept
  tid=N              runs and suspends on the thread with this id, as in the trace
  pid=N              events of this one of several processes
  none               all events: the filter is taken away
Several are joined by spaces, and an event must meet all of them. A filter replaces the one before.

A snapshot is answered once its file is there, within 10 minutes; all else within 10 s. Only
recordings with --flight-recorder take any.

Stop and filter answer once they are in force: no event is later in the trace that they keep out.
What coroutines wait for meanwhile is not known, and no verdict is built on what came before.
Plain v1 peers, and other probes without lanes that do not look for it, know no control and are
recorded on: a stop fails where events of such a process come all the same. Whether it filters is
not looked at.

Exit status: 0, 1 for an error, 2 for wrong usage.";

/// Stops, resumes or filters a recording, takes a snapshot of it, or tells how it stands
#[derive(clap::Args, Debug)]
#[command(after_help = CONTROL_AFTER, disable_help_subcommand = true)]
pub struct ControlArgs {
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

impl ControlArgs {
    /// What it means.
    ///
    /// # Errors
    /// Usage.
    pub fn ask(self) -> Result<Ask, clap::Error> {
        let request = match self.verb {
            VerbArgs::Stop => Request::Verb(Verb::Stop),
            VerbArgs::Start => Request::Verb(Verb::Start),
            VerbArgs::Status => Request::Verb(Verb::Status),
            VerbArgs::Unknown(words) => return Err(no_verb(&words)),
            VerbArgs::Filter { expr } => Request::Verb(Verb::Filter(filter(&expr)?)),
            VerbArgs::Snapshot { output } => {
                Request::Snapshot(output.as_deref().map(from_here).transpose()?)
            }
        };
        let (question, json) = (
            Question {
                pid: self.pid,
                request,
            },
            self.json,
        );
        Ok(Ask { question, json })
    }
}

/// Wrong usage of `ctp-record control`.
fn wrong_control(kind: ErrorKind, why: impl Display) -> clap::Error {
    let mut command = usage::command();
    command.build();
    let control = command.find_subcommand_mut("control");
    control.expect("there is one").error(kind, why)
}

fn no_verb(words: &[OsString]) -> clap::Error {
    let verbs = VerbArgs::augment_subcommands(clap::Command::default());
    let verbs: Vec<&str> = verbs
        .get_subcommands()
        .map(|get_subcommand| get_subcommand.get_name())
        .collect();
    let word = words.first().map_or(&[][..], |word| word.as_bytes());
    let word = escaped_bytes(word);
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
