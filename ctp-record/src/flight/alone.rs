//! A snapshot of one memory, without processes around it.

use std::sync::Arc;

use ctp_trace::record::{Ending, Nanos, ProcessId, Start};

use super::chronicle::Chronicle;
use super::compose::{Composed, compose};
use super::gathered::{Gathered, Part};
use super::lane_copy;
use super::plan::Plan;
use crate::harvest::{Harvest, Outside, Sink};
use crate::memory::clock::monotonic_ns;
use crate::memory::memories::Look;
use crate::memory::shm::Memory;

/// What is known of the end of a recording, in its own time, which begins at 0.
#[derive(Clone, Copy, Debug)]
pub struct Over {
    /// It is known that somebody lived until then.
    pub alive: Nanos,
    /// What is later is not of the recording.
    pub until: Nanos,
    /// How far back a snapshot goes at most.
    pub length: Option<Nanos>,
}

/// Tells what a flight recorder's memory holds, however it came to be there: all records but the
/// last, which is in what this gives. `harvest` and `chronicle` are those of all passes over it so far.
pub fn snapshot_of(
    memory: &Arc<Memory>,
    harvest: &mut Harvest,
    outside: &mut dyn Outside,
    chronicle: &mut Chronicle,
    sink: &mut dyn Sink,
) -> Composed {
    let (lanes, until_ns) = lane_copy::up_to_now(std::slice::from_ref(memory));
    let gathered = Gathered {
        lanes,
        until_ns,
        ..look(memory, harvest, outside, chronicle)
    };
    composed(gathered, sink)
}

/// The same of a recording that is over.
pub fn last_snapshot_of(
    memory: &Arc<Memory>,
    harvest: &mut Harvest,
    outside: &mut dyn Outside,
    chronicle: &mut Chronicle,
    sink: &mut dyn Sink,
    over: Over,
) -> Composed {
    let mut gathered = Gathered {
        lanes: lane_copy::once(std::slice::from_ref(memory)),
        until_ns: over.until.0,
        length_ns: over.length.map(|length| length.0),
        ..look(memory, harvest, outside, chronicle)
    };
    gathered.end(Ending::Stopped, over.alive);
    composed(gathered, sink)
}

fn look(
    memory: &Arc<Memory>,
    harvest: &mut Harvest,
    outside: &mut dyn Outside,
    chronicle: &mut Chronicle,
) -> Gathered {
    let region = memory.region();
    harvest.pass(&region, outside, chronicle);
    let look = Look {
        number: 0,
        memory: memory.clone(),
        attached: vec![ProcessId(1)],
        sites: harvest.sites().clone(),
        ahead_ns: harvest.ahead_ns(),
        coroutines: harvest.station_coroutines(&region).collect(),
    };
    Gathered {
        looked_ns: monotonic_ns(),
        parts: vec![Part::of(look, chronicle)],
        numbers: outside.numbers().clone(),
        counters: region.header.counters(),
        ..Gathered::remembered(&Start::default(), chronicle)
    }
}

fn composed(mut gathered: Gathered, sink: &mut dyn Sink) -> Composed {
    let plan = Plan::of(&mut gathered);
    compose(gathered, plan, sink)
}
