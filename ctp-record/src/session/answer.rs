//! Reacts to callers, signals and ends of processes.

use std::io;

use ctp_trace::record::{Nanos, ProcessExit};
use signal_hook::consts::SIGXCPU;

use super::{EndReason, Session, liveness};
use crate::cli::config::Verbosity;
use crate::cli::stderr;
use crate::launch::signals::Arrived;
use crate::launch::survivors;
use crate::monitor::status::StatusLine;
use crate::session::wait::Happened;

impl Session<'_> {
    /// Reacts to what has happened. Returns the reason and time of the end of the recording, if it ends.
    ///
    /// # Errors
    /// Those of the kernel.
    pub(super) fn answer(
        &mut self,
        happened: Happened,
        has_interrupt: &mut bool,
    ) -> io::Result<Option<(EndReason, Nanos)>> {
        self.answer_callers(happened);
        if happened.has_process_end {
            for pid in self.wait.take_departed() {
                self.reap_process(
                    pid,
                    ProcessExit::Disappeared,
                    self.so_far.liveness.last_alive(),
                );
            }
        }
        if happened.has_program_end {
            self.note_end()?;
        }
        if let Some(end) = self.end_by_itself().or_else(|| self.end_by_time()) {
            return Ok(Some(end));
        }
        let ended_by_signal = happened
            .has_signal
            .then(|| self.obey(has_interrupt))
            .flatten();
        Ok(ended_by_signal.map(|end_reason| (end_reason, self.clock.now())))
    }

    fn answer_callers(&mut self, happened: Happened) {
        if happened.has_connection {
            self.let_in();
        }
        if happened.has_ring {
            self.reap_replaced();
        }
        // Checking whether a process hung up may also have read the memory request of its new image.
        if happened.has_ring || happened.has_connection {
            self.grant_memory();
        }
        if happened.has_control_request {
            self.serve();
        }
    }

    fn note_end(&mut self) -> io::Result<()> {
        if let Some(ended) = self.running.ended()? {
            self.wait.forget_program(&self.running)?;
            self.so_far.ended = Some((ended, self.so_far.liveness.last_alive()));
        }
        Ok(())
    }

    /// Returns the end of the recording if the program has ended. With `--wait-all`, all its descendants must have
    /// ended, too. In a recording of programs that ran before, all of these must have ended.
    fn end_by_itself(&mut self) -> Option<(EndReason, Nanos)> {
        let (ended, at) = self.so_far.ended?;
        let end_reason = EndReason::Ended(ended.exit_reason());
        if !self.options.wait_all && self.attached.is_none() {
            return Some((end_reason, at));
        }
        let at = self.reap_process(self.running.pid(), ended.process_exit(), at);
        self.so_far.ended = Some((ended, at));
        self.is_empty_of_processes()
            .then(|| (end_reason, self.so_far.liveness.last_alive()))
    }

    /// The first signal that asks for an end goes to the program, and the second ends the recording. If the program has
    /// ended, or ran before the recording, the first ends the recording. Some signals always concern the recorder
    /// itself.
    fn obey(&mut self, has_interrupt: &mut bool) -> Option<EndReason> {
        for arrived in self.signals.arrived() {
            if let Some(recorder) = self.output.flight()
                && recorder.is_trigger_signal(arrived.number)
            {
                recorder.request();
                continue;
            }
            if arrived.ends_the_recording() {
                self.report_exit_reason(arrived);
                return Some(self.end_reason_after(arrived));
            }
            if self.attached.is_some() {
                if arrived.asks_for_an_end() {
                    return Some(EndReason::Requested);
                }
                continue;
            }
            if !arrived.asks_for_an_end() {
                self.pass_on(arrived);
                continue;
            }
            if self.so_far.ended.is_some() || std::mem::replace(has_interrupt, true) {
                return Some(self.end_reason_after(arrived));
            }
            self.pass_on(arrived);
        }
        None
    }

    /// The reason for the end of the recording after this signal, or after the program if that has ended.
    fn end_reason_after(&self, arrived: Arrived) -> EndReason {
        match self.so_far.ended {
            Some((ended, _)) => EndReason::Ended(ended.exit_reason()),
            None => EndReason::Stopped(arrived.number),
        }
    }

    /// Prints which signal ends the recording, because the closing lines do not.
    fn report_exit_reason(&self, arrived: Arrived) {
        if self.options.verbosity > Verbosity::Quiet {
            self.status.iter().for_each(StatusLine::make_room);
            let what = match arrived.number {
                SIGXCPU => " (ctp-record has used its processor time: ulimit -t)",
                _ => "",
            };
            let line = format!("ctp-record: {arrived}{what} ends the recording, not the program\n");
            stderr::say(&line);
        }
    }

    fn pass_on(&self, arrived: Arrived) {
        if arrived.is_for_recorder_only
            && let Some(signal) = arrived.signal()
        {
            self.running.signal(signal);
        }
    }

    /// Removes a process, or an image replaced by exec, that was last known to live at `alive`. Returns the
    /// time of its end, which is not before its latest event.
    pub(super) fn reap_process(&mut self, pid: u32, how: ProcessExit, alive: Nanos) -> Nanos {
        for request in self.wait.connections().forget(pid) {
            self.so_far.turned_away.add_unanswered(request);
        }
        let Some(process) = self.processes.id_of(pid) else {
            return alive;
        };
        let by = self.clock.now();
        let latest = self
            .regions
            .reap(pid, process, &mut self.processes, &mut self.output);
        let at = liveness::end(alive, latest, by);
        self.processes.part_with(pid, at, how, &mut self.output);
        at
    }

    /// Whether no descendant of the program lives. Living descendants are watched from now on.
    fn is_empty_of_processes(&mut self) -> bool {
        if self.wait.watched() == 0 {
            for (pid, _) in survivors::of(&self.rendezvous.path()) {
                self.wait.watch(pid);
            }
        }
        self.wait.watched() == 0
    }
}
