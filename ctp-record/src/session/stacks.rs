//! Call stacks of coroutines that wait on stacks of their own.

use std::collections::BTreeMap;
use std::time::Duration;

use ctp_trace::record::ProcessId;
use ctp_trace::verdict::THRESHOLD;

use super::Session;
use crate::memory::clock::processor_time;
use crate::monitor::inspections::MAX_STATIONS;
use crate::monitor::inspections::stacks::StackPlace;

/// Stacks of waits of this length are read while the program runs.
const LONG: Duration = Duration::from_nanos(THRESHOLD.0);
/// Maximum number of stacks that a scan finds.
const MAX_FOUND: usize = 1 << 12;
/// Maximum number of stacks that are read at the end.
const MAX_STACKS: usize = 1 << 16;
/// Stacks that are read before the first of them are recorded.
const PART: usize = 1 << 11;

impl Session<'_> {
    /// Requests the stacks of long waits, if a scan is due. The stack of a wait is read once.
    pub(super) fn scan_for_stacks(&mut self) {
        if !self.inspections.stack_scans.is_due() || self.output.flight().is_some() {
            return;
        }
        let begin = processor_time();
        let scans = &mut self.inspections.stack_scans;
        let regions = &self.regions;
        let found = regions.next_found(&mut scans.cursor, MAX_STATIONS, MAX_FOUND, |place| {
            regions.stack_wait(place, LONG)
        });
        let found = found.into_iter().map(|(_, place)| place).collect();
        let new = scans.without_known(found);
        scans.scanned(processor_time().saturating_sub(begin));
        self.request_stacks_at(new);
    }

    /// Requests the stacks of all coroutines that wait on stacks of their own now.
    pub(super) fn request_all_stacks(&mut self) {
        if self.output.flight().is_some() {
            return;
        }
        let regions = &self.regions;
        let found = regions.next_found(&mut (0, 0), usize::MAX, MAX_STACKS, |place| {
            regions.stack_wait(place, Duration::ZERO)
        });
        self.request_stacks_at(found.into_iter().map(|(_, place)| place).collect());
    }

    fn request_stacks_at(&mut self, places: Vec<StackPlace>) {
        let mut by_process: BTreeMap<ProcessId, Vec<StackPlace>> = BTreeMap::new();
        for place in places {
            by_process.entry(place.1.process).or_default().push(place);
        }
        for (process, places) in by_process {
            if let Some(pid) = self.processes.pid_of(process) {
                for part in places.chunks(PART) {
                    self.inspections.request_stacks(process, pid, part.to_vec());
                }
            }
        }
    }
}
