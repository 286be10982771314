//! A snapshot of one memory, without processes around it.

use std::sync::Arc;

use ctp_trace::record::{ProcessId, Start};

use super::chronicle::Chronicle;
use super::compose::{Composed, compose};
use super::gathered::{Gathered, Part};
use super::lane_copy;
use super::plan::Plan;
use crate::clock::monotonic_ns;
use crate::harvest::{Harvest, Outside, Sink};
use crate::memories::Look;
use crate::shm::Memory;

/// Tells what a flight recorder's memory holds, however it came to be there: all records but the
/// last, which is in what this gives. `harvest` and `chronicle` are those of all passes over it so far.
pub fn snapshot_of(
    memory: &Arc<Memory>,
    harvest: &mut Harvest,
    outside: &mut dyn Outside,
    chronicle: &mut Chronicle,
    sink: &mut dyn Sink,
) -> Composed {
    let region = memory.region();
    let (lanes, until_ns) = lane_copy::up_to_now(std::slice::from_ref(memory));
    harvest.pass(&region, outside, chronicle);
    let look = Look {
        number: 0,
        memory: memory.clone(),
        attached: vec![ProcessId(1)],
        places: harvest.places().clone(),
        occupants: harvest.occupants(&region).collect(),
    };
    let mut gathered = Gathered {
        lanes,
        until_ns,
        looked_ns: monotonic_ns(),
        parts: vec![Part::of(look, chronicle)],
        numbers: outside.numbers().clone(),
        counters: region.header.counters(),
        ..Gathered::remembered(&Start::default(), chronicle)
    };
    let plan = Plan::of(&mut gathered);
    compose(gathered, plan, sink)
}
