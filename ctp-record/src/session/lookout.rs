//! Looks at what is stuck, amid the recording, and what follows from them.

use std::time::Duration;

use ctp_trace::record::Nanos;

use super::Session;
use crate::cli::config::Verbosity;
use crate::cli::stderr;
use crate::memory::clock::processor_time;
use crate::monitor::lookout::{Finding, Lookout, Purpose, flight, told};
use crate::monitor::status::Status;
use crate::output::store::Store;
use crate::session::pace::PassOutcome;

impl Session<'_> {
    /// Tells what the latest look has found, and begins the next one when it is time, and nothing
    /// from before `at` is still to be read.
    pub(super) fn look_out(&mut self, at: Nanos, found: PassOutcome) {
        let Some(lookout) = &mut self.lookout else {
            return;
        };
        for (purpose, at, findings) in lookout.news() {
            self.proclaim(purpose, at, &findings);
        }
        if found.is_behind() || !self.lookout.as_ref().is_some_and(Lookout::is_due) {
            return;
        }
        let is_stopped = self.processes.are_all_stopped();
        if self
            .lookout
            .as_mut()
            .is_some_and(|it| it.passes_over(is_stopped))
        {
            return;
        }
        match self.output.flight() {
            Some(_) => self.look_at_lanes(),
            None => self.look_at_trace(at),
        }
    }

    fn proclaim(&mut self, purpose: Purpose, at: Nanos, findings: &[Finding]) {
        let is_told = purpose != (Purpose::Snapshot { is_told: false });
        if is_told && self.options.verbosity > Verbosity::Quiet {
            self.status.iter().for_each(Status::make_room);
            stderr::say(&told::lines(at, findings));
        }
        if let (Purpose::Snapshot { .. }, Some(recorder)) = (purpose, self.output.flight()) {
            recorder.request_for_stuck();
        }
    }

    /// Account of the trace is kept as it is put in order; this thread judges too.
    fn look_at_trace(&mut self, at: Nanos) {
        let (Some(lookout), Store::Trace(output)) = (&mut self.lookout, &mut self.output) else {
            return;
        };
        let begin = processor_time();
        let after = Duration::from_nanos(lookout.shortest().0);
        let (memories, processes) = (&mut self.memories, &mut self.processes);
        let standstill = memories.report_idle(after, processes, output.as_mut());
        // What judging takes is told with what it found.
        lookout.begun(processor_time().saturating_sub(begin));
        output.look(at, standstill);
    }

    /// Only where somebody stands still is there anything to find.
    fn look_at_lanes(&mut self) {
        let Some(lookout) = &mut self.lookout else {
            return;
        };
        let begin = processor_time();
        let after = Duration::from_nanos(lookout.shortest().0);
        lookout.skip();
        if !self.memories.has_idle_coroutine(after) {
            return;
        }
        let (thresholds, sender) = (lookout.thresholds(), lookout.sender());
        let Some(gathered) = self.gather() else {
            return;
        };
        let took = processor_time().saturating_sub(begin);
        // Where there is no thread left for it, it is tried again.
        if flight::look(gathered, thresholds, sender).is_ok() {
            self.lookout.iter_mut().for_each(|it| it.begun(took));
        }
    }
}
