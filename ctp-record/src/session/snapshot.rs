//! Snapshots of a flight recorder, amid the recording and at its end.

use std::path::PathBuf;

use ctp_trace::record::{ExitReason, Start};

use super::Session;
use crate::cli::config::Verbosity;
use crate::cli::stderr;
use crate::control::control_server::Reply;
use crate::error::TraceError;
use crate::flight::{FlightHistory, Snapshot, SnapshotInput};
use crate::memory::memory_set::MemorySet;
use crate::monitor::status::Status;
use crate::output::store::Store;
use crate::proc::process;
use crate::proc::processes::Processes;

/// How to gather what a snapshot is made of.
type Take = fn(&Start, &mut MemorySet, &mut Processes, &mut FlightHistory) -> SnapshotInput;

impl Session<'_> {
    /// Takes the snapshot that a signal asked for, once none is being written.
    pub(super) fn take_requested(&mut self) {
        if self
            .output
            .flight()
            .is_some_and(|recorder| recorder.is_due())
        {
            self.snapshot(None, None);
        }
    }

    /// Takes one for somebody who waits for it.
    pub(super) fn snapshot_for(&mut self, reply: Reply, path: Option<PathBuf>) {
        let refusal = match self.output.flight() {
            None => {
                "only a flight recorder takes snapshots: start it with ctp-record --flight-recorder"
            }
            Some(recorder) if recorder.is_writing() => "a snapshot is being written; ask again",
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

    /// Else all of it looks as if it was stuck.
    fn report_if_stopped(&self) {
        let pid = self.running.pid();
        if self.options.verbosity > Verbosity::Quiet && process::is_stopped(pid) {
            self.status.iter().for_each(Status::make_room);
            stderr::say(&format!(
                "ctp-record: process {pid} is stopped, by a signal or a debugger: nothing in it \
                 goes on before it is let go on (SIGCONT)\n"
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

    /// For the last one, if it is to be taken at such an end: at once, since those who go on write over
    /// what was last.
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

    /// The last one, if what it is made of was gathered at the end.
    ///
    /// # Errors
    /// It could not be written.
    pub fn last_snapshot(&mut self) -> Result<Option<Snapshot>, TraceError> {
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
