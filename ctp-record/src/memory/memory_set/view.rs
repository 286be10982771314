//! A view of all memories of a flight recorder at one moment, for a snapshot.

use std::sync::Arc;

use ctp_trace::record::ProcessId;

use super::MemorySet;
use super::held_memory::HeldMemory;
use crate::harvest::{Outside as _, Sink, SiteTable, StationCoroutine, StationProcess};
use crate::memory::shm::Memory;
use crate::proc::processes::{Processes, Writers};

/// What one memory holds at one moment, apart from its lanes.
#[derive(Clone, Debug)]
pub struct MemoryView {
    /// The number of the memory in the recording.
    pub number: u32,
    /// The memory.
    pub memory: Arc<Memory>,
    /// The processes that attached, by attach id, which begins at 1.
    pub attached: Vec<ProcessId>,
    /// The sites known so far.
    pub sites: SiteTable,
    /// The nanoseconds by which the clock of its programs, and the times in its lanes, are ahead of the
    /// recorder's.
    pub ahead_ns: i64,
    /// The coroutines that have a station.
    pub coroutines: Vec<StationCoroutine>,
}

/// Memories of exited processes that are kept for snapshots.
const MAX_LEFT: usize = 8;

impl MemorySet {
    /// All memories, in the order of [`views`](MemorySet::views).
    pub fn all(&self) -> Vec<Arc<Memory>> {
        let living = self.held.iter().map(|held| &held.memory);
        let left = self.left.iter().map(|view| &view.memory);
        living.chain(left).cloned().collect()
    }

    /// Views of all memories, including those that exited processes left lately.
    pub fn views(&self) -> Vec<MemoryView> {
        let living = self.held.iter().map(HeldMemory::view);
        living.chain(self.left.iter().cloned()).collect()
    }

    /// Keeps the memory of an exited process. If there are too many, gives up the oldest and reports its
    /// coroutines as departed.
    pub(super) fn keep(&mut self, view: MemoryView, sink: &mut dyn Sink) {
        self.left.push_back(view);
        if self.left.len() > MAX_LEFT
            && let Some(oldest) = self.left.pop_front()
        {
            let coroutines = oldest.coroutines.into_iter();
            coroutines.for_each(|coroutine| sink.take_departed(coroutine));
            self.orphans.keep_header(oldest.memory);
        }
    }
}

impl HeldMemory {
    pub(super) fn view(&self) -> MemoryView {
        MemoryView {
            number: self.number,
            memory: self.memory.clone(),
            attached: self.attached.clone(),
            sites: self.harvest.sites().clone(),
            ahead_ns: self.harvest.ahead_ns(),
            coroutines: self
                .harvest
                .station_coroutines(&self.memory.region())
                .collect(),
        }
    }

    /// Describes processes that attached since the last call, while they are still running.
    pub(super) fn describe_attached(&mut self, processes: &mut Processes, sink: &mut dyn Sink) {
        let region = self.memory.region();
        while let Some(row) = region.attaches.get(self.attached.len()) {
            let Some(pid) = row.pid() else {
                return;
            };
            let mut writers = Writers::of(processes, self.only_pid);
            self.attached
                .push(writers.process(StationProcess::Process(pid), sink));
        }
    }
}
