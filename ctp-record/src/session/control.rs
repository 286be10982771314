//! Answers the requests of `ctp-record control` during the recording.

use std::thread::{sleep, yield_now};
use std::time::{Duration, Instant};

use ctp_trace::record::Record;

use super::Session;
use crate::control::Verb;
use crate::control::control_server::Reply;
use crate::control::status::Status;
use crate::control::wire::{Answer, ControlRequest, Question};
use crate::harvest::Sink as _;
use crate::memory::memory_set::MemorySet;
use crate::session::wait;

/// How long a command waits until events that began before it have ended. If a thread is stopped or killed, its event
/// may never end.
const TIMEOUT: Duration = Duration::from_millis(200);
/// Number of checks between two passes whether coroutines are still inside an event. A busy coroutine is outside only
/// for moments.
const CHECKS: usize = 256;
/// After this time a store is visible on processors that `membarrier` does not reach.
const SETTLED: Duration = Duration::from_millis(1);

impl Session<'_> {
    /// Accepts callers of the control socket, and answers requests that have arrived.
    pub(super) fn serve(&mut self) {
        let (wait, rendezvous) = (&self.wait, self.rendezvous);
        self.so_far.control_server.accept_callers(
            || rendezvous.accept_control(),
            |stream| {
                // An unwatched caller is read when the next caller connects.
                let _ = wait.watch_control(stream);
            },
        );
        for (question, reply) in self.so_far.control_server.requests() {
            match question {
                Ok(question) => self.answer_question(question, reply),
                Err(bad) => reply.answer(&Err(bad.to_string())),
            }
        }
    }

    fn answer_question(&mut self, question: Question, reply: Reply) {
        match (self.target_of(question.pid), question.request) {
            (Err(sentence), _) => reply.answer(&Err(sentence)),
            (Ok(_), ControlRequest::Snapshot(path)) => self.snapshot_for(reply, path),
            (Ok(pid), ControlRequest::Stacks) => reply.answer(&self.read_stacks(pid)),
            (Ok(pid), ControlRequest::Verb(verb)) => reply.answer(&self.execute(pid, verb)),
        }
    }

    fn execute(&mut self, pid: Option<u32>, verb: Verb) -> Answer {
        if let Verb::Filter(filter) = verb
            && filter.only_process != 0
            && self.processes.id_of(filter.only_process).is_none()
        {
            return Err(not_recorded(filter.only_process));
        }
        let inside = match verb {
            Verb::Status => 0,
            verb => self
                .put_into_force(verb, pid)
                .ok_or_else(|| no_control(pid))?,
        };
        Ok(self.status(pid, inside).to_facts())
    }

    /// The process that a request is about; `None` for all processes.
    fn target_of(&self, pid: u32) -> Result<Option<u32>, String> {
        let is_recorded = self.processes.id_of(pid).is_some();
        if is_recorded {
            Ok(Some(pid))
        } else if pid == std::process::id() || pid == self.running.pid() {
            Ok(None)
        } else {
            Err(not_recorded(pid))
        }
    }

    /// Follows the order of [`ctp_nostd::control`]: command, fence, wait until no coroutine is inside an event,
    /// read, and only then record the change. Returns how many are still inside at the timeout; `None` if
    /// events come in spite of a stop.
    fn put_into_force(&mut self, verb: Verb, pid: Option<u32>) -> Option<usize> {
        let is_first = !self.regions.are_controlled();
        self.regions.order(verb, pid);
        wait::fence_programs();
        sleep(SETTLED);
        let begin = Instant::now();
        let mut inside = self.regions.inside(pid);
        while !self.has_read_all_before(&mut inside, verb) && begin.elapsed() < TIMEOUT {}
        let is_known = is_first && verb == Verb::Stop && inside.is_empty();
        if is_known && self.ignores_stop(pid) {
            self.regions.order(Verb::Start, pid);
            return None;
        }
        let change = self.regions.change(self.clock.now(), pid);
        self.output.take(Record::Control(change));
        self.output.flush(self.regions.totals().lost);
        Some(inside.len())
    }

    /// Whether events come in spite of a stop: a probe without lanes may not support control. A single pass
    /// reads all earlier events, so that later ones were not stopped.
    fn ignores_stop(&mut self, pid: Option<u32>) -> bool {
        let begin = Instant::now();
        let Some(before) = self.regions.events_without_lanes(pid) else {
            return false;
        };
        let has_more = |regions: &MemorySet| {
            let events = regions.events_without_lanes(pid);
            events.is_some_and(|events| before < events)
        };
        while !has_more(&self.regions) && begin.elapsed() < TIMEOUT {
            sleep(SETTLED);
            self.regions.pass(&mut self.processes, &mut self.output);
        }
        has_more(&self.regions)
    }

    /// Whether every coroutine has left its event and all events since then were read. Reading never ends while
    /// events are kept, hence it is required only for a stop.
    fn has_read_all_before(&mut self, inside: &mut Vec<(usize, usize)>, verb: Verb) -> bool {
        for _ in 0..CHECKS {
            self.regions.retain_inside(inside);
            if inside.is_empty() {
                break;
            }
            yield_now();
        }
        let found = self.regions.pass(&mut self.processes, &mut self.output);
        let is_all_read = found.events == 0 && !found.is_behind();
        inside.is_empty() && (is_all_read || verb != Verb::Stop)
    }

    fn status(&self, pid: Option<u32>, inside: usize) -> Status {
        let (totals, counters) = (self.regions.totals(), self.regions.counters());
        let (at_ns, events) = (self.clock.now().0, self.regions.events());
        Status {
            recorder: std::process::id(),
            output: self.output.path().display().to_string(),
            bytes: self.output.written_bytes(),
            failure: self.output.failure().map(ToString::to_string),
            at_ns,
            orders: self.regions.orders_of(pid),
            inside,
            processes: self.processes.count(),
            coroutines: totals.coroutines,
            v1_coroutines: totals.v1_coroutines,
            events,
            events_per_s: self.so_far.rate.per_second(at_ns, events),
            waiting_bytes: self.backlog.bytes(),
            filtered: totals.filtered,
            lost: totals.lost,
            refused: counters.refused,
            lanes: self.regions.lanes(),
            stuck: self
                .stuck_monitor
                .as_ref()
                .map(|stuck_monitor| stuck_monitor.latest),
        }
    }
}

fn no_control(pid: Option<u32>) -> String {
    let subject = pid.map_or("the program".to_owned(), |pid| format!("process {pid}"));
    format!("{subject} does not support control: recording of all its events goes on")
}

fn not_recorded(pid: u32) -> String {
    format!("process {pid} is not recorded here")
}
