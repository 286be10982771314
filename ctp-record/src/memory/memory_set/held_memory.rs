//! A single memory of the recording, with its reader.

use std::sync::Arc;

use ctp_nostd::layout::Header;
use ctp_nostd::request::MemoryRequest;
use ctp_trace::record::{Nanos, ProcessId};

use crate::control::Orders;
use crate::harvest::{Harvest, Sink};
use crate::memory::shm::Memory;
use crate::proc::processes::{Processes, Writers};
use crate::session::pace::PassOutcome;

/// A memory and its reader.
#[derive(Debug)]
pub(super) struct HeldMemory {
    pub(super) memory: Arc<Memory>,
    pub(super) harvest: Harvest,
    /// The number of the memory in the recording.
    pub(super) number: u32,
    /// The processes that attached. Only a flight recorder fills this in.
    pub(super) attached: Vec<ProcessId>,
    /// The only process that uses the memory; `None` for the first memory.
    pub(super) only_pid: Option<u32>,
    /// What that process asked for.
    pub(super) requested: Option<MemoryRequest>,
    /// The orders in force for this memory: which events are recorded.
    pub(super) orders: Orders,
}

impl HeldMemory {
    pub(super) fn pass(&mut self, processes: &mut Processes, sink: &mut dyn Sink) -> PassOutcome {
        if self.memory.region().is_overwritten {
            self.describe_attached(processes, sink);
        }
        let mut writers = Writers::of(processes, self.only_pid);
        self.harvest.pass(&self.memory.region(), &mut writers, sink)
    }

    pub(super) fn finish(&mut self, processes: &mut Processes, sink: &mut dyn Sink) {
        let mut writers = Writers::of(processes, self.only_pid);
        self.harvest
            .finish(&self.memory.region(), &mut writers, sink);
    }

    pub(super) fn header(&self) -> &Header {
        self.memory.region().header
    }

    /// The number of stations that were ever allocated.
    pub(super) fn stations(&self) -> usize {
        self.memory.region().allocated().len()
    }

    pub(super) fn used_lanes(&self) -> u32 {
        self.memory.region().used_rings().count() as u32
    }

    /// Records that wait in lanes.
    pub(super) fn unread_records(&self) -> u64 {
        let region = self.memory.region();
        let unread = region
            .used_rings()
            .map(|ring| ring.head().wrapping_sub(ring.tail()).min(ring.capacity()));
        unread.sum()
    }

    /// Coroutines of foreign probes. These are all coroutines if the memory has lanes and none is used,
    /// because each thread of this project's probe takes a lane or is counted as laneless.
    pub(super) fn foreign(&self) -> u32 {
        let (region, totals) = (self.memory.region(), self.harvest.totals());
        let is_unused = region.ring(0).is_some_and(|ring| !ring.is_used());
        if is_unused && region.header.counters().laneless == 0 {
            totals.coroutines
        } else {
            totals.v1_coroutines
        }
    }
}

/// Time of the latest record in these memories, if there are any.
pub(super) fn latest_in(memories: &[HeldMemory]) -> Option<Nanos> {
    memories.iter().map(|held| held.harvest.latest()).max()
}
