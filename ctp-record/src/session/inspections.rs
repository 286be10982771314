//! Inspections of threads during the recording.

use std::thread::sleep;
use std::time::{Duration, Instant};

use ctp_trace::record::{Nanos, Record};

use super::stacks::StackCounts;
use super::{EndReason, Session};
use crate::harvest::Sink as _;
use crate::memory::clock::processor_time;
use crate::memory::memory_set::time_before;
use crate::monitor::inspections::{LONG, MAX_PROCESSES, MAX_RUNS, MAX_STATIONS};

/// How long the end of the recording waits for the last inspection.
const LAST_WAIT: Duration = Duration::from_secs(1);
/// How long the end waits for call stacks of coroutines, which may be many.
const LAST_STACKS_WAIT: Duration = Duration::from_secs(10);
/// The pause between two passes during this wait.
pub(super) const PASS_PAUSE: Duration = Duration::from_micros(250);

impl Session<'_> {
    /// Records finished inspections, and requests those that are due.
    pub(super) fn inspect_processes(&mut self) {
        self.take_inspections();
        self.inspect_as_planned();
        if self.inspections.is_scan_due() {
            self.scan_for_long_runs();
        }
        self.scan_for_stacks();
        for process in self.inspections.due() {
            if let Some(pid) = self.processes.pid_with_own_threads(process) {
                self.inspections.request(process, pid);
            }
        }
    }

    fn scan_for_long_runs(&mut self) {
        let begin = processor_time();
        let since_ns = time_before(LONG);
        let (regions, inspections) = (&self.regions, &mut self.inspections);
        inspections
            .runs
            .retain(|(place, run)| regions.long_run(*place, since_ns) == Some(*run));
        let room = MAX_RUNS - inspections.runs.len();
        let cursor = &mut inspections.cursor;
        let mut found = regions.next_found(cursor, MAX_STATIONS, room, |place| {
            regions.long_run(place, since_ns)
        });
        found.retain(|run| !inspections.runs.contains(run));
        inspections.scanned(found, processor_time().saturating_sub(begin));
    }

    /// Records the inspections that have ended, and the files that the inspected processes have mapped since.
    /// Returns how many call stacks were read.
    pub(super) fn take_inspections(&mut self) -> StackCounts {
        let mut counts = StackCounts::default();
        while let Some((pid, records)) = self.inspections.next_answer() {
            let began = match records.first() {
                Some(Record::Inspection(begin)) => Some(begin.at),
                Some(Record::CoroutineStack(stack)) => Some(stack.at),
                _ => None,
            };
            if let Some(began) = began {
                self.so_far.liveness.saw_alive(began);
                self.processes.describe_modules(pid, &mut self.output);
            }
            for record in self.with_coroutines(records) {
                counts.add(&record);
                if let Some(attached) = &mut self.attached {
                    attached.take(&record);
                }
                self.output.take(record);
            }
        }
        counts
    }

    /// Returns the records, after adding to each task the coroutine that keeps its trace in the memory of the task.
    fn with_coroutines(&self, mut records: Vec<Record>) -> Vec<Record> {
        let tasks = records.iter_mut().filter_map(|record| match record {
            Record::InspectedTask(task) => Some(task),
            _ => None,
        });
        let mut tasks = tasks.peekable();
        if let Some(first) = tasks.peek() {
            let frames = self.regions.frames(first.process);
            for task in tasks {
                let next = frames.range(task.address..).next();
                let inside = next.filter(|(address, _)| task.contains(**address));
                task.coroutine = inside.map(|(_, coroutine)| *coroutine).unwrap_or_default();
            }
        }
        records
    }

    /// Reads the threads of the programs once more, and the stacks of coroutines, if the programs outlive the
    /// recording. Events are read meanwhile.
    /// Returns the time of the end.
    pub(super) fn inspect_last(&mut self, end_reason: EndReason, at: Nanos) -> Nanos {
        let is_ended = matches!(end_reason, EndReason::Ended(_));
        if is_ended || end_reason.is_out_of_time() {
            return at;
        }
        let begin = Instant::now();
        self.request_all_stacks(None);
        self.inspect_followed();
        for (process, _) in self.processes.living().into_iter().take(MAX_PROCESSES) {
            if let Some(pid) = self.processes.pid_with_own_threads(process) {
                self.inspections.request(process, pid);
            }
        }
        while self.inspections.is_working() && begin.elapsed() < self.last_wait() {
            sleep(PASS_PAUSE);
            self.read();
            self.take_inspections();
        }
        self.clock.now()
    }

    fn last_wait(&self) -> Duration {
        if self.inspections.is_reading_stacks() {
            LAST_STACKS_WAIT
        } else {
            LAST_WAIT
        }
    }
}
