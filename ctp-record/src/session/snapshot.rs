//! Snapshots of a flight recorder, during the recording and at its end.

use std::path::PathBuf;

use ctp_trace::record::{ExitReason, Start};

use super::Session;
use crate::cli::config::Verbosity;
use crate::cli::stderr;
use crate::control::control_server::Reply;
use crate::error::TraceError;
use crate::flight::{FlightHistory, SnapshotInput, WrittenSnapshot};
use crate::memory::memory_set::MemorySet;
use crate::monitor::status::StatusLine;
use crate::output::store::Store;
use crate::proc::process;
use crate::proc::processes::Processes;

/// Gathers the input of a snapshot.
type Take = fn(&Start, &mut MemorySet, &mut Processes, &mut FlightHistory) -> SnapshotInput;

impl Session<'_> {
    /// Takes the snapshot that a signal requested, unless one is being written.
    pub(super) fn take_requested(&mut self) {
        if self
            .output
            .flight()
            .is_some_and(|recorder| recorder.take_request())
        {
            self.snapshot(None, None);
        }
    }

    /// Takes a snapshot for `ctp-record control`, which waits for the answer.
    pub(super) fn snapshot_for(&mut self, reply: Reply, path: Option<PathBuf>) {
        let refusal = match self.output.flight() {
            None => {
                "only a flight recorder takes snapshots: start it with ctp-record --flight-recorder"
            }
            Some(recorder) if recorder.is_writing() => {
                "another snapshot is being written; try again"
            }
            Some(_) => return self.snapshot(path, Some(reply)),
        };
        reply.answer(&Err(refusal.to_owned()));
    }

    fn snapshot(&mut self, path: Option<PathBuf>, reply: Option<Reply>) {
        let Some(gathered) = self.gather() else {
            return;
        };
        let Some(recorder) = self.output.flight() else {
            return;
        };
        if let Err(error) = recorder.begin(gathered, path, reply) {
            recorder.report_failure(&error);
        }
        self.report_if_stopped();
    }

    /// Reports a stopped program, in which everything looks stuck.
    fn report_if_stopped(&self) {
        let pid = self.running.pid();
        if self.options.verbosity > Verbosity::Quiet && process::is_stopped(pid) {
            self.status.iter().for_each(StatusLine::make_room);
            stderr::say(&format!(
                "ctp-record: process {pid} is stopped, by a signal or a debugger: nothing in it \
                 runs until it is continued (SIGCONT)\n"
            ));
        }
    }

    pub(super) fn gather(&mut self) -> Option<SnapshotInput> {
        let gathered = self.gather_by(SnapshotInput::take)?;
        Some(SnapshotInput {
            unrecorded: self.unrecorded(),
            ..gathered
        })
    }

    /// Gathers the input of the final snapshot, if this exit reason asks for one. Done as soon as the recording ends,
    /// because surviving processes overwrite the last events.
    pub(super) fn gather_last(&mut self, exit_reason: ExitReason) -> Option<SnapshotInput> {
        let recorder = self.output.flight()?;
        recorder
            .is_due_at_end(exit_reason)
            .then(|| self.gather_by(SnapshotInput::take_last))?
    }

    fn gather_by(&mut self, take: Take) -> Option<SnapshotInput> {
        let Store::Flight(recorder) = &mut self.output else {
            return None;
        };
        let (regions, processes) = (&mut self.regions, &mut self.processes);
        let history = &mut recorder.history;
        Some(SnapshotInput {
            length_ns: recorder.length_ns,
            ..take(&recorder.start, regions, processes, history)
        })
    }

    /// Writes the final snapshot, if its input was gathered.
    ///
    /// # Errors
    /// Writing failed.
    pub fn last_snapshot(&mut self) -> Result<Option<WrittenSnapshot>, TraceError> {
        let Some(gathered) = self.so_far.last.take() else {
            return Ok(None);
        };
        let gathered = SnapshotInput {
            faulting_tid: self.faulting_tid(),
            unrecorded: self.unrecorded(),
            ..gathered
        };
        let recorder = self.output.flight();
        recorder.map(|recorder| recorder.end(gathered)).transpose()
    }
}
