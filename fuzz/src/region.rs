//! Interprets the input as shared memory, or as what a program does to the memory between passes.

use std::collections::{HashMap, HashSet};

use ctp_nostd::Region;
use ctp_nostd::aggregate::Bins;
use ctp_record::harvest::{Harvest, Outside, Sink, StationProcess, Totals, TraceNumbers};
use ctp_trace::Writer;
use ctp_trace::record::{End, Process, ProcessId, Record, Start};

use crate::dump;
use crate::memory::{Mode, WholeMemory};
use crate::program::{ALL_STEPS, FIRST_STEPS, MemoryRequest, Program};
use crate::properties::Reading;
use crate::script::Script;
use crate::stage;
use crate::trace::count;

/// Checks that passes over any memory content terminate, and write a trace with consistent figures.
///
/// The first byte selects the mode, and the rest is the input:
///
/// - bit 0: the input is the memory itself (1), or a script that runs in valid memory (0)
/// - bit 1: the memory has lanes
/// - bit 2: the lanes are those of a flight recorder
/// - bit 3, unless bit 4 is set: the memory has a short lane too
/// - bit 5, with bit 0: the input is two readings of a compact memory (`dump.rs`)
/// - bit 7: probes keep aggregates, and the recorder writes totals instead of history
pub fn region(bytes: &[u8]) {
    let Some((mode, rest)) = bytes.split_first() else {
        return;
    };
    let _stage = stage::take();
    if mode & 33 == 33 {
        return dump::with_region(&mut Script(rest), finish);
    }
    let mut bench = Bench::new(Mode {
        sums_up: *mode >= 128,
        has_lanes: mode & 2 != 0,
        is_flight: mode & 4 != 0,
        has_short_lanes: mode & 24 == 8,
    });
    if mode & 1 == 0 {
        bench.live(Script(rest));
    } else {
        bench.fill(rest);
    }
    bench.verify();
}

/// Reads a memory to its end, and checks the trace.
fn finish(region: &Region<'_>) {
    let (mut harvest, mut record_buffer) = (Harvest::new(0), RecordBuffer::new());
    harvest.finish(region, &mut World::default(), &mut record_buffer);
    let totals = harvest.totals();
    assert_consistent(&totals, &record_buffer.reported);
    record_buffer.read_back(&totals, &harvest);
}

/// A memory, a program in the memory, the recorder, and the trace.
struct Bench {
    mode: Mode,
    memory: &'static WholeMemory,
    program: Program,
    /// `None` if the memory was refused.
    region: Option<Region<'static>>,
    passed: bool,
    harvest: Harvest,
    outside: World,
    record_buffer: RecordBuffer,
}

impl Bench {
    fn new(mode: Mode) -> Self {
        let memory = WholeMemory::fresh(mode);
        let region = memory.view(mode);
        let harvest = Harvest::new(0);
        let steps = if mode.has_lanes {
            ALL_STEPS
        } else {
            FIRST_STEPS
        };
        Bench {
            mode,
            memory,
            program: Program::new(region.expect("valid memory"), memory.room(mode), steps),
            region,
            passed: false,
            harvest: if mode.sums_up {
                harvest.summing_up(Bins::USUAL)
            } else {
                harvest
            },
            outside: World::default(),
            record_buffer: RecordBuffer::new(),
        }
    }

    /// Overwrites the start of the memory with these bytes, and makes two passes.
    fn fill(&mut self, bytes: &[u8]) {
        let room = self.memory.room(self.mode);
        for (at, byte) in bytes.iter().enumerate() {
            room.put_byte(at, *byte);
        }
        self.region = self.memory.view(self.mode);
        self.pass();
        self.pass();
    }

    /// Runs the script: steps of a program, hostile writes, and passes of the recorder.
    fn live(&mut self, mut script: Script<'_>) {
        while !script.is_over() {
            match self.program.step(&mut script) {
                Some(MemoryRequest::Pass) => self.pass(),
                Some(MemoryRequest::CheckRegion) => self.check_region(),
                None => {}
            }
        }
    }

    /// The recorder checks a memory once, before its first pass.
    fn check_region(&mut self) {
        if !self.passed {
            self.region = self.memory.view(self.mode);
        }
    }

