//! Rounds of observations of awaited descriptors during the recording.

use std::time::Duration;

use ctp_trace::record::{Leaf, ProcessId, Record, Threads};
use ctp_trace::verdict::THRESHOLD;

use super::Session;
use crate::harvest::{DescriptorWait, Sink as _};
use crate::memory::clock::processor_time;
use crate::memory::memory_set::{StationPlace, time_before};
use crate::observe::{LONG, MAX_STATIONS, MAX_WAITS};
use crate::proc::threads;

/// Maximum number of processes of which threads and sockets are observed.
const MAX_PROCESSES: usize = 4;

/// Only waits of this length are judged.
const JUDGED: Duration = Duration::from_nanos(THRESHOLD.0);

/// How long the end of the recording may be delayed to find what leaf futures wait for.
const LEAVES_TIME: Duration = Duration::from_secs(3);

impl Session<'_> {
    /// Observes long waits, if a round is due.
    pub(super) fn observe_descriptors(&mut self) {
        if !self.observations.is_due() {
            return;
        }
        let begin = processor_time();
        let waits = self.waits_to_observe();
        let (regions, processes, clock) = (&self.regions, &self.processes, &self.clock);
        let since_ns = time_before(LONG);
        let looks = self.observations.observe(
            waits,
            |process| processes.pid_of(process),
            |place, wait| regions.descriptor_wait(place, since_ns) == Some(*wait),
            || clock.now(),
        );
        for look in looks {
            self.so_far.liveness.saw_alive(look.at);
            self.output.take(Record::Look(look));
        }
        let has_long_wait = self.regions.has_idle_coroutine(JUDGED);
        self.observe_processes(has_long_wait);
        self.request_leaves(has_long_wait);
        let found = self.output.leaves().found();
        self.record_leaves(found);
        self.observations
            .rest(processor_time().saturating_sub(begin));
    }

    /// Observes the threads of processes, and their sockets while some coroutine waits for long.
    fn observe_processes(&mut self, has_long_wait: bool) {
        for (process, pid) in self.processes.living().into_iter().take(MAX_PROCESSES) {
            self.observe_threads(process, pid);
            if has_long_wait {
                let sockets = self
                    .observations
                    .drained
                    .observe(process, pid, self.clock.now());
                let record = sockets.map(Record::Sockets);
                record
                    .into_iter()
                    .for_each(|record| self.output.take(record));
            }
        }
    }

    /// Observes the threads of a process in which no thread can continue by itself, and notes when that is
    /// over.
    fn observe_threads(&mut self, process: ProcessId, pid: u32) {
        let Some(counts) = threads::count(pid) else {
            return;
        };
        if self.observations.is_notable(process, counts.others == 0) {
            self.output.take(Record::Threads(Threads {
                process,
                at: self.clock.now(),
                parked: counts.parked,
                sleeping: counts.sleeping,
                others: counts.others,
            }));
        }
    }

    /// Requests that await chains are examined, if some wait is long enough to be judged.
    fn request_leaves(&mut self, has_long_wait: bool) {
        let leaves = self.output.leaves();
        if has_long_wait || leaves.may_have_long_branches() {
            leaves.request();
        }
    }

    /// Records what the leaf futures of await chains wait for.
    fn record_leaves(&mut self, found: Vec<Leaf>) {
        let leaves = found.into_iter().map(Record::Leaf);
        leaves.for_each(|leaf| self.output.take(leaf));
    }

    /// Records the latest observations at the end.
    pub(super) fn record_last_observations(&mut self) {
        self.request_leaves(self.regions.has_idle_coroutine(JUDGED));
        let found = self.output.leaves().found_within(LEAVES_TIME);
        self.record_leaves(found);
        let records = self.observations.last().map(Record::Look);
        records.for_each(|record| self.output.take(record));
    }

    /// The waits with remarkable findings, and the next waits in turn.
    fn waits_to_observe(&mut self) -> Vec<(StationPlace, DescriptorWait)> {
        let (regions, since_ns) = (&self.regions, time_before(LONG));
        let suspects = self.observations.suspects().into_iter().take(MAX_WAITS);
        let waits =
            suspects.filter_map(|place| Some((place, regions.descriptor_wait(place, since_ns)?)));
        let mut waits: Vec<_> = waits.collect();
        let cursor = &mut self.observations.cursor;
        let mut others = regions.next_found(cursor, MAX_STATIONS, MAX_WAITS, |place| {
            regions.descriptor_wait(place, since_ns)
        });
        others.retain(|(place, _)| waits.iter().all(|(suspect, _)| suspect != place));
        waits.append(&mut others);
        waits
    }
}
