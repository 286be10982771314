//! Bytes as shared memory, and as what a program does to it between the looks of a recorder.

use std::collections::{HashMap, HashSet};

use ctp_nostd::Region;
use ctp_nostd::aggregate::Bins;
use ctp_record::harvest::{Harvest, Numbers, Outside, Peer, Sink, Totals};
use ctp_trace::Writer;
use ctp_trace::record::{End, Process, ProcessId, Record, Start};

use crate::memory::{Mode, Whole};
use crate::program::{ALL_STEPS, MemoryRequest, OLD_STEPS, Program};
use crate::properties::Reading;
use crate::script::Script;
use crate::stage;
use crate::trace::count;

/// Passes over whatever the bytes make of a memory end, and tell a trace whose figures agree with
/// each other. The first byte chooses: the others are the memory itself, or writes into a sane one;
/// with 2 there are lanes, with 4 they are a flight recorder's, with 8 and not 16 there is a short one
/// too, with 128 probes keep aggregates, and totals are told instead of history.
pub fn region(bytes: &[u8]) {
    let Some((mode, rest)) = bytes.split_first() else {
        return;
    };
    let _stage = stage::take();
    let mut bench = Bench::new(Mode {
        sums_up: *mode >= 128,
        has_lanes: mode & 2 != 0,
        is_flight: mode & 4 != 0,
        has_short_lanes: mode & 24 == 8,
    });
    match mode % 2 {
        0 => bench.live(Script(rest)),
        _ => bench.fill(rest),
    }
    bench.verify();
}

/// Memory, its reader, and a trace.
struct Bench {
    mode: Mode,
    memory: &'static Whole,
    program: Program,
    /// Nothing, if the memory was refused.
    region: Option<Region<'static>>,
    passed: bool,
    harvest: Harvest,
    outside: World,
    record_buffer: RecordBuffer,
}

impl Bench {
    fn new(mode: Mode) -> Self {
        let memory = Whole::fresh(mode);
        let region = memory.view(mode);
        let harvest = Harvest::new(0);
        let steps = if mode.has_lanes { ALL_STEPS } else { OLD_STEPS };
        Bench {
            mode,
            memory,
            program: Program::new(region.expect("it was just made"), memory.room(mode), steps),
            region,
            passed: false,
            harvest: match mode.sums_up {
                true => harvest.summing_up(Bins::USUAL),
                false => harvest,
            },
            outside: World::default(),
            record_buffer: RecordBuffer::new(),
        }
    }

    /// The memory is these bytes from its first one on.
    fn fill(&mut self, bytes: &[u8]) {
        let room = self.memory.room(self.mode);
        for (at, byte) in bytes.iter().enumerate() {
            room.put_byte(at, *byte);
        }
        self.region = self.memory.view(self.mode);
        self.pass();
        self.pass();
    }

    /// A program lives in the memory, somebody writes into it, and the recorder looks at it.
    fn live(&mut self, mut script: Script<'_>) {
        while !script.is_over() {
            match self.program.step(&mut script) {
                Some(MemoryRequest::Pass) => self.pass(),
                Some(MemoryRequest::First) => self.look_first(),
                None => {}
            }
        }
    }

    /// The recorder checks a memory once, before its first pass.
    fn look_first(&mut self) {
        if !self.passed {
            self.region = self.memory.view(self.mode);
        }
    }

    fn pass(&mut self) {
        self.passed = true;
        if let Some(region) = &self.region {
            self.harvest.pass(region, &mut self.outside, &mut self.record_buffer);
        }
    }

    fn verify(mut self) {
        if let Some(region) = &self.region {
            self.harvest
                .finish(region, &mut self.outside, &mut self.record_buffer);
        }
        let totals = self.harvest.totals();
        agree(&totals, &self.record_buffer.reported);
        self.record_buffer.read_back(&totals, &self.harvest);
    }
}

/// Every process exists, and every other address is program code.
#[derive(Default)]
pub(crate) struct World {
    numbers: Numbers,
    processes: HashMap<u32, ProcessId>,
}

impl Outside for World {
    fn numbers(&mut self) -> &mut Numbers {
        &mut self.numbers
    }

    fn process(&mut self, peer: Peer, sink: &mut dyn Sink) -> ProcessId {
        let pid = match peer {
            Peer::Process(pid) => pid,
            Peer::Thread(tid) => tid as u32,
            Peer::Unknown => 0,
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

/// What a pass told, and the trace of it.
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

    /// The trace has each record that was told, and its census comes to the same figures.
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
        assert_eq!(trace_model.totals().coroutines, u64::from(totals.coroutines));
        assert_eq!(trace_model.end(), Some(&end));
    }
}

impl Sink for RecordBuffer {
    fn take(&mut self, record: Record) {
        self.writer.write(&record).expect("memory takes everything");
        self.reported.push(record);
    }
}

/// Each coroutine is born once, before its events, and has as many as its tally says.
fn agree(totals: &Totals, reported: &[Record]) {
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
    // In a lane, what makes no sense need not have been an event.
    assert!(totals.lanes > 0 || totals.quarantined <= totals.lost + totals.summed_up);
}