    fn pass(&mut self) {
        self.passed = true;
        if let Some(region) = &self.region {
            self.harvest
                .pass(region, &mut self.outside, &mut self.record_buffer);
        }
    }

    fn verify(mut self) {
        if let Some(region) = &self.region {
            self.harvest
                .finish(region, &mut self.outside, &mut self.record_buffer);
        }
        let totals = self.harvest.totals();
        assert_consistent(&totals, &self.record_buffer.reported);
        self.record_buffer.read_back(&totals, &self.harvest);
    }
}

/// Every process exists, and every other address is program code.
#[derive(Default)]
pub(crate) struct World {
    numbers: TraceNumbers,
    processes: HashMap<u32, ProcessId>,
}

impl Outside for World {
    fn numbers(&mut self) -> &mut TraceNumbers {
        &mut self.numbers
    }

    fn process(&mut self, peer: StationProcess, sink: &mut dyn Sink) -> ProcessId {
        let pid = match peer {
            StationProcess::Process(pid) => pid,
            StationProcess::Thread(tid) => tid as u32,
            StationProcess::Unknown => 0,
        };
        let next = ProcessId(self.processes.len() as u32 + 1);
        *self.processes.entry(pid).or_insert_with(|| {
            sink.take(Record::Process(Process {
                id: next,
                pid,
                ..Process::default()
            }));
            next
        })
    }

    fn is_text(&mut self, _: ProcessId, address: u64, _: &mut dyn Sink) -> bool {
        address.is_multiple_of(2)
    }
}

/// The records from all passes, and the trace written from them.
struct RecordBuffer {
    reported: Vec<Record>,
    writer: Writer<Vec<u8>>,
}

impl RecordBuffer {
    fn new() -> Self {
        let writer = Writer::new(Vec::new(), &Start::default());
        RecordBuffer {
            reported: Vec::new(),
            writer: writer.expect("memory takes everything"),
        }
    }

    /// Checks that the trace has every record, and that the trace model has the same figures.
    fn read_back(self, totals: &Totals, harvest: &Harvest) {
        let end = End {
            at: harvest.latest(),
            events: totals.events,
            lost: totals.lost,
            quarantined: totals.quarantined,
            coroutines: totals.coroutines.into(),
            ..End::default()
        };
        let bytes = self.writer.finish(&end).expect("memory takes everything");
        let reading = Reading::of(&bytes).expect("what was written can be read");
        assert_eq!(reading.errors(), []);
        let records = reading.records();
        assert_eq!(records.len(), self.reported.len() + 2);
        let trace_model = count(&records);
        assert_eq!(
            trace_model.totals().coroutines,
            u64::from(totals.coroutines)
        );
        assert_eq!(trace_model.end(), Some(&end));
    }
}

impl Sink for RecordBuffer {
    fn take(&mut self, record: Record) {
        self.writer.write(&record).expect("memory takes everything");
        self.reported.push(record);
    }
}

/// Checks that each coroutine is born once, before its events, and has as many events as its counts
/// state.
fn assert_consistent(totals: &Totals, reported: &[Record]) {
    let mut born = HashSet::new();
    let mut events: HashMap<_, u64> = HashMap::new();
    let mut tallies = 0;
    for record in reported {
        match record {
            Record::Birth(birth) => assert!(born.insert(birth.coroutine)),
            Record::Event(event) => {
                assert!(born.contains(&event.coroutine));
                *events.entry(event.coroutine).or_default() += 1;
            }
            Record::EventCounts(event_counts) => {
                let recorded = events.get(&event_counts.coroutine).copied().unwrap_or(0);
                assert_eq!(event_counts.recorded, recorded);
                assert!(event_counts.recorded <= event_counts.attempted);
                tallies += 1;
            }
            _ => {}
        }
    }
    assert_eq!(born.len(), totals.coroutines as usize);
    assert_eq!(tallies, born.len());
    assert_eq!(events.values().sum::<u64>(), totals.events);
    // An invalid record in a lane need not have been an event.
    assert!(totals.lanes > 0 || totals.quarantined <= totals.lost + totals.summed_up);
}
