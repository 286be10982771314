//! Starts checks for stuck coroutines during the recording, and reports their findings.

use std::time::Duration;

use ctp_trace::record::Nanos;

use super::Session;
use crate::cli::config::Verbosity;
use crate::cli::stderr;
use crate::memory::clock::processor_time;
use crate::monitor::status::StatusLine;
use crate::monitor::stuck_monitor::{Purpose, StuckMonitor, StuckSite, flight, reported};
use crate::output::store::Store;
use crate::session::pace::PassOutcome;

impl Session<'_> {
    /// Reports the findings of the latest check. Starts the next check if it is due and all events before `at` have
    /// been read.
    pub(super) fn check_stuck(&mut self, at: Nanos, found: PassOutcome) {
        let Some(stuck_monitor) = &mut self.stuck_monitor else {
            return;
        };
        for (purpose, at, findings) in stuck_monitor.take_findings() {
            self.announce(purpose, at, &findings);
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
            .is_some_and(|stuck_monitor| stuck_monitor.skips_stopped(is_stopped))
        {
            return;
        }
        match self.output.flight() {
            Some(_) => self.check_flight_recorder(),
            None => self.check_trace(at),
        }
    }

    /// Prints findings, requests the call stacks of stuck coroutines, and requests a snapshot if the user wants one.
    fn announce(&mut self, purpose: Purpose, at: Nanos, findings: &[StuckSite]) {
        let is_printed = purpose != (Purpose::Snapshot { also_prints: false });
        if is_printed && self.options.verbosity > Verbosity::Quiet {
            self.status.iter().for_each(StatusLine::make_room);
            stderr::say(&reported::lines(at, findings));
        }
        self.request_stacks_of(findings);
        if let (Purpose::Snapshot { .. }, Some(recorder)) = (purpose, self.output.flight()) {
            recorder.request_for_stuck();
        }
    }

    /// Requests the call stacks of coroutines that wait at least as long as those of these findings.
    fn request_stacks_of(&mut self, findings: &[StuckSite]) {
        let stuck = findings.iter().filter(|finding| 0 < finding.stuck());
        if let Some(shortest) = stuck.map(|finding| finding.shortest).min() {
            self.request_stuck_stacks(Duration::from_nanos(shortest.0));
        }
    }

    /// Requests a check from the output thread, which feeds its watch while it orders the trace.
    fn check_trace(&mut self, at: Nanos) {
        let (Some(stuck_monitor), Store::Trace(output)) =
            (&mut self.stuck_monitor, &mut self.output)
        else {
            return;
        };
        let begin = processor_time();
        let after = Duration::from_nanos(stuck_monitor.shortest_threshold().0);
        let (regions, processes) = (&mut self.regions, &mut self.processes);
        let idle_report = regions.report_idle(after, processes, output.as_mut());
        // The cost of judging is sent with the findings.
        stuck_monitor.note_start(processor_time().saturating_sub(begin));
        output.judge(at, idle_report);
    }

    /// Checks a flight recorder, if some coroutine has been idle for long enough.
    fn check_flight_recorder(&mut self) {
        let Some(stuck_monitor) = &mut self.stuck_monitor else {
            return;
        };
        let begin = processor_time();
        let after = Duration::from_nanos(stuck_monitor.shortest_threshold().0);
        stuck_monitor.postpone();
        if !self.regions.has_idle_coroutine(after) {
            return;
        }
        let (thresholds, sender) = (stuck_monitor.thresholds(), stuck_monitor.sender());
        let Some(gathered) = self.gather() else {
            return;
        };
        let took = processor_time().saturating_sub(begin);
        // If no thread can be started, the next check tries again.
        if flight::judge(gathered, thresholds, sender).is_ok() {
            self.stuck_monitor
                .iter_mut()
                .for_each(|stuck_monitor| stuck_monitor.note_start(took));
        }
    }
}
