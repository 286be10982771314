//! Coroutines that have had no event for some time.

use std::time::Duration;

use ctp_nostd::layout::Station;

use super::MemorySet;
use crate::harvest::{IdleReport, Sink};
use crate::memory::clock::monotonic_ns;
use crate::proc::processes::{Processes, Writers};

impl MemorySet {
    /// Reports coroutines that have had no event for `after`.
    pub fn report_idle(
        &mut self,
        after: Duration,
        processes: &mut Processes,
        sink: &mut dyn Sink,
    ) -> IdleReport {
        let mut all = IdleReport::default();
        for held in &mut self.held {
            let mut writers = Writers::of(processes, held.only_pid);
            let region = held.memory.region();
            let report = held.harvest.report_idle(after, &region, &mut writers, sink);
            all.records.extend(report.records);
            all.with_unread_events.extend(report.with_unread_events);
        }
        all
    }

    /// Whether any live coroutine has had no event for `after`. A v1 peer's coroutine may have had no
    /// event at all.
    pub fn has_idle_coroutine(&self, after: Duration) -> bool {
        let since_ns = monotonic_ns().saturating_sub(after.as_nanos() as u64);
        self.held.iter().any(|held| {
            let since_ns = held.harvest.program_time(since_ns);
            let region = held.memory.region();
            let mut stations = region.allocated().iter();
            stations.any(|station| is_idle(station, since_ns))
        })
    }
}

/// Whether the station's coroutine is alive and has had no event since `since_ns`.
fn is_idle(station: &Station, since_ns: u64) -> bool {
    let identity = station.identity();
    identity.is_some_and(|identity| !identity.is_dead) && station.latest_event_ns() <= since_ns
}
