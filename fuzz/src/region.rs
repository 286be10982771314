//! Bytes as shared memory, and as what a program does to it between the looks of a recorder.
#![allow(
    unsafe_code,
    reason = "writes words into memory that no probe of ours would write"
)]

use std::collections::{HashMap, HashSet};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU8, AtomicU64};

use ctp_nostd::aggregate::Bins;
use ctp_nostd::{Coroutine, Memory, Platform, Region, Wait};
use ctp_record::harvest::{Harvest, Numbers, Outside, Peer, Sink, Totals};
use ctp_trace::Writer;
use ctp_trace::record::{End, Process, ProcessId, Record, Start};

use crate::properties::Reading;
use crate::script::Script;
use crate::trace::count;

const STATIONS: usize = 4;
type Bytes = Memory<STATIONS, 8>;
const SIZE: usize = size_of::<Bytes>();

/// Passes over whatever the bytes make of a memory end, and tell a trace whose figures agree with
/// each other. The first byte chooses: the others are the memory itself, or writes into a sane one;
/// from 128 on its probes keep aggregates, and totals are told instead of history.
pub fn region(bytes: &[u8]) {
    let Some((mode, rest)) = bytes.split_first() else {
        return;
    };
    let mut bench = Bench::new(*mode >= 128);
    match mode % 2 {
        0 => bench.live(Script(rest)),
        _ => bench.fill(rest),
    }
    bench.verify();
}

/// Memory, its reader, and a trace.
struct Bench {
    memory: &'static Bytes,
    /// Nothing, if the memory was refused.
    region: Option<Region<'static>>,
    passed: bool,
    coroutines: Vec<Coroutine<Bare>>,
    harvest: Harvest,
    outside: World,
    tray: Tray,
}

impl Bench {
    fn new(sums_up: bool) -> Self {
        let memory = fresh(sums_up);
        let harvest = Harvest::new(0);
        Bench {
            memory,
            region: view(memory),
            passed: false,
            coroutines: Vec::new(),
            harvest: match sums_up {
                true => harvest.summing_up(Bins::USUAL),
                false => harvest,
            },
            outside: World::default(),
            tray: Tray::new(),
        }
    }

    /// The memory is these bytes from its first one on.
    fn fill(&mut self, bytes: &[u8]) {
        for (at, byte) in bytes.iter().enumerate().take(SIZE) {
            self.put_byte(at, *byte);
        }
        self.region = view(self.memory);
        self.pass();
        self.pass();
    }

    /// A program lives in the memory, somebody writes into it, and the recorder looks at it.
    fn live(&mut self, mut script: Script<'_>) {
        while !script.is_over() {
            match script.byte() % 12 {
                0 => {
                    let at = script.half();
                    self.put_word(at, script.word());
                }
                1 | 2 => {
                    let at = script.half();
                    self.put_word(at, script.edge());
                }
                3 => {
                    let at = script.half();
                    self.put_byte(usize::from(at) % SIZE, script.byte());
                }
                4 => self.put_many(&mut script),
                5 => self.coroutines.push(self.memory.probe().born("fuzzed")),
                6 => self.with(script.byte(), Coroutine::run),
                7 => self.with(script.byte(), |it| it.suspend(Wait::unknown())),
                8 => self.with(script.byte(), |it| it.waker().wake()),
                9 => drop(self.coroutines.pop()),
                10 => self.pass(),
                _ => self.look_first(),
            }
        }
    }

    /// The recorder checks a memory once, before its first pass.
    fn look_first(&mut self) {
        if !self.passed {
            self.region = view(self.memory);
        }
    }

    fn with(&self, which: u8, act: impl FnOnce(&Coroutine<Bare>)) {
        if let Some(coroutine) = self.coroutines.get(usize::from(which)) {
            act(coroutine);
        }
    }

    fn put_many(&self, script: &mut Script<'_>) {
        let (at, length) = (usize::from(script.half()), usize::from(script.byte()));
        for (offset, byte) in script.bytes(length).iter().enumerate() {
            self.put_byte((at + offset) % SIZE, *byte);
        }
    }

