//! A dump of compact memory, in which this process is the firmware.

use std::sync::atomic::{AtomicU64, Ordering};
use std::{fs, slice};

use ctp_nostd::{CompactMemory, Platform, Wait};
use ctp_trace::record::{EventCounts, EventKind, WaitKind};

use super::Recorder;

/// What a dump has of each coroutine.
const KEPT: u64 = 2;

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/image/compact.rs");

static MEMORY: CompactMemory<4> = CompactMemory::new();

static CLOCK_NS: AtomicU64 = AtomicU64::new(1000);

struct Board;

#[expect(unsafe_code, reason = "vouches for having no `Local`")]
// SAFETY: there is no `Local`.
unsafe impl Platform for Board {
    fn now_ns() -> u64 {
        CLOCK_NS.fetch_add(10, Ordering::Relaxed)
    }

    fn thread() -> u64 {
        0
    }

    fn ring() {}
}

/// A dump after `sensor` has waited and run many times, and while it runs. `radio` was woken ten seconds
/// before, and has not run.
fn dump() -> Vec<u8> {
    let probe = MEMORY.probe::<Board>();
    let [sensor, radio] = ["sensor", "radio"].map(|name| probe.born(name));
    let [to_sensor, to_radio] = [&sensor, &radio].map(|task| task.waker());
    for _ in 0..20 {
        for task in [&sensor, &radio] {
            task.run();
            task.suspend(Wait::user(3));
        }
        to_sensor.wake();
        sensor.run();
        sensor.suspend(Wait::user(3));
    }
    to_radio.wake();
    CLOCK_NS.fetch_add(10_000_000_000, Ordering::Relaxed);
    sensor.run();
    sensor.suspend(Wait::user(4)); // the last wait
    to_sensor.wake();
    sensor.run();
    let (base, bytes) = MEMORY.extent();
    #[expect(unsafe_code, reason = "reads a static as a debugger does")]
    // SAFETY: a static of this size, which no other thread uses.
    let dump = unsafe { slice::from_raw_parts(base, bytes) }.to_vec();
    std::mem::forget([sensor, radio]); // they are alive in the dump
    dump
}

// CTP-11, CTP-27
#[test]
fn compact_memory_is_found_and_read() {
    // Neither aligned, nor the only memory that begins like this.
    let dump = [
        &[0xA5; 333],
        &b"CTPSMALL"[..],
        &[0xFF; 4096],
        &dump(),
        &[7; 99],
    ]
    .concat();
    let recorder = Recorder::given(&dump);
    let trace = recorder.trace();
    let births = trace.births();
    let names: Vec<&str> = births.iter().map(|birth| birth.name.as_str()).collect();
    assert_eq!(names, ["sensor", "radio"]);
    let attempted = [1 + 83, 1 + 40];
    for (birth, attempted) in births.iter().zip(attempted) {
        let events = trace.events(birth.coroutine);
        assert!(
            events
                .iter()
                .map(|event| event.n)
                .eq(attempted - KEPT..attempted)
        );
        let expected = EventCounts {
            coroutine: birth.coroutine,
            attempted,
            recorded: KEPT,
            ..EventCounts::default()
        };
        assert_eq!(trace.event_counts(birth.coroutine), expected);
        let wait = events.iter().find(|event| event.kind == EventKind::Suspend);
        let wait = wait.unwrap();
        assert_eq!(wait.wait, WaitKind::User);
        // The table keeps the end of the path.
        let (file, _) = trace.place(wait.site);
        assert!(SOURCE.ends_with(&file), "{file}");
    }
    let (_, line) = trace.place(trace.events(births[0].coroutine)[0].site);
    let source = fs::read_to_string(SOURCE).unwrap();
    let text = source.lines().nth(line as usize - 1).unwrap();
    assert!(text.ends_with("// the last wait"), "{text}");
    let end = trace.end();
    let lost = attempted.iter().sum::<u64>() - 2 * KEPT;
    assert_eq!((end.events, end.lost, end.unnamed), (2 * KEPT, lost, 0));
    assert_eq!(trace.start().capacity, 4);
    assert!(
        trace.message.contains("1 coroutine looks stuck"),
        "{}",
        trace.message
    );
}
