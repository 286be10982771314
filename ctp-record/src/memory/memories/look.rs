//! A look at all memories of a flight recorder, for a snapshot.

use std::sync::Arc;

use ctp_trace::record::ProcessId;

use super::{Held, Memories};
use crate::harvest::{Outside as _, Peer, Places, Sink, StationCoroutine};
use crate::memory::shm::Memory;
use crate::proc::processes::{Processes, Writers};

/// What one memory holds, besides its lanes.
#[derive(Clone, Debug)]
pub struct Look {
    /// Which of the recording's memories.
    pub number: u32,
    /// The memory.
    pub memory: Arc<Memory>,
    /// The processes that attached, in the order of their attach ids, which begin at 1.
    pub attached: Vec<ProcessId>,
    /// The sites that are known.
    pub places: Places,
    /// By how many nanoseconds the clock of its programs is ahead of the recorder's, and so are the times
    /// in its lanes.
    pub ahead_ns: i64,
    /// Those that have a station.
    pub occupants: Vec<StationCoroutine>,
}

/// So many memories of processes that ended are kept as they were left.
const MOST_LEFT: usize = 8;

impl Memories {
    /// All memories, in the order of [`look`](Memories::look).
    pub fn all(&self) -> Vec<Arc<Memory>> {
        let living = self.held.iter().map(|held| &held.memory);
        let left = self.left.iter().map(|look| &look.memory);
        living.chain(left).cloned().collect()
    }

    /// What all memories hold, also those that processes left lately.
    pub fn look(&self) -> Vec<Look> {
        let living = self.held.iter().map(Held::look);
        living.chain(self.left.iter().cloned()).collect()
    }

    /// Keeps a memory as its process left it. Of very many, those that were left first are given
    /// up, and who lived there has left.
    pub(super) fn keep(&mut self, look: Look, sink: &mut dyn Sink) {
        self.left.push_back(look);
        if self.left.len() > MOST_LEFT
            && let Some(oldest) = self.left.pop_front()
        {
            let occupants = oldest.occupants.into_iter();
            occupants.for_each(|occupant| sink.take_leave(occupant));
            self.orphans.keep_header(oldest.memory);
        }
    }
}

impl Held {
    pub(super) fn look(&self) -> Look {
        Look {
            number: self.number,
            memory: self.memory.clone(),
            attached: self.attached.clone(),
            places: self.harvest.places().clone(),
            ahead_ns: self.harvest.ahead_ns(),
            occupants: self.harvest.occupants(&self.memory.region()).collect(),
        }
    }

    /// Meets those that attached since the last look, while they are there.
    pub(super) fn meet_attached(&mut self, processes: &mut Processes, sink: &mut dyn Sink) {
        let region = self.memory.region();
        let pid = |row: usize| region.attaches.get(row)?.pid();
        while let Some(pid) = pid(self.attached.len()) {
            let mut writers = Writers::of(processes, self.only_pid);
            self.attached
                .push(writers.process(Peer::Process(pid), sink));
        }
    }
}
