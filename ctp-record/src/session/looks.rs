//! Rounds of observations of awaited descriptors during the recording.

use ctp_trace::record::{Record, Threads};

use super::Session;
use crate::harvest::{DescriptorWait, Sink as _};
use crate::memory::clock::processor_time;
use crate::memory::memory_set::StationPlace;
use crate::observe::{LONG, MOST_STATIONS, MOST_WAITS};
use crate::proc::threads;

/// Most processes with observed threads.
const MOST_PROCESSES: usize = 4;

impl Session<'_> {
    /// Observes long waits, if a round is due.
    pub(super) fn look_from_outside(&mut self) {
        if !self.looks.is_due() {
            return;
        }
        let begin = processor_time();
        let waits = self.waits_to_look_at();
        let (regions, processes, clock) = (&self.regions, &self.processes, &self.clock);
        let looks = self.looks.look(
            waits,
            |process| processes.pid_of(process),
            |place, wait| regions.descriptor_wait(place, LONG) == Some(*wait),
            || clock.now(),
        );
        for look in looks {
            self.so_far.liveness.saw_alive(look.at);
            self.output.take(Record::Look(look));
        }
        self.observe_threads();
        self.looks.rest(processor_time().saturating_sub(begin));
    }

    /// Observes the threads of processes in which no thread can continue by itself, and notes when that is
    /// over.
    fn observe_threads(&mut self) {
        for (process, pid) in self.processes.living().into_iter().take(MOST_PROCESSES) {
            let Some(counts) = threads::count(pid) else {
                continue;
            };
            if self.looks.is_notable(process, counts.others == 0) {
                self.output.take(Record::Threads(Threads {
                    process,
                    at: self.clock.now(),
                    parked: counts.parked,
                    sleeping: counts.sleeping,
                    others: counts.others,
                }));
            }
        }
    }

    /// Records the latest observations at the end.
    pub(super) fn record_last_observations(&mut self) {
        let records = self.looks.last().map(Record::Look);
        records.for_each(|record| self.output.take(record));
    }

    /// The waits with remarkable findings, and the next waits in turn.
    fn waits_to_look_at(&mut self) -> Vec<(StationPlace, DescriptorWait)> {
        let regions = &self.regions;
        let suspects = self.looks.suspects().into_iter().take(MOST_WAITS);
        let still = |place| Some((place, regions.descriptor_wait(place, LONG)?));
        let mut waits: Vec<_> = suspects.filter_map(still).collect();
        let cursor = &mut self.looks.cursor;
        let mut others = regions.next_descriptor_waits(cursor, MOST_STATIONS, MOST_WAITS, LONG);
        others.retain(|(place, _)| waits.iter().all(|(suspect, _)| suspect != place));
        waits.append(&mut others);
        waits
    }
}
