//! Coroutines that block a thread, and others that wait to run there.

use ctp_trace::record::*;

use super::builder::{Beat, Coroutine, MS, SECOND, Trace, wait};

const SESSION: &str = "src/session.rs";

/// One thread, which one keeps for the last six seconds: two that usually go on every 12 ms, one that
/// was woken, and one that waits for the first time. Another one is on a thread of its own.
pub fn kept_thread() -> Vec<u8> {
    let mut t = Trace::of("./hogs");
    let spawn = t.source(SESSION, 6);
    let (read, tick) = (t.source(SESSION, 17), t.source(SESSION, 22));
    let accept = t.source(SESSION, 4);
    for _ in 0..2 {
        let coroutine = begin(&mut t, "polite", spawn, 4127);
        let beat = Beat {
            from: 3 * MS,
            period: 12 * MS,
            length: 10 * MS,
            queued: 2 * MS,
            times: 498,
        };
        let wait = wait(tick, WaitKind::Unknown, 0);
        t.healthy_until(coroutine, wait, &beat, 5_980 * MS);
        t.event_counts(coroutine, None, false);
    }
    let woken = begin(&mut t, "woken", spawn, 4127);
    t.suspend(woken, 5_990 * MS, 4127, wait(read, WaitKind::Readable, 9));
    t.wake(woken, 1, 7 * SECOND, Waker::Thread(4126));
    let first = begin(&mut t, "first", spawn, 4127);
    t.suspend(first, 5_991 * MS, 4127, wait(read, WaitKind::Readable, 10));
    let elsewhere = begin(&mut t, "elsewhere", spawn, 4128);
    t.suspend(
        elsewhere,
        5_992 * MS,
        4128,
        wait(read, WaitKind::Readable, 11),
    );
    let hog = begin(&mut t, "hog", spawn, 4127);
    t.suspend(hog, 4 * MS, 4127, wait(accept, WaitKind::Readable, 3));
    t.wake(hog, 1, 5_999 * MS, Waker::Thread(4126));
    t.run(hog, 6 * SECOND, 4127);
    for coroutine in [woken, first, elsewhere, hog] {
        t.event_counts(coroutine, None, false);
    }
    t.finish()
}

fn begin(t: &mut Trace, name: &str, spawn: SiteId, tid: u64) -> Coroutine {
    let coroutine = t.born(name, spawn, MS);
    t.wake(coroutine, 0, 0, Waker::Foreign);
    t.run(coroutine, 2 * MS, tid);
    coroutine
}

/// As [`kept_thread`], with inspections of the threads: of two coroutines that keep a thread, the first
/// is blocked in a call, and the second computes.
pub fn inspected_threads() -> Vec<u8> {
    let mut t = Trace::of("./hogs");
    let spawn = t.source(SESSION, 6);
    for (name, tid) in [("locker", 4127), ("counter", 4128)] {
        let hog = begin(&mut t, name, spawn, tid);
        t.event_counts(hog, None, false);
    }
    for number in 1..=3 {
        inspect(&mut t, number);
    }
    t.finish()
}

fn inspect(t: &mut Trace, number: u32) {
    let (process, at) = (ProcessId(1), u64::from(number) * SECOND);
    t.add(Record::Inspection(Inspection {
        process,
        number,
        at: Nanos(at),
        only_threads: true,
        ..Inspection::default()
    }));
    if number == 1 {
        t.add(thread(4127, "futex", ThreadRole::Other));
        t.add(thread(4128, "", ThreadRole::Other));
        t.add(thread(4129, "read", ThreadRole::Blocking));
    }
    t.add(Record::InspectionEnd(InspectionEnd {
        process,
        number,
        at: Nanos(at + MS),
        ..InspectionEnd::default()
    }));
}

fn thread(tid: u32, call: &str, role: ThreadRole) -> Record {
    let is_running = call.is_empty();
    Record::InspectedThread(InspectedThread {
        process: ProcessId(1),
        tid,
        name: "worker".to_owned(),
        syscall: (!is_running).then_some(202),
        call: call.to_owned(),
        role,
        addresses: if is_running {
            vec![]
        } else {
            vec![0x1000, 0x2000]
        },
        is_running,
        ..InspectedThread::default()
    })
}
