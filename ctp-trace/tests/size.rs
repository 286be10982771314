//! Bytes an event takes in the file, for streams that look like those of real schedulers.

use std::collections::HashMap;

use ctp_trace::record::{
    CoroutineId, End, Event, EventKind, Nanos, Record, SiteId, Start, WaitKind, Wake, Waker,
};
use ctp_trace::{Reader, Writer};

const EVENTS: usize = 100_000;
/// The limit. Measured: 1.5 (one coroutine), 2.0 (by station), 2.8 (by thread), 4.6 (by time).
const BYTES_AN_EVENT: f64 = 8.0;

/// A single coroutine that runs and waits in turn, as in a ping-pong.
#[test]
fn single_coroutine() {
    let mut program = Program::new(1, 1);
    let events = (0..EVENTS).map(|_| program.step(0, 0)).collect();
    assert_small("one coroutine", events);
}

/// A thousand coroutines on eight threads; the ring of each thread is drained a thousand events at a
/// time.
#[test]
fn by_thread() {
    let mut program = Program::new(1000, 8);
    let mut events = Vec::new();
    while events.len() < EVENTS {
        for thread in 0..8 {
            for _ in 0..500 {
                let coroutine = program.random.below(125) as usize * 8 + thread;
                events.push(program.step(coroutine, thread));
                events.push(program.step(coroutine, thread));
            }
        }
    }
    assert_small("by thread", events);
}

/// A thousand coroutines; their stations are read in turn, eight events each.
#[test]
fn by_station() {
    let mut program = Program::new(1000, 8);
    let mut events = Vec::new();
    while events.len() < EVENTS {
        for coroutine in 0..1000 {
            events.extend((0..8).map(|_| program.step(coroutine, coroutine % 8)));
        }
    }
    assert_small("by station", events);
}

/// A thousand coroutines on eight threads, sorted by time.
#[test]
fn by_time() {
    let mut program = Program::new(1000, 8);
    let mut events = Vec::new();
    while events.len() < EVENTS {
        let coroutine = program.random.below(1000) as usize;
        let thread = program.random.below(8) as usize;
        events.push(program.step(coroutine, thread));
        events.push(program.step(coroutine, thread));
    }
    events.sort_by_key(|event| event.at);
    assert_small("by time", events);
}

/// Each event with the wake that led to it.
#[test]
fn with_wakes() {
    let mut program = Program::new(1000, 8);
    let mut records = Vec::new();
    for coroutine in (0..1000).cycle().take(EVENTS / 2) {
        let thread = coroutine % 8;
        let (run, suspend) = (
            program.step(coroutine, thread),
            program.step(coroutine, thread),
        );
        records.push(Record::Wake(Wake {
            coroutine: run.coroutine,
            count: suspend.wake_seen.into(),
            waker: Waker::Coroutine(CoroutineId(coroutine as u32 ^ 1)),
            at: Nanos(run.at.0 - 900 - program.random.below(500)),
        }));
        records.extend([Record::Event(run), Record::Event(suspend)]);
    }
    let bytes = written(&records);
    println!(
        "with wakes: {:.2} bytes a record",
        bytes.len() as f64 / records.len() as f64
    );
    assert!(bytes.len() < 8 * records.len());
}

#[track_caller]
fn assert_small(what: &str, events: Vec<Event>) {
    let records: Vec<Record> = events[..EVENTS]
        .iter()
        .copied()
        .map(Record::Event)
        .collect();
    let bytes = written(&records);
    let each = bytes.len() as f64 / EVENTS as f64;
    println!("{what}: {each:.2} bytes an event");
    assert!(each <= BYTES_AN_EVENT, "{what}: {each:.2} bytes an event");
    let read = Reader::new(&bytes)
        .expect("a trace")
        .map(|item| item.expect("no damage"));
    assert!(
        read.skip(1).take(EVENTS).eq(records),
        "{what}: not what was written"
    );
}

fn written(records: &[Record]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), &Start::default()).expect("memory");
    for record in records {
        writer.write(record).expect("memory");
    }
    writer.finish(&End::default()).expect("memory")
}

/// Coroutines that read, compute with jitter, and write to their own descriptor.
struct Program {
    random: Random,
    clocks: Vec<u64>,
    events: HashMap<usize, u64>,
    coroutines: usize,
}

impl Program {
    fn new(coroutines: usize, threads: usize) -> Self {
        let (random, events) = (Random(0x9e37_79b9_7f4a_7c15), HashMap::new());
        Program {
            random,
            clocks: vec![5_000_000; threads],
            events,
            coroutines,
        }
    }

    fn step(&mut self, coroutine: usize, thread: usize) -> Event {
        assert!(coroutine < self.coroutines);
        let n = self.events.entry(coroutine).or_default();
        let number = *n;
        *n += 1;
        let runs = number.is_multiple_of(2);
        let pause = if runs {
            200 + self.random.below(400)
        } else {
            1_000 + self.random.below(8_000)
        };
        self.clocks[thread] += pause;
        let event = Event {
            coroutine: CoroutineId(coroutine as u32 + 1),
            n: number,
            at: Nanos(self.clocks[thread]),
            tid: 4_321 + thread as u64,
            wake_seen: (number / 2) as u16,
            ..Event::default()
        };
        if runs {
            event
        } else {
            suspended(event, coroutine, number / 2)
        }
    }
}

fn suspended(event: Event, coroutine: usize, round: u64) -> Event {
    let (site, wait) = if round.is_multiple_of(2) {
        (SiteId(3 + coroutine as u32 % 4), WaitKind::Readable)
    } else {
        (SiteId(17), WaitKind::Writable)
    };
    Event {
        kind: EventKind::Suspend,
        site,
        wait,
        arg: 10 + coroutine as u64,
        ..event
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
