//! The time of the recorder's steps for each event: copying records out of a lane, ordering and encoding
//! them, and compressing the result. A single thread does the steps one after the other without a
//! running program, so the times have no waiting in them.

use std::io;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ctp_nostd::create::{Plan, Recording};
use ctp_nostd::{Coroutine, Local, Platform, Probe, Region, Wait};
use ctp_record::harvest::{Harvest, Outside, Sink, StationProcess, TraceNumbers};
use ctp_trace::record::{Event, ProcessId, Record, Start};
use ctp_trace::{ChunkWriter, Composer};
use memmap2::MmapMut;

/// Events of a round. All of them fit into the lane.
const EVENTS: u64 = 1 << 16;
const ROUNDS: u64 = 101;

/// A single thread that can act as either of two threads, without a recorder to notify.
struct Alone;

static NOW_NS: AtomicU64 = AtomicU64::new(1);

/// The thread that the single thread acts as.
static NAME_CHARS: AtomicUsize = AtomicUsize::new(0);
static LOCALS: [Local; 2] = [Local::new(), Local::new()];
/// Changes with each memory, so that the thread claims a lane there.
static ATTACHMENT: AtomicU32 = AtomicU32::new(0);

#[expect(unsafe_code, reason = "vouches for the `Local` of its threads")]
// SAFETY: a single thread uses this platform, and no other platform uses these `Local`s.
unsafe impl Platform for Alone {
    /// Advances by 16 to 31 ns on each call.
    fn now_ns() -> u64 {
        let before = NOW_NS.load(Ordering::Relaxed);
        let now = before + 16 + (before.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 60);
        NOW_NS.store(now, Ordering::Relaxed);
        now
    }

    fn thread() -> u64 {
        1 + NAME_CHARS.load(Ordering::Relaxed) as u64
    }

    fn ring() {}

    fn attachment_word() -> &'static AtomicU32 {
        &ATTACHMENT
    }

    unsafe fn local() -> Option<&'static Local> {
        Some(&LOCALS[NAME_CHARS.load(Ordering::Relaxed)])
    }
}

#[derive(Default)]
struct NullSink(TraceNumbers);

impl Outside for NullSink {
    fn numbers(&mut self) -> &mut TraceNumbers {
        &mut self.0
    }

    fn process(&mut self, _: StationProcess, _: &mut dyn Sink) -> ProcessId {
        ProcessId(1)
    }

    fn is_text(&mut self, _: ProcessId, _: u64, _: &mut dyn Sink) -> bool {
        false
    }
}

/// Like the recorder's sink: encodes events into chunks as soon as they are ordered.
struct Trace(Composer);

impl Sink for Trace {
    fn take(&mut self, record: Record) {
        self.0.add(&record).expect("a small record");
    }

    fn take_events(&mut self, events: &[Event]) {
        self.0.add_events(events);
    }
}

/// Runs and suspends of some coroutines.
struct Scene {
    name: &'static str,
    coroutines: usize,
    /// Each coroutine stays on its thread.
    threads: usize,
    /// Whether a close comes before each run.
    has_closes: bool,
    /// The next coroutine, and its wait.
    next: fn(u64) -> (usize, Wait),
}

const YIELDS: Scene = Scene {
    name: "64 in turn that yield",
    coroutines: 64,
    threads: 1,
    has_closes: false,
    next: |step| (step as usize % 64, Wait::to_yield()),
};

fn main() {
    println!("ns an event: quickest round, median round");
    measure(&Scene {
        name: "64 in turn, eight resources",
        next: |step| (step as usize % 64, Wait::user(step / 64 % 8)),
        ..YIELDS
    });
    measure(&YIELDS);
    measure(&Scene {
        name: "64 in turn that yield, on two threads",
        threads: 2,
        ..YIELDS
    });
    measure(&Scene {
        name: "64 in turn that yield, with a close before each run",
        has_closes: true,
        ..YIELDS
    });
    measure(&Scene {
        name: "1 000 in random order, a lock each",
        coroutines: 1_000,
        next: |step| {
            let index = (step.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize % 1_000;
            (index, Wait::lock(0x7fff_1234_0000 + index * 64))
        },
        ..YIELDS
    });
}

fn measure(scene: &Scene) {
    let coroutines = scene.coroutines;
    let region = fresh(coroutines as u32);
    ATTACHMENT.fetch_add(1, Ordering::Relaxed);
    NAME_CHARS.store(0, Ordering::Relaxed);
    let probe: Probe<Alone> = Probe::new(region, 1);
    let tasks: Vec<Coroutine<Alone>> = (0..coroutines).map(|_| probe.born("one")).collect();
    let mut harvest = Harvest::new(0);
    let mut outside = NullSink::default();
    let mut trace = Trace(Composer::new(&Start::default()));
    let mut file = ChunkWriter::new(io::sink()).expect("a sink takes all");
    let (mut ordered, mut written) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        for step in 0..EVENTS / 2 {
            let (index, wait) = (scene.next)(round * EVENTS / 2 + step);
            NAME_CHARS.store(index % scene.threads, Ordering::Relaxed);
            if scene.has_closes {
                probe.closed(7u64);
            }
            tasks[index].run();
            tasks[index].suspend(wait);
        }
        ordered.push(timed(|| {
            while harvest.pass(&region, &mut outside, &mut trace).is_cut_short {}
            trace.0.cut();
        }));
        written.push(timed(|| {
            while let Some(chunk) = trace.0.next_chunk() {
                file.put(&chunk).expect("a sink takes all");
                trace.0.reuse(chunk);
            }
        }));
    }
    let totals = harvest.totals();
    assert_eq!(
        (totals.lost, totals.events),
        (0, EVENTS * ROUNDS + coroutines as u64)
    );
    assert_eq!(totals.lanes, scene.threads as u32);
    println!("{}:", scene.name);
    report("copied, ordered, encoded", ordered);
    report("compressed", written);
    println!(
        "  {:.2} bytes an event",
        file.bytes() as f64 / totals.events as f64
    );
    tasks.into_iter().for_each(std::mem::forget);
}

fn timed(step: impl FnOnce()) -> Duration {
    let begin = Instant::now();
    step();
    begin.elapsed()
}

fn report(step: &str, mut times: Vec<Duration>) {
    times.sort();
    let each = |time: Duration| time.as_nanos() as f64 / EVENTS as f64;
    let (least, median) = (each(times[0]), each(times[times.len() / 2]));
    println!("  {step:<30} {least:>5.1} {median:>5.1}");
}

#[expect(unsafe_code, reason = "vouches for the mapping that it makes")]
fn fresh(stations: u32) -> Region<'static> {
    let plan = Plan {
        stations,
        lanes: 2,
        lane_records: 1 << 18,
        short_lanes: 0,
    };
    let bytes = plan.bytes() as usize;
    let map = Box::leak(Box::new(MmapMut::map_anon(bytes).expect("memory")));
    // SAFETY: zeroed memory of this size that is never unmapped, and used by nothing else.
    unsafe { Region::create(map.as_mut_ptr(), bytes, plan, &Recording::default()) }
        .expect("fresh memory is right")
}
