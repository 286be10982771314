//! A dump of memory with a ring, in which this process is the firmware: two tasks that wait for each
//! other's lock.

use std::slice;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use ctp_nostd::{Local, Platform, RingMemory, Wait};
use ctp_trace::record::{Act, EventKind, Record};

use super::Recorder;

const RECORDS: u64 = 64;

static MEMORY: RingMemory<4, { RECORDS as usize }> = RingMemory::new();

static CLOCK_NS: AtomicU64 = AtomicU64::new(1000);

struct Board;

#[expect(unsafe_code, reason = "vouches for the `Local` of its thread")]
// SAFETY: one thread uses this platform, and no other platform returns this `Local`.
unsafe impl Platform for Board {
    fn now_ns() -> u64 {
        CLOCK_NS.fetch_add(10, Ordering::Relaxed)
    }

    fn thread() -> u64 {
        0
    }

    fn ring() {}

    fn attachment_word() -> &'static AtomicU32 {
        static NUMBER: AtomicU32 = AtomicU32::new(3);
        &NUMBER
    }

    unsafe fn local() -> Option<&'static Local> {
        static LOCAL: Local = Local::new();
        Some(&LOCAL)
    }
}

/// Rounds of a task before the deadlock, of three records each.
const ROUNDS: u64 = 40;

/// A dump five seconds after `left` and `right` began to wait for each other's lock.
fn dump() -> Vec<u8> {
    let probe = MEMORY.probe::<Board>();
    let [left, right, timer] = ["left", "right", "timer"].map(|name| probe.born(name));
    let wakers = [&left, &right].map(|task| task.waker());
    let locks = [0x2000_0100_usize, 0x2000_0200];
    for _ in 0..ROUNDS {
        timer.run();
        timer.suspend(Wait::user(1));
        timer.waker().wake();
    }
    for (task, own) in [(&left, locks[0]), (&right, locks[1])] {
        task.run();
        probe.acquired(own);
        task.suspend(Wait::user(2));
    }
    for ((task, waker), other) in [&left, &right]
        .into_iter()
        .zip(wakers)
        .zip([locks[1], locks[0]])
    {
        waker.wake();
        task.run();
        task.suspend(Wait::lock(other));
    }
    CLOCK_NS.fetch_add(5_000_000_000, Ordering::Relaxed);
    timer.run();
    probe.closed(7_u64);
    timer.suspend(Wait::user(1));
    let (base, bytes) = MEMORY.extent();
    #[expect(unsafe_code, reason = "reads a static as a debugger does")]
    // SAFETY: a static of this size, which no other thread uses.
    let dump = unsafe { slice::from_raw_parts(base, bytes) }.to_vec();
    std::mem::forget([left, right, timer]); // they are alive in the dump
    dump
}

// CTP-11, CTP-27, LT-27
#[test]
fn ring_has_history_and_lock_holders() {
    let dump = [&[0xA5; 77], &dump()[..], &[7; 99]].concat();
    let trace = Recorder::given(&dump).trace();
    let mut births = trace.births();
    births.sort_by_key(|birth| birth.name.clone());
    let names: Vec<&str> = births.iter().map(|birth| birth.name.as_str()).collect();
    assert_eq!(names, ["left", "right", "timer"]);
    let kinds = |of: usize| -> Vec<EventKind> {
        let events = trace.events(births[of].coroutine);
        events.iter().map(|event| event.kind).collect()
    };
    let steps = [EventKind::Run, EventKind::Suspend].repeat(2);
    // The two latest events of a task, and those in the ring. The births are not in the ring any more.
    assert_eq!((kinds(0), kinds(1)), (steps.clone(), steps));
    let attempted = [5, 5, 1 + 2 * ROUNDS + 2];
    for (birth, attempted) in births.iter().zip(attempted) {
        let counts = trace.event_counts(birth.coroutine);
        let events = trace.events(birth.coroutine).len() as u64;
        assert_eq!((counts.attempted, counts.recorded), (attempted, events));
        assert!(!counts.inexact && counts.torn.is_none(), "{counts:?}");
    }
    // The other records: 4 events and a hold of `left` and of `right`, their wakes, and the last three.
    let of_timer = RECORDS - 2 * (4 + 1 + 1) - 3;
    assert!((2 * of_timer / 3..=2 * of_timer / 3 + 4).contains(&(kinds(2).len() as u64)));
    let acts: Vec<Act> = trace.all(|record| match record {
        Record::ThreadEvent(event) => Some(&event.act),
        _ => None,
    });
    let count = |is: fn(&Act) -> bool| acts.iter().filter(|act| is(act)).count();
    assert_eq!(count(|act| matches!(act, Act::Acquire(_))), 2);
    assert_eq!(count(|act| matches!(act, Act::Close(_))), 1);
    assert!(2 < count(|act| matches!(act, Act::Wake(_))));
    assert!(!trace.message.contains("buffer"), "{}", trace.message);
    assert!(
        trace.message.contains("2 coroutines look stuck"),
        "{}",
        trace.message
    );
}
