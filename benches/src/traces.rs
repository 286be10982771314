//! Writes large artificial traces, with which readers are measured.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;

use ctp_trace::Writer;
use ctp_trace::record::{
    Birth, CoroutineId, End, Event, EventCounts, EventKind, ExitReason, Nanos, Place, Process,
    ProcessId, Record, Site, SiteId, Start, WaitKind, Wake, Waker,
};

const THREADS: u64 = 8;
/// The number of events that a pass finds at a station.
const BATCH: u64 = 6;

/// What a trace is to contain.
#[derive(Clone, Copy, Debug)]
pub struct Workload {
    /// The number of all events.
    pub events: u64,
    /// The number of coroutines that are alive at a time.
    pub alive: u32,
    /// The number of sites where the coroutines wait.
    pub sites: u32,
    /// The number of events of each coroutine, birth and death included; 0 for coroutines that never end.
    pub events_each: u64,
}

/// Writes the trace of a workload in the order of the recorder: pass by pass, and station by station.
///
/// # Errors
/// If the file cannot be written.
pub fn write(path: &Path, workload: Workload) -> io::Result<()> {
    let writer = Writer::new(BufWriter::new(File::create(path)?), &start(workload))?;
    let mut recording = Recording {
        writer,
        sites: workload.sites,
        random: Random(0x9E37_79B9_7F4A_7C15),
        clock_ns: 0,
        born: 0,
        written: 0,
    };
    recording.define()?;
    let mut alive = Vec::new();
    for station in 0..workload.alive {
        alive.push(recording.spawn(station)?);
    }
    while recording.written < workload.events {
        for coroutine in &mut alive {
            recording.visit(coroutine, workload.events_each)?;
        }
    }
    recording.finish(&alive)
}

fn start(workload: Workload) -> Start {
    Start {
        trace_id: [7; 16],
        recorder: "bench".to_owned(),
        host: "bench".to_owned(),
        argv: vec![b"made-up".to_vec()],
        capacity: workload.alive,
        ..Start::default()
    }
}

/// A live coroutine.
struct Alive {
    id: CoroutineId,
    station: u32,
    n: u64,
    wakes: u32,
}

struct Recording {
    writer: Writer<BufWriter<File>>,
    sites: u32,
    random: Random,
    clock_ns: u64,
    born: u32,
    written: u64,
}

impl Recording {
    fn define(&mut self) -> io::Result<()> {
        let process = ProcessId(1);
        self.writer.write(&Record::Process(Process {
            id: process,
            pid: 4321,
            attached: Nanos(0),
        }))?;
        (1..=self.sites).try_for_each(|number| {
            let (file, line) = (format!("src/part_{}.rs", number % 9), 10 * number);
            self.writer.write(&Record::Site(Site {
                id: SiteId(number),
                process,
                place: Place::Source {
                    file,
                    line,
                    column: 9,
                },
            }))
        })
    }

    fn spawn(&mut self, station: u32) -> io::Result<Alive> {
        self.born += 1;
        let id = CoroutineId(self.born);
        self.writer.write(&Record::Birth(Birth {
            coroutine: id,
            process: ProcessId(1),
            station,
            probe_id: u64::from(self.born) << 24 | u64::from(station),
            at: Nanos(self.clock_ns),
            name: format!("connection-{}", station % 64),
            spawn_site: SiteId(1 + station % 5),
            ..Birth::default()
        }))?;
        let (n, wakes) = (0, 0);
        Ok(Alive {
            id,
            station,
            n,
            wakes,
        })
    }

    /// Writes what a pass finds at a station: some events, the latest wake, and a successor for an
    /// ended coroutine.
    fn visit(&mut self, alive: &mut Alive, events_each: u64) -> io::Result<()> {
        for _ in 0..BATCH {
            let is_last = alive.n + 1 == events_each;
            self.event(alive, is_last)?;
            if is_last {
                self.event_counts(alive)?;
                *alive = self.spawn(alive.station)?;
                return Ok(());
            }
        }
        self.writer.write(&Record::Wake(Wake {
            coroutine: alive.id,
            count: alive.wakes,
            waker: Waker::Thread(4321),
            at: Nanos(self.clock_ns.saturating_sub(self.random.below(2_000))),
        }))
    }

    fn event(&mut self, alive: &mut Alive, is_last: bool) -> io::Result<()> {
        self.clock_ns += 50 + self.random.below(400);
        let kind = match alive.n {
            0 => EventKind::Birth,
            _ if is_last => EventKind::Death,
            n if n % 2 == 1 => EventKind::Run,
            _ => EventKind::Suspend,
        };
        let mut event = Event {
            coroutine: alive.id,
            n: alive.n,
            at: Nanos(self.clock_ns),
            tid: 4321 + (u64::from(alive.station) + alive.n.div_ceil(2)) % THREADS,
            kind,
            wake_seen: alive.wakes as u16,
            ..Event::default()
        };
        if kind == EventKind::Suspend {
            alive.wakes += 1;
            event.site = SiteId(1 + (alive.station + (alive.n as u32 / 2) % 3) % self.sites);
            event.wait = WaitKind::Readable;
            event.arg = 10 + u64::from(alive.station);
        }
        alive.n += 1;
        self.written += 1;
        self.writer.write(&Record::Event(event))
    }

    fn event_counts(&mut self, alive: &Alive) -> io::Result<()> {
        self.writer.write(&Record::EventCounts(EventCounts {
            coroutine: alive.id,
            attempted: alive.n,
            recorded: alive.n,
            ..EventCounts::default()
        }))
    }

    fn finish(mut self, alive: &[Alive]) -> io::Result<()> {
        alive
            .iter()
            .try_for_each(|alive| self.event_counts(alive))?;
        let end = End {
            at: Nanos(self.clock_ns),
            how: ExitReason::Exited(0),
            events: self.written,
            coroutines: self.born.into(),
            ..End::default()
        };
        self.writer.finish(&end).map(drop)
    }
}

/// xorshift64: the same stream on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound
    }
}
