//! As many coroutines as are wanted, some of them stuck.

use ctp_trace::Writer;
use ctp_trace::record::*;

use super::builder::{MONOTONIC, MS, SECOND};

const MANY_SITES: [(u32, WaitKind); 5] = [
    (17, WaitKind::Readable),
    (22, WaitKind::Timer),
    (31, WaitKind::Lock),
    (44, WaitKind::Channel),
    (58, WaitKind::Writable),
];

struct Scribe {
    writer: Writer<Vec<u8>>,
    current: CoroutineId,
    n: u64,
    wakes: u32,
    /// The coroutine that wakes each of them, if any.
    waker: Option<fn(u32) -> u32>,
}

/// A trace of 10 s. The stuck ones wait at a site that is quick for all others.
pub fn many(count: u32, stuck: u32, rounds: u64) -> Vec<u8> {
    trace(count, stuck, rounds, None)
}

/// As many that never end, where each is woken by the one before it, which runs then.
pub fn chained(count: u32, rounds: u64) -> Vec<u8> {
    trace(count, 0, rounds, Some(|number| number.max(2) - 1))
}

/// The same, where the first wakes all others.
pub fn handled(count: u32, rounds: u64) -> Vec<u8> {
    trace(count, 0, rounds, Some(|_| 1))
}

fn trace(count: u32, stuck: u32, rounds: u64, waker: Option<fn(u32) -> u32>) -> Vec<u8> {
    let start = Start {
        host: "devbox".into(),
        argv: vec![b"./many".to_vec()],
        started_unix_ns: 1_767_225_600 * SECOND,
        started_monotonic_ns: MONOTONIC,
        ..Start::default()
    };
    let mut scribe = Scribe {
        writer: Writer::new(Vec::new(), &start).unwrap(),
        current: CoroutineId(0),
        n: 0,
        wakes: 0,
        waker,
    };
    scribe.sites();
    for i in 0..count {
        scribe.coroutine(i, i < stuck, rounds);
    }
    let end = End {
        at: Nanos(10 * SECOND),
        how: ExitReason::Signalled(2),
        coroutines: u64::from(count),
        ..End::default()
    };
    scribe.writer.finish(&end).unwrap()
}

impl Scribe {
    fn put(&mut self, record: Record) {
        self.writer.write(&record).unwrap();
    }

    fn sites(&mut self) {
        self.put(Record::Process(Process {
            id: ProcessId(1),
            ..Process::default()
        }));
        for (id, (line, _)) in (1..).zip(MANY_SITES) {
            self.put(Record::Site(Site {
                id: SiteId(id),
                process: ProcessId(1),
                place: Place::Source {
                    file: "src/session.rs".into(),
                    line,
                    column: 9,
                },
            }));
        }
    }

    fn coroutine(&mut self, i: u32, stuck: bool, rounds: u64) {
        (self.current, self.n, self.wakes) = (CoroutineId(i + 1), 0, 0);
        let born = match self.waker {
            Some(_) => u64::from(i % 17) * 40 * MS,
            None => u64::from(i % 1_000) * MS,
        };
        let kind = if stuck { 0 } else { i as usize % 5 };
        self.birth(
            ["session", "ticker", "worker", "queue", "writer"][kind],
            born,
        );
        self.event(EventKind::Birth, born, 1, None);
        self.wake(0, 0);
        self.event(EventKind::Run, born + MS, 1 + u64::from(i % 4), None);
        let ends = i % 3 == 2 && i != 5 && !stuck && self.waker.is_none();
        let step = 8_500 * MS / rounds;
        let rounds = if stuck || ends { rounds / 3 } else { rounds };
        let mut at = born + MS;
        for round in 0..rounds {
            let runs = step * (3 + (u64::from(i) + round) % 7) / 10;
            self.event(EventKind::Suspend, at + runs, 1, Some(kind));
            self.wake(1, at + step - step / 20);
            at += step;
            self.event(EventKind::Run, at, 1 + (round / 3 + u64::from(i)) % 4, None);
        }
        if ends {
            self.event(EventKind::Death, at + MS, 1, None);
        } else {
            let last = if stuck { at + MS } else { 9_900 * MS };
            self.event(EventKind::Suspend, last, 1, Some(kind));
        }
        let (coroutine, attempted) = (self.current, self.n);
        self.put(Record::EventCounts(EventCounts {
            coroutine,
            attempted,
            recorded: attempted,
            ..EventCounts::default()
        }));
    }

    fn birth(&mut self, name: &str, at: u64) {
        let coroutine = self.current;
        self.put(Record::Birth(Birth {
            coroutine,
            process: ProcessId(1),
            at: Nanos(at),
            name: name.into(),
            ..Birth::default()
        }));
    }

    fn wake(&mut self, more: u32, at: u64) {
        self.wakes += more;
        let CoroutineId(number) = self.current;
        let waker = self
            .waker
            .map(|of| Waker::Coroutine(CoroutineId(of(number))));
        self.put(Record::Wake(Wake {
            coroutine: self.current,
            count: self.wakes,
            waker: waker.unwrap_or(Waker::Thread(7)),
            at: Nanos(at),
        }));
    }

    fn event(&mut self, kind: EventKind, at: u64, tid: u64, waits: Option<usize>) {
        let rest = waits.map(|kind| Event {
            site: SiteId(u32::try_from(kind).unwrap() + 1),
            wait: MANY_SITES[kind].1,
            arg: if kind == 1 {
                0
            } else {
                17 + u64::from(self.current.0)
            },
            wake_seen: u16::try_from(self.wakes & 0xffff).unwrap(),
            ..Event::default()
        });
        let event = Event {
            coroutine: self.current,
            n: self.n,
            at: Nanos(at),
            tid,
            kind,
            ..rest.unwrap_or_default()
        };
        self.n += 1;
        self.put(Record::Event(event));
    }
}
