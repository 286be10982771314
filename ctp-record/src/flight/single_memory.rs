//! A snapshot of one memory, without processes around it.

use std::sync::Arc;

use ctp_trace::record::{ExitReason, Nanos, ProcessId, Start};

use super::assemble::{SnapshotSummary, assemble};
use super::history::FlightHistory;
use super::lane_copy;
use super::plan::SnapshotPlan;
use super::snapshot_input::{SnapshotInput, SnapshotMemory};
use crate::harvest::{Harvest, Outside, Sink};
use crate::memory::clock::monotonic_ns;
use crate::memory::memory_set::MemoryView;
use crate::memory::shm::Memory;

/// When a recording ended, in its own time, which begins at 0.
#[derive(Clone, Copy, Debug)]
pub struct RecordingEnd {
    /// The latest time at which the program was known to run.
    pub alive: Nanos,
    /// Later events do not belong to the recording.
    pub until: Nanos,
    /// The maximum length of a snapshot.
    pub length: Option<Nanos>,
}

/// Emits a snapshot of a flight recorder's memory: every record except `End`, which is returned. `harvest`
/// and `history` must be those of all earlier passes over the memory.
pub fn snapshot_of(
    memory: &Arc<Memory>,
    harvest: &mut Harvest,
    outside: &mut dyn Outside,
    history: &mut FlightHistory,
    sink: &mut dyn Sink,
) -> SnapshotSummary {
    let (lanes, until_ns) = lane_copy::up_to_now(std::slice::from_ref(memory));
    let input = SnapshotInput {
        lanes,
        until_ns,
        ..read_memory(memory, harvest, outside, history)
    };
    summary(input, sink)
}

/// Emits the last snapshot of a recording that has ended.
pub fn last_snapshot_of(
    memory: &Arc<Memory>,
    harvest: &mut Harvest,
    outside: &mut dyn Outside,
    history: &mut FlightHistory,
    sink: &mut dyn Sink,
    over: RecordingEnd,
) -> SnapshotSummary {
    let mut input = SnapshotInput {
        lanes: lane_copy::once(std::slice::from_ref(memory)),
        until_ns: over.until.0,
        length_ns: over.length.map(|length| length.0),
        ..read_memory(memory, harvest, outside, history)
    };
    input.end(ExitReason::Stopped, over.alive);
    summary(input, sink)
}

fn read_memory(
    memory: &Arc<Memory>,
    harvest: &mut Harvest,
    outside: &mut dyn Outside,
    history: &mut FlightHistory,
) -> SnapshotInput {
    let region = memory.region();
    harvest.pass(&region, outside, history);
    let view = MemoryView {
        number: 0,
        memory: memory.clone(),
        attached: vec![ProcessId(1)],
        sites: harvest.sites().clone(),
        ahead_ns: harvest.ahead_ns(),
        coroutines: harvest.station_coroutines(&region).collect(),
    };
    SnapshotInput {
        stations_read_ns: monotonic_ns(),
        parts: vec![SnapshotMemory::of(view, history)],
        numbers: outside.numbers().clone(),
        counters: region.header.counters(),
        ..SnapshotInput::remembered(&Start::default(), history)
    }
}

fn summary(mut input: SnapshotInput, sink: &mut dyn Sink) -> SnapshotSummary {
    let plan = SnapshotPlan::of(&mut input);
    assemble(input, plan, sink)
}
