//! The options of `ctp-record control`.

use std::ffi::OsString;
use std::fmt::Display;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use clap::Subcommand;
use clap::error::ErrorKind;

use ctp_trace::escape::escaped_bytes;

use super::usage;
use crate::control::client::ControlCommand;
use crate::control::wire::{ControlRequest, Question};
use crate::control::{Filter, Verb};

const CONTROL_AFTER: &str = "\
PID of a recorded process: stop, start and filter affect that process only. PID of the recorder:
they affect all processes it records, including later processes. The PID of the launched program
acts like that of the recorder if that process is not recorded itself. Only the same user may do
this, or root with the same ctp-record.

EXPR selects the events to keep. All others are counted as filtered, not as lost:
  kind=run,suspend   events of these kinds. Births and deaths are always kept
  tid=N              runs and suspends on the thread with this id, as in the trace
  pid=N              events of the process with this id
  none               all events: removes the filter
Conditions are joined by spaces, and an event must meet all of them. A new filter replaces the old.

A snapshot is answered when its file is complete, within 10 minutes; other commands within 10 s.
Only recordings with --flight-recorder take snapshots.

Without that option, stacks are read anyway: once in each wait of more than a second, when
--stuck-after reports something, and at an end that the program outlives.

Stop and filter answer when they are in force: the trace has no later event that they drop. What
coroutines wait for meanwhile is unknown, and no verdict is based on what came before.
Programs with a v1 probe, or with another probe that does not support control, are recorded
regardless. A stop fails if events of such a process keep coming. Whether a process obeys a filter
is not checked.

Exit status: 0, 1 for an error, 2 for wrong usage.";

/// Stops, resumes or filters a recording, takes snapshots, reads stacks, prints the status
#[derive(clap::Args, Debug)]
#[command(after_help = CONTROL_AFTER, disable_help_subcommand = true)]
pub struct ControlArgs {
    /// A recorded process, or its recorder
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
    /// Keep events again, according to the current filter
    Start,
    /// Keep only events that meet EXPR
    Filter {
        /// Conditions that an event must meet: kind=run,suspend  tid=N  pid=N; or none
        #[arg(required = true)]
        expr: Vec<String>,
    },
    /// Print the status of the recording
    Status,
    /// Write what a flight recorder has kept, while the program goes on
    Snapshot {
        /// Write to this file [default: beside the trace, as FILE.1, FILE.2 and so on]
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Read the call stacks of coroutines that wait on stacks of their own
    Stacks,
    /// An unknown command.
    #[command(external_subcommand)]
    Unknown(Vec<OsString>),
}

impl ControlArgs {
    /// Converts the options to a request.
    ///
    /// # Errors
    /// Wrong usage.
    pub fn command(self) -> Result<ControlCommand, clap::Error> {
        let request = match self.verb {
            VerbArgs::Stop => ControlRequest::Verb(Verb::Stop),
            VerbArgs::Start => ControlRequest::Verb(Verb::Start),
            VerbArgs::Status => ControlRequest::Verb(Verb::Status),
            VerbArgs::Stacks => ControlRequest::Stacks,
            VerbArgs::Unknown(words) => return Err(no_verb(&words)),
            VerbArgs::Filter { expr } => ControlRequest::Verb(Verb::Filter(filter(&expr)?)),
            VerbArgs::Snapshot { output } => {
                ControlRequest::Snapshot(output.as_deref().map(from_here).transpose()?)
            }
        };
        let (question, json) = (
            Question {
                pid: self.pid,
                request,
            },
            self.json,
        );
        Ok(ControlCommand { question, json })
    }
}

/// An error of wrong usage of `ctp-record control`.
fn wrong_control(kind: ErrorKind, why: impl Display) -> clap::Error {
    let mut command = usage::command();
    command.build();
    let control = command.find_subcommand_mut("control");
    control.expect("the subcommand").error(kind, why)
}

fn no_verb(words: &[OsString]) -> clap::Error {
    let verbs = VerbArgs::augment_subcommands(clap::Command::default());
    let verbs: Vec<&str> = verbs
        .get_subcommands()
        .map(|command| command.get_name())
        .collect();
    let word = words.first().map_or(&[][..], |word| word.as_bytes());
    let word = escaped_bytes(word);
    let why = format!("no verb '{word}'; there are: {}", verbs.join(", "));
    wrong_control(ErrorKind::InvalidSubcommand, why)
}

/// Makes the path absolute, because the recorder may have another working directory. Fails if the path does not fit
/// into a line of text, in which the recorder receives it.
fn from_here(path: &Path) -> Result<PathBuf, clap::Error> {
    let path = std::path::absolute(path)
        .map_err(|error| wrong_control(ErrorKind::ValueValidation, error.to_string()))?;
    let text = path.to_str().filter(|text| !text.contains('\n'));
    if text.is_some_and(|text| text.len() < MAX_PATH_BYTES) {
        Ok(path)
    } else {
        Err(wrong_control(
            ErrorKind::ValueValidation,
            "the path of a snapshot must be a line of UTF-8 of fewer than 4096 bytes",
        ))
    }
}

/// The kernel's limit for a path (`PATH_MAX`), in bytes including the final zero.
const MAX_PATH_BYTES: usize = 4096;

fn filter(words: &[String]) -> Result<Filter, clap::Error> {
    let filter = words.join(" ").parse();
    filter.map_err(|bad| wrong_control(ErrorKind::ValueValidation, bad))
}