    fn put_byte(&self, at: usize, byte: u8) {
        let start = self.memory.extent().0.cast_mut();
        // SAFETY: `at` is within the leaked memory, all of it atomics, and nobody else is there.
        unsafe { AtomicU8::from_ptr(start.add(at)) }.store(byte, Relaxed);
    }

    fn put_word(&self, place: u16, word: u64) {
        let at = usize::from(place) % (SIZE / 8) * 8;
        let start = self.memory.extent().0.cast_mut();
        // SAFETY: as above; eight bytes from a multiple of eight.
        unsafe { AtomicU64::from_ptr(start.add(at).cast()) }.store(word, Relaxed);
    }

    fn pass(&mut self) {
        self.passed = true;
        if let Some(region) = &self.region {
            self.harvest.pass(region, &mut self.outside, &mut self.tray);
        }
    }

    fn verify(mut self) {
        if let Some(region) = &self.region {
            self.harvest
                .finish(region, &mut self.outside, &mut self.tray);
        }
        let totals = self.harvest.totals();
        agree(&totals, &self.tray.told);
        self.tray.read_back(&totals, &self.harvest);
    }
}

/// One memory for all inputs, made anew for each: coroutines want it for ever.
fn fresh(with_aggregates: bool) -> &'static Bytes {
    thread_local! {
        static MEMORY: *mut Bytes = Box::into_raw(Box::new(Bytes::new()));
    }
    MEMORY.with(|memory| {
        // SAFETY: never freed; all who had it from an earlier call are gone, see `region`.
        unsafe {
            memory.write(match with_aggregates {
                true => Bytes::new().with_aggregates(Bins::USUAL),
                false => Bytes::new(),
            });
            &**memory
        }
    })
}

fn view(memory: &'static Bytes) -> Option<Region<'static>> {
    let (start, bytes) = memory.extent();
    // SAFETY: mapped for ever, all of it atomics.
    unsafe { Region::new(start.cast_mut(), bytes, u32::MAX) }.ok()
}

/// A place with a clock that only counts, one thread, and nobody to wake.
struct Bare;

impl Platform for Bare {
    fn now_ns() -> u64 {
        static TICKS: AtomicU64 = AtomicU64::new(1);
        TICKS.fetch_add(1, Relaxed)
    }

    fn thread() -> u64 {
        7
    }

    fn ring() {}
}

/// Every process exists, and every other address is program code.
#[derive(Default)]
struct World {
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
struct Tray {
    told: Vec<Record>,
    writer: Writer<Vec<u8>>,
}

impl Tray {
    fn new() -> Self {
        let writer = Writer::new(Vec::new(), &Start::default());
        Tray {
            told: Vec::new(),
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
        assert_eq!(records.len(), self.told.len() + 2);
        let census = count(&records);
        assert_eq!(census.totals().coroutines, u64::from(totals.coroutines));
        assert_eq!(census.end(), Some(&end));
    }
}

impl Sink for Tray {
    fn take(&mut self, record: Record) {
        self.writer.write(&record).expect("memory takes everything");
        self.told.push(record);
    }
}

/// Each coroutine is born once, before its events, and has as many as its tally says.
fn agree(totals: &Totals, told: &[Record]) {
    let mut born = HashSet::new();
    let mut events: HashMap<_, u64> = HashMap::new();
    let mut tallies = 0;
    for record in told {
        match record {
            Record::Birth(birth) => assert!(born.insert(birth.coroutine)),
            Record::Event(event) => {
                assert!(born.contains(&event.coroutine));
                *events.entry(event.coroutine).or_default() += 1;
            }
            Record::Tally(tally) => {
                let recorded = events.get(&tally.coroutine).copied().unwrap_or(0);
                assert_eq!(tally.recorded, recorded);
                assert!(tally.recorded <= tally.attempted);
                tallies += 1;
            }
            _ => {}
        }
    }
    assert_eq!(born.len(), totals.coroutines as usize);
    assert_eq!(tallies, born.len());
    assert_eq!(events.values().sum::<u64>(), totals.events);
    assert!(totals.quarantined <= totals.lost + totals.summed_up);
}
