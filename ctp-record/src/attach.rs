//! Records programs that run already: those with a probe attach when they notice a request.
//!
//! ```text
//!   found in the program's data ──> request written ──> the probe attaches at its next event
//!   (proc/attach_request.rs)        (ctp_nostd::attach_request)       as a launched program would
//! ```
//! The processes are also inspected, like every process that `-p` names.

mod programs;

use rustix::process::{Signal, set_parent_process_death_signal};

use crate::cli::config::{Config, Inspect, Launch, Verbosity};
use crate::cli::stderr;
use crate::error::Error;
use crate::inspection::subject::described;
use crate::inspection::{self, closing};
use crate::proc::command_line;
use crate::session::recording;
pub use programs::FoundPrograms;

/// Inspects the processes. Records those that have a probe until the user, or the time limit of `-d`, ends the
/// recording.
///
/// # Errors
/// A process cannot be read, or the trace cannot be written.
pub fn record(config: &Config, inspect: &Inspect, launch: &Launch) -> Result<u8, Error> {
    if inspect.ends_with_parent {
        set_parent_process_death_signal(Some(Signal::INT))
            .map_err(|error| Error::Wait(error.into()))?;
    }
    let programs = if inspect.attaches {
        FoundPrograms::find(config, &inspect.pids)
    } else {
        FoundPrograms::default()
    };
    if programs.is_empty() {
        return inspection::record(config, inspect);
    }
    let launch = Launch {
        command: command_line::of(inspect.pids[0]),
        ..launch.clone()
    };
    if config.verbosity > Verbosity::Quiet {
        let names = inspect.pids.iter().map(|pid| described(*pid));
        let names: Vec<String> = names.collect();
        stderr::say(&closing::opening(&names, inspect, true));
    }
    recording::record_running(config, &launch, inspect, programs)
}
