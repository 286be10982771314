//! Bytes as shared memory, and as what a program does to it between the looks of a recorder.

use std::collections::{HashMap, HashSet};

use ctp_nostd::aggregate::Bins;
use ctp_nostd::chain::{self, Chain};
use ctp_nostd::site::SiteWord;
use ctp_nostd::slot::{self, Epoch, Snapshot};
use ctp_nostd::{Coroutine, Probe, Region, Wait};
use ctp_record::harvest::{Harvest, Numbers, Outside, Peer, Sink, Totals};
use ctp_trace::Writer;
use ctp_trace::record::{End, Process, ProcessId, Record, Start};

use crate::memory::{Mode, Whole};
use crate::properties::Reading;
use crate::script::Script;
use crate::stage::{self, Stage};
use crate::trace::count;

/// Passes over whatever the bytes make of a memory end, and tell a trace whose figures agree with
/// each other. The first byte chooses: the others are the memory itself, or writes into a sane one;
/// with 2 there are lanes, with 4 they are a flight recorder's, with 128 probes keep aggregates,
/// and totals are told instead of history.
pub fn region(bytes: &[u8]) {
    let Some((mode, rest)) = bytes.split_first() else {
        return;
    };
    stage::clear();
    let mut bench = Bench::new(Mode {
        sums_up: *mode >= 128,
        has_lanes: mode & 2 != 0,
        is_flight: mode & 4 != 0,
    });
    match mode % 2 {
        0 => bench.live(Script(rest)),
        _ => bench.fill(rest),
    }
    bench.verify();
}

/// Memory, its reader, and a trace.
struct Bench {
    memory: &'static Whole,
    /// Nothing, if the memory was refused.
    region: Option<Region<'static>>,
    /// The program's own.
    probe: Probe<Stage>,
    passed: bool,
    /// What a step can be.
    steps: u8,
    coroutines: Vec<Coroutine<Stage>>,
    harvest: Harvest,
    outside: World,
    tray: Tray,
}

impl Bench {
    fn new(mode: Mode) -> Self {
        let memory = Whole::fresh(mode);
        let region = memory.view();
        let harvest = Harvest::new(0);
        Bench {
            memory,
            region,
            probe: Probe::new(region.expect("it was just made"), 1),
            passed: false,
            steps: if mode.has_lanes { 18 } else { 12 },
            coroutines: Vec::new(),
            harvest: match mode.sums_up {
                true => harvest.summing_up(Bins::USUAL),
                false => harvest,
            },
            outside: World::default(),
            tray: Tray::new(),
        }
    }

    /// The memory is these bytes from its first one on.
    fn fill(&mut self, bytes: &[u8]) {
        for (at, byte) in bytes.iter().enumerate() {
            self.memory.put_byte(at, *byte);
        }
        self.region = self.memory.view();
        self.pass();
        self.pass();
    }

    /// A program lives in the memory, somebody writes into it, and the recorder looks at it.
    fn live(&mut self, mut script: Script<'_>) {
        while !script.is_over() {
            match script.byte() % self.steps {
                0 => {
                    let at = script.half();
                    self.memory.put_word(at, script.word());
                }
                1 | 2 => {
                    let at = script.half();
                    self.memory.put_word(at, script.edge());
                }
                3 => {
                    let at = script.half();
                    self.memory.put_byte(at.into(), script.byte());
                }
                4 => self.put_many(&mut script),
                5 => self.coroutines.push(self.probe.born("fuzzed")),
                6 => self.with(script.byte(), Coroutine::run),
                7 => self.with(script.byte(), |it| it.suspend(Wait::unknown())),
                8 => self.with(script.byte(), |it| it.waker().wake()),
                9 => drop(self.coroutines.pop()),
                10 => self.pass(),
                11 => self.look_first(),
                12 => stage::enter(script.byte()),
                13 => self.wait_in_a_chain(&mut script),
                14 => self.probe.acquired(lock(&mut script)),
                15 => self.probe.released(lock(&mut script)),
                16 => self.cycles(&mut script),
                _ => self.probe.closed(lock(&mut script)),
            }
        }
    }

    /// Enough to fill a lane.
    fn cycles(&self, script: &mut Script<'_>) {
        let (which, count) = (script.byte(), script.byte());
        self.with(which, |it| {
            for lock in 0..usize::from(count) {
                it.run();
                it.suspend(Wait::lock(lock));
            }
        });
    }

    /// The latest event of a coroutine is said to be a wait that a chain leads to.
    fn wait_in_a_chain(&self, script: &mut Script<'_>) {
        let Some(region) = &self.region else {
            return;
        };
        let (which, site, count) = (script.byte(), script.byte(), script.byte() % 32);
        let chain = Chain {
            site: site.into(),
            is_whole: site % 2 == 0,
            addresses: (0..count).map(|_| script.edge()).take(26).collect(),
        };
        let id = region.site_of_chain(chain::intern(region.chains, 1, &chain));
        let Some(station) = region.stations.get(usize::from(which)) else {
            return;
        };
        let n = station.event_head();
        let slot = station.slot_of(n);
        if let Snapshot::Whole(_, epoch) = slot::snapshot(slot) {
            let site = SiteWord::from_id(id).0;
            slot::publish(slot, n, &Epoch { site, ..epoch });
        }
    }

    /// The recorder checks a memory once, before its first pass.
    fn look_first(&mut self) {
        if !self.passed {
            self.region = self.memory.view();
        }
    }

    fn with(&self, which: u8, act: impl FnOnce(&Coroutine<Stage>)) {
        if let Some(coroutine) = self.coroutines.get(usize::from(which)) {
            act(coroutine);
        }
    }

    fn put_many(&self, script: &mut Script<'_>) {
        let (at, length) = (usize::from(script.half()), usize::from(script.byte()));
        for (offset, byte) in script.bytes(length).iter().enumerate() {
            self.memory.put_byte(at + offset, *byte);
        }
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

/// The address of one of a few locks.
fn lock(script: &mut Script<'_>) -> usize {
    usize::from(script.byte() % 4)
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
