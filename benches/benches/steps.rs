//! What do the recorder's steps take for each event: to copy records out of a lane and to put them
//! in order, and to encode, compress and write them? One thread does one after the other, without a
//! program beside it, so that a step's own work shows and not what it waited for.

use std::hint::black_box;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use ctp_nostd::create::{Plan, Recording};
use ctp_nostd::{Coroutine, Linux, Local, Platform, Probe, Region, Wait};
use ctp_record::harvest::{Harvest, Numbers, Outside, Peer, Sink};
use ctp_trace::Writer;
use ctp_trace::record::{Event, ProcessId, Record, Start};
use memmap2::MmapMut;

/// Events of a round: all of them have room in the lane.
const EVENTS: u64 = 1 << 16;
const ROUNDS: usize = 101;

/// As on Linux, but with one thread and nobody to ring.
struct Alone;

static LOCAL: Local = Local::new();
/// Each memory is another attachment's, so that the thread looks for a lane in it.
static ATTACHMENT: AtomicU32 = AtomicU32::new(0);

impl Platform for Alone {
    fn now_ns() -> u64 {
        Linux::now_ns()
    }

    fn thread() -> u64 {
        1
    }

    fn ring() {}

    fn attachment() -> u32 {
        ATTACHMENT.load(Ordering::Relaxed)
    }

    fn local() -> Option<&'static Local> {
        Some(&LOCAL)
    }
}

#[derive(Default)]
struct Nowhere(Numbers);

impl Outside for Nowhere {
    fn numbers(&mut self) -> &mut Numbers {
        &mut self.0
    }

    fn process(&mut self, _: Peer, _: &mut dyn Sink) -> ProcessId {
        ProcessId(1)
    }

    fn is_text(&mut self, _: ProcessId, _: u64, _: &mut dyn Sink) -> bool {
        false
    }
}

/// Events on their way to the file.
#[derive(Default)]
struct Tray {
    events: Vec<Event>,
    others: Vec<Record>,
}

impl Sink for Tray {
    fn take(&mut self, record: Record) {
        self.others.push(record);
    }

    fn take_event(&mut self, event: Event) {
        self.events.push(event);
    }
}

/// Which coroutine comes next, and what it waits for.
type Scene = fn(u64) -> (usize, Wait);

fn main() {
    println!("ns an event: quickest round, median round");
    measure("64 in turns, eight resources", 64, |step| {
        (step as usize % 64, Wait::user(step / 64 % 8))
    });
    measure("64 in turns that yield", 64, |step| {
        (step as usize % 64, Wait::to_yield())
    });
    measure("1 000 in no order, each with its lock", 1_000, |step| {
        let one = (step.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) % 1_000;
        (
            one as usize,
            Wait::lock(0x7fff_1234_0000 + one as usize * 64),
        )
    });
}

fn measure(name: &str, coroutines: usize, scene: Scene) {
    let region = fresh(coroutines as u32);
    ATTACHMENT.fetch_add(1, Ordering::Relaxed);
    let probe: Probe<Alone> = Probe::new(region, 1);
    let tasks: Vec<Coroutine<Alone>> = (0..coroutines).map(|_| probe.born("one")).collect();
    let mut harvest = Harvest::new(0);
    let mut outside = Nowhere::default();
    let mut writer = Writer::new(io::sink(), &Start::default()).expect("a sink takes all");
    let (mut ordered, mut written, mut before) = (Vec::new(), Vec::new(), 0);
    let (mut bytes, mut step) = (0, 0);
    for _ in 0..ROUNDS {
        let mut tray = Tray::default();
        for _ in 0..EVENTS / 2 {
            let (one, wait) = scene(step);
            tasks[one].run();
            tasks[one].suspend(wait);
            step += 1;
        }
        tray.events.reserve(EVENTS as usize * 2);
        ordered.push(timed(|| {
            while harvest.pass(&region, &mut outside, &mut tray).is_cut_short {}
        }));
        assert!(tray.events.len() as u64 >= EVENTS, "nothing is lost");
        written.push(timed(|| {
            for record in &tray.others {
                writer.write(record).expect("a sink takes all");
            }
            for event in &tray.events {
                writer
                    .write_event(black_box(event))
                    .expect("a sink takes all");
            }
            writer.flush().expect("a sink takes all");
        }));
        bytes = writer.bytes() - before;
        before = writer.bytes();
    }
    println!("{name}:");
    report("copied and put in order", ordered);
    report("encoded and compressed", written);
    println!("  {:.2} bytes an event", bytes as f64 / EVENTS as f64);
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
    println!("  {step:<24} {least:>5.1} {median:>5.1}");
}

#[expect(unsafe_code, reason = "vouches for the mapping that it makes")]
fn fresh(stations: u32) -> Region<'static> {
    let plan = Plan {
        stations,
        lanes: 1,
        lane_records: 1 << 18,
    };
    let bytes = plan.bytes() as usize;
    let map = Box::leak(Box::new(MmapMut::map_anon(bytes).expect("memory")));
    // SAFETY: zeroed memory of this size that is never unmapped, and used by nothing else.
    unsafe { Region::create(map.as_mut_ptr(), bytes, plan, &Recording::default()) }
        .expect("fresh memory is right")
}
