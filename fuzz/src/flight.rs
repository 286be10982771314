//! Interprets the input as the steps of a program under a flight recorder, with hostile writes into the
//! memory.
#![allow(unsafe_code, reason = "lends a memory while holding the memory")]

use std::sync::Arc;

use ctp_nostd::Region;
use ctp_nostd::aggregate::MODE_FLIGHT;
use ctp_nostd::create::{Plan, Recording};
use ctp_record::harvest::{Harvest, Sink};
use ctp_record::{FlightHistory, Memory, snapshot_of};
use ctp_trace::Writer;
use ctp_trace::record::{End, Record, Start};

use crate::memory::Room;
use crate::program::{ALL_STEPS, MemoryRequest, Program};
use crate::properties::Reading;
use crate::region::World;
use crate::script::Script;
use crate::stage;
use crate::trace::count;

/// Checks that snapshots of any memory content terminate and are readable traces.
///
/// The first byte is also a step. A value of at least `FIRST_OF_SHORT` adds a short lane.
pub fn flight(bytes: &[u8]) {
    let _stage = stage::take();
    let has_short_lane = bytes.first().is_some_and(|byte| FIRST_OF_SHORT <= *byte);
    let memory = memory(has_short_lane.into());
    let region = memory.region();
    // SAFETY: `memory` outlives every copy of this region: the copies are dropped in this function.
    let region: Region<'static> = unsafe { std::mem::transmute(region) };
    let mut program = Program::new(region, Room::of(&region), ALL_STEPS);
    let mut recorder = Recorder::new(&memory);
    let mut script = Script(bytes);
    while !script.is_over() {
        match program.step(&mut script) {
            Some(MemoryRequest::Pass) => recorder.pass(),
            Some(MemoryRequest::CheckRegion) => recorder.snapshot(),
            None => {}
        }
    }
    recorder.snapshot();
    drop(program);
}

/// A multiple of the number of steps. When short lanes were added, no input in the corpus began with
/// this value or a larger one.
const FIRST_OF_SHORT: u8 = 13 * ALL_STEPS;

fn memory(short_lanes: u32) -> Arc<Memory> {
    let plan = Plan {
        stations: 4,
        lanes: 2,
        lane_records: 32,
        short_lanes,
    };
    let recording = Recording {
        mode: MODE_FLIGHT,
        ..Recording::default()
    };
    Arc::new(Memory::create(plan, &recording, false).expect("the kernel has memory"))
}

struct Recorder<'m> {
    memory: &'m Arc<Memory>,
    harvest: Harvest,
    world: World,
    flight_history: FlightHistory,
}

impl<'m> Recorder<'m> {
    fn new(memory: &'m Arc<Memory>) -> Self {
        Recorder {
            memory,
            harvest: Harvest::new(0).in_flight(0),
            world: World::default(),
            flight_history: FlightHistory::default(),
        }
    }

    fn pass(&mut self) {
        let region = self.memory.region();
        self.harvest
            .pass(&region, &mut self.world, &mut self.flight_history);
    }

    fn snapshot(&mut self) {
        let mut trace = SnapshotTrace::new();
        let assembled = snapshot_of(
            self.memory,
            &mut self.harvest,
            &mut self.world,
            &mut self.flight_history,
            &mut trace,
        );
        trace.verify(&assembled.end);
    }
}

/// The trace of a snapshot.
struct SnapshotTrace {
    writer: Writer<Vec<u8>>,
    events: u64,
    births: u64,
}

impl SnapshotTrace {
    fn new() -> Self {
        let writer = Writer::new(Vec::new(), &Start::default());
        SnapshotTrace {
            writer: writer.expect("memory takes everything"),
            events: 0,
            births: 0,
        }
    }

    /// Checks that the trace can be read completely, and agrees with the end record.
    fn verify(self, end: &End) {
        assert_eq!((end.events, end.coroutines), (self.events, self.births));
        let bytes = self.writer.finish(end).expect("memory takes everything");
        let reading = Reading::of(&bytes).expect("what was written can be read");
        assert_eq!(reading.errors(), []);
        let trace_model = count(&reading.records());
        assert_eq!(trace_model.end(), Some(end));
    }
}

impl Sink for SnapshotTrace {
    fn take(&mut self, record: Record) {
        self.events += u64::from(matches!(record, Record::Event(_)));
        self.births += u64::from(matches!(record, Record::Birth(_)));
        self.writer.write(&record).expect("memory takes everything");
    }
}
