//! Looks at what is stuck, amid the recording, and what follows from them.

use std::time::Duration;

use ctp_trace::record::Nanos;

use super::Session;
use crate::cli::config::Verbosity;
use crate::cli::stderr;
use crate::memory::clock::processor_time;
use crate::monitor::status::Status;
use crate::monitor::stuck_monitor::{Finding, Purpose, StuckMonitor, flight, reported};
use crate::output::store::Store;
use crate::session::pace::PassOutcome;

impl Session<'_> {
    /// Tells what the latest look has found, and begins the next one when it is time, and nothing
    /// from before `at` is still to be read.
    pub(super) fn look_out(&mut self, at: Nanos, found: PassOutcome) {
        let Some(stuck_monitor) = &mut self.stuck_monitor else {
            return;
        };
        for (purpose, at, findings) in stuck_monitor.news() {
            self.proclaim(purpose, at, &findings);
        }
        if found.is_behind()
            || !self
                .stuck_monitor
                .as_ref()
                .is_some_and(StuckMonitor::is_due)
        {
            return;
        }
        let is_stopped = self.processes.are_all_stopped();
        if self
            .stuck_monitor
            .as_mut()
            .is_some_and(|stuck_monitor| stuck_monitor.passes_over(is_stopped))
        {
            return;
        }
        match self.output.flight() {
            Some(_) => self.look_at_lanes(),
            None => self.look_at_trace(at),
        }
    }

    fn proclaim(&mut self, purpose: Purpose, at: Nanos, findings: &[Finding]) {
        let is_reported = purpose != (Purpose::Snapshot { is_reported: false });
        if is_reported && self.options.verbosity > Verbosity::Quiet {
            self.status.iter().for_each(Status::make_room);
            stderr::say(&reported::lines(at, findings));
        }
        if let (Purpose::Snapshot { .. }, Some(recorder)) = (purpose, self.output.flight()) {
            recorder.request_for_stuck();
        }
    }

    /// Account of the trace is kept as it is put in order; this thread judges too.
    fn look_at_trace(&mut self, at: Nanos) {
        let (Some(stuck_monitor), Store::Trace(output)) =
            (&mut self.stuck_monitor, &mut self.output)
        else {
            return;
        };
        let begin = processor_time();
        let after = Duration::from_nanos(stuck_monitor.shortest().0);
        let (regions, processes) = (&mut self.regions, &mut self.processes);
        let no_progress = regions.report_idle(after, processes, output.as_mut());
        // What judging takes is told with what it found.
        stuck_monitor.started(processor_time().saturating_sub(begin));
        output.look(at, no_progress);
    }

    /// Only where somebody stands still is there anything to find.
    fn look_at_lanes(&mut self) {
        let Some(stuck_monitor) = &mut self.stuck_monitor else {
            return;
        };
        let begin = processor_time();
        let after = Duration::from_nanos(stuck_monitor.shortest().0);
        stuck_monitor.skip();
        if !self.regions.has_idle_coroutine(after) {
            return;
        }
        let (thresholds, sender) = (stuck_monitor.thresholds(), stuck_monitor.sender());
        let Some(gathered) = self.gather() else {
            return;
        };
        let took = processor_time().saturating_sub(begin);
        // Where there is no thread left for it, it is tried again.
        if flight::look(gathered, thresholds, sender).is_ok() {
            self.stuck_monitor
                .iter_mut()
                .for_each(|stuck_monitor| stuck_monitor.started(took));
        }
    }
}
