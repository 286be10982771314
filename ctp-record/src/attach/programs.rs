//! The running programs with a probe, and the outcome of the requests to attach.

use std::io;

use ctp_nostd::attach_request::path_bytes;
use rustix::io::Errno;

use crate::cli::config::{Config, Verbosity};
use crate::cli::stderr;
use crate::inspection::subject::described;
use crate::launch::Prepared;
use crate::proc::attach_request::{AttachOutcome, RequestPlaces};
use crate::proc::maps;

/// The running programs with a probe that have not tried to attach before.
#[derive(Debug, Default)]
pub struct FoundPrograms(Vec<FoundProgram>);

#[derive(Debug)]
struct FoundProgram {
    /// The id and name of the process, safe to print.
    described: String,
    places: RequestPlaces,
}

impl FoundPrograms {
    /// Finds the processes that have a probe. Prints which of them have tried to attach before, and leaves these out.
    pub fn find(config: &Config, pids: &[u32]) -> Self {
        let mut found = FoundPrograms::default();
        for pid in pids {
            // A process that cannot be read is reported when it is inspected.
            let Ok(places) = RequestPlaces::find(*pid) else {
                continue;
            };
            if !places.exist() {
                continue;
            }
            let described = described(*pid);
            if has_tried(*pid, &places) {
                if config.verbosity > Verbosity::Quiet {
                    stderr::say(&format!(
                        "ctp-record: {described} has tried to attach before, which is possible once; inspecting only\n"
                    ));
                }
                continue;
            }
            found.0.push(FoundProgram { described, places });
        }
        found
    }

    /// Whether there is nothing to record.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Requests all programs to attach. A program that has ended meanwhile is noticed later.
    ///
    /// # Errors
    /// The path of the socket is too long.
    pub fn request(&self, prepared: &Prepared<'_>) -> io::Result<()> {
        let memory = prepared.memory.path();
        let socket = prepared.rendezvous.path();
        let paths = path_bytes(memory.as_bytes(), socket.as_os_str().as_encoded_bytes());
        let paths = paths.ok_or(Errno::NAMETOOLONG)?;
        for program in &self.0 {
            // Fails only if the process has ended.
            let _ = program.places.request(&paths);
        }
        Ok(())
    }

    /// Takes back the requests that no program has noticed.
    pub fn withdraw(&self) {
        let programs = self.0.iter();
        let unnoticed =
            programs.filter(|program| program.places.outcome() == AttachOutcome::Pending);
        unnoticed.for_each(|program| program.places.withdraw());
    }

    /// Why programs were not recorded, for the closing lines.
    pub fn missing(&self) -> Vec<String> {
        self.0.iter().filter_map(FoundProgram::missing).collect()
    }
}

impl FoundProgram {
    fn missing(&self) -> Option<String> {
        let reason = match self.places.outcome() {
            AttachOutcome::Pending => "none of its coroutines was born or ran meanwhile",
            AttachOutcome::Failed => {
                "it could not open the recorder's memory (another user, or a container?)"
            }
            AttachOutcome::Attached | AttachOutcome::Ended => return None,
        };
        Some(format!("{} was not recorded: {reason}", self.described))
    }
}

/// Whether the process has tried to attach to a recorder before, or was requested to.
fn has_tried(pid: u32, places: &RequestPlaces) -> bool {
    let is_taken = places.are_taken().unwrap_or(true);
    is_taken || maps::text_of(pid).is_ok_and(|text| maps::has_any_memory(&text))
}
