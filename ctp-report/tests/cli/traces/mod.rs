//! The traces for the tests.

mod broken;
mod builder;
mod compared;
mod crash;
mod family;
mod filtered;
mod flight;
pub mod foreign;
mod hogs;
mod inspected;
mod joiner;
mod late;
mod lints;
mod locks;
mod many;
mod outside;
mod senders;
mod shutdown;
mod stackful;
mod summed;
mod thread_events;
mod wide;

use std::sync::OnceLock;

use builder::{Beat, Coroutine, MONOTONIC, MS, SECOND, Trace, wait};
use ctp_trace::record::*;

pub use many::{chained, handled, many};
pub use thread_events::woken_from;

const SESSION: &str = "src/session.rs";

/// A file name, and the trace in that file.
type Named = (&'static str, Vec<u8>);

/// All traces. They are made once, since a writer takes long without optimization and each test uses all of them.
pub fn all() -> &'static [Named] {
    static ALL: OnceLock<Vec<Named>> = OnceLock::new();
    ALL.get_or_init(|| [of_waits(), of_faults(), of_modes()].concat())
}

/// Traces of coroutines that wait or block others.
fn of_waits() -> Vec<Named> {
    vec![
        ("lost_wakeup", lost_wakeup(true)),
        ("fixed", lost_wakeup(false)),
        ("cancelled", cancelled()),
        ("peers", peers()),
        ("twins", duplicates()),
        ("woken", woken()),
        ("queueing", queueing()),
        ("closed", thread_events::closed()),
        ("forgotten", thread_events::forgotten()),
        ("marked", thread_events::marked()),
        ("chain", thread_events::chain()),
        ("family", family::family()),
        ("robbed", thread_events::robbed(Some(3))),
        ("robbed_of_others", thread_events::robbed(None)),
        ("deadlock", locks::deadlock()),
        ("pairs", locks::pairs()),
        ("held", locks::held()),
        ("joins", locks::joins_of_three()),
        ("joiner", joiner::joiner()),
        ("ring", locks::ring()),
        ("two_locks", locks::two_locks()),
        ("line", locks::line()),
        ("senders", senders::senders()),
        ("consumer", senders::consumer()),
        ("late", late::late()),
        ("shutdown", shutdown::shutdown()),
        ("lints", lints::lints(0)),
        ("lints_robbed", lints::lints(4)),
        ("looked_at", outside::looked_at()),
        ("nothing_to_read", outside::nothing_to_read()),
        ("closed_before", outside::closed_before()),
        ("busy", busy()),
        ("kept_thread", hogs::kept_thread()),
        ("inspected_threads", hogs::inspected_threads()),
        ("stackful", stackful::stackful()),
        ("wide", wide::wide()),
        ("before", compared::before()),
        ("after", compared::after()),
    ]
}

/// Traces with faults of programs or recordings.
fn of_faults() -> Vec<Named> {
    vec![
        ("torn", broken::torn()),
        ("dubious", broken::dubious()),
        ("lossy", broken::lossy()),
        ("lossy_ends", broken::lossy_ends()),
        ("leaks", leaks()),
        ("outlived", outlived()),
        ("crash", crash::on_a_known_thread()),
        ("suspects", crash::on_an_unknown_thread()),
        ("bystanders", crash::without_runs()),
        ("killed", crash::from_outside()),
        ("survivor", crash::after_another_process()),
        ("broken", crash::broken()),
        ("hostile", broken::hostile()),
        ("truncated", broken::truncated()),
        ("corrupt", broken::corrupt()),
        ("idle", broken::idle()),
        ("refused", broken::refused()),
        ("image", broken::refused_in_image()),
        ("crowded", broken::crowded()),
        ("unrecorded", broken::unrecorded()),
        ("short", broken::short()),
        ("idle_image", broken::idle_in_image()),
        ("nobody", broken::unknown(true)),
        ("unattached", broken::unknown(false)),
        ("empty", Vec::new()),
        (
            "alien",
            b"#!/bin/sh\necho this is no trace at all\n".to_vec(),
        ),
        ("newer", broken::newer()),
    ]
}

/// Traces of other recording modes and other tools.
fn of_modes() -> Vec<Named> {
    vec![
        ("summary", summed::summary()),
        ("mixed", summed::mixed()),
        ("flight", flight::landed()),
        ("snapshot", flight::snapshot()),
        ("inspected", inspected::with_faults()),
        ("inspected_attached", inspected::attached()),
        ("inspected_once", inspected::once()),
        ("inspected_core_file", inspected::core_file()),
        ("inspected_healthy", inspected::healthy()),
        ("inspected_cpp", inspected::cpp()),
        ("inspected_boxed", inspected::boxed()),
        ("inspected_stripped", inspected::stripped()),
        ("three_runs", foreign::three_runs().bytes),
        ("filtered", filtered::stopped()),
        ("filtered_often", filtered::often()),
        ("left_unseen", filtered::crashed(EventKind::Suspend)),
        ("ran_unseen", filtered::crashed(EventKind::Run)),
    ]
}

/// 50 sessions that read from sockets; 47 of them are never woken again after 0.6 s.
fn lost_wakeup(bug: bool) -> Vec<u8> {
    let mut t = Trace::of("./lost_wakeup");
    let (spawn, main) = (t.source(SESSION, 6), t.source(SESSION, 2));
    let (read, accept) = (t.source(SESSION, 17), t.source(SESSION, 4));
    let tick = t.source(SESSION, 22);
    listener(&mut t, main, accept);
    for i in 0..2 {
        timer(&mut t, main, tick, i);
    }
    for i in 0..50 {
        session(&mut t, spawn, read, i, bug && i < 47);
    }
    t.finish()
}

fn listener(t: &mut Trace, main: SiteId, accept: SiteId) {
    let coroutine = t.born("accept_loop", main, 2 * MS);
    t.wake(coroutine, 0, 0, Waker::Foreign);
    t.run(coroutine, 3 * MS, 4127);
    t.suspend(coroutine, 4 * MS, 4127, wait(accept, WaitKind::Readable, 3));
    t.event_counts(coroutine, None, false);
}

fn timer(t: &mut Trace, main: SiteId, tick: SiteId, i: u64) {
    let coroutine = t.born("ticker", main, 5 * MS);
    t.wake(coroutine, 0, 0, Waker::Foreign);
    t.run(coroutine, 6 * MS, 4127);
    let due = MONOTONIC + 12_800 * MS + i * 100 * MS;
    t.suspend(coroutine, 7 * MS, 4127, wait(tick, WaitKind::Timer, due));
    t.event_counts(coroutine, None, false);
}

fn session(t: &mut Trace, spawn: SiteId, read: SiteId, i: u64, stuck: bool) {
    let from = 10 * MS + i * MS / 10;
    let coroutine = t.born("session", spawn, from);
    t.wake(coroutine, 0, 0, Waker::Foreign);
    t.run(coroutine, from + MS / 10, 4127);
    let fd = wait(read, WaitKind::Readable, 17 + i);
    let length = 1_900_000;
    let times = if stuck { 190 } else { 4_100 };
    let beat = Beat {
        from: from + MS,
        period: 3 * MS,
        length,
        queued: MS / 20,
        times,
    };
    let woken = t.healthy(coroutine, fd, &beat);
    if stuck {
        t.suspend(
            coroutine,
            from + 600 * MS,
            4127 + i % 2,
            builder::Wait {
                wake_seen: woken,
                ..fd
            },
        );
    } else {
        let last = 12_398 * MS - from;
        t.suspend(
            coroutine,
            from + last,
            4127,
            builder::Wait {
                wake_seen: woken,
                ..fd
            },
        );
    }
    t.event_counts(coroutine, None, false);
}

/// Coroutines of these names, spawned at one place, that wait at another.
pub fn named(names: &[&str]) -> Vec<u8> {
    let mut t = Trace::of("./named");
    let (spawn, read) = (t.source(SESSION, 6), t.source(SESSION, 17));
    for (i, name) in (0..).zip(names) {
        let coroutine = t.born(name, spawn, MS);
        t.run(coroutine, 2 * MS, 4127);
        t.suspend(
            coroutine,
            3 * MS,
            4127,
            wait(read, WaitKind::Readable, 17 + i),
        );
        t.event_counts(coroutine, None, false);
    }
    t.finish()
}

/// Two locks are wanted on one line, and a third thing on another.
fn duplicates() -> Vec<u8> {
    let mut t = Trace::of("./twins");
    let spawn = t.source(SESSION, 6);
    for (i, (line, column)) in (0..).zip([(17, 22), (17, 52), (4, 9)]) {
        let site = t.source_at(SESSION, line, column);
        let coroutine = t.born("session", spawn, MS);
        t.run(coroutine, 2 * MS, 4127);
        let number = 0x7f00_0000_1000 + i * 64;
        t.suspend(coroutine, 3 * MS, 4127, wait(site, WaitKind::Lock, number));
        t.event_counts(coroutine, None, false);
    }
    t.end.how = ExitReason::Exited(0);
    t.finish()
}

/// 20 coroutines dropped while they waited, for long.
fn cancelled() -> Vec<u8> {
    let mut t = Trace::of("./cancelled");
    let (spawn, read) = (t.source(SESSION, 6), t.source(SESSION, 17));
    for i in 0..20 {
        let coroutine = t.born("session", spawn, MS);
        t.run(coroutine, 2 * MS, 4127);
        t.suspend(
            coroutine,
            3 * MS,
            4127,
            wait(read, WaitKind::Readable, 17 + i),
        );
        t.death(coroutine, 9 * SECOND + i * MS);
    }
    t.end.how = ExitReason::Exited(0);
    t.finish()
}

/// A plain v1 program, without recorded births, waits and wakes.
fn peers() -> Vec<u8> {
    let mut t = Trace::of("python3 ./server.py --port 8080");
    let here = t.place(Place::Address(0x40_1136));
    let missing = Module {
        process: ProcessId(1),
        start: 0x40_0000,
        end: 0x40_2000,
        path: b"/nonexistent/server".to_vec(),
        build_id: vec![0xab; 20],
        ..Module::default()
    };
    t.add(Record::Module(missing));
    for i in 0..3 {
        let coroutine = t.peer(Dialect::V1PerSlot, "", SiteId(0), MS);
        t.run(coroutine, 2 * MS, 77);
        t.suspend(
            coroutine,
            (3 + i) * SECOND,
            77,
            wait(here, WaitKind::Unknown, 0),
        );
        t.event_counts(coroutine, None, false);
    }
    let fresh = t.peer(Dialect::V1PerStation, "", SiteId(0), MS);
    t.run(fresh, 2 * MS, 78);
    t.suspend(
        fresh,
        12_100 * MS,
        78,
        wait(SiteId(0), WaitKind::Unknown, 0),
    );
    t.event_counts(fresh, None, false);
    t.finish()
}

fn busy_bee(t: &mut Trace, spawn: SiteId, read: SiteId, times: u16) -> Coroutine {
    let bee = t.born("session", spawn, MS);
    t.wake(bee, 0, 0, Waker::Foreign);
    t.run(bee, 2 * MS, 4127);
    let beat = Beat {
        from: 3 * MS,
        period: 12 * MS,
        length: 2 * MS,
        queued: MS,
        times,
    };
    t.healthy(bee, wait(read, WaitKind::Readable, 9), &beat);
    bee
}

/// Woken, but never run again, while others are.
fn woken() -> Vec<u8> {
    let mut t = Trace::of("./woken");
    let (spawn, read) = (t.source(SESSION, 6), t.source(SESSION, 17));
    let bee = busy_bee(&mut t, spawn, read, 1_000);
    t.event_counts(bee, None, false);
    for i in 0..2 {
        let coroutine = t.born("session", spawn, MS);
        t.wake(coroutine, 0, 0, Waker::Foreign);
        t.run(coroutine, 2 * MS, 4128);
        t.suspend(
            coroutine,
            3 * MS,
            4128,
            wait(read, WaitKind::Readable, 17 + i),
        );
        t.wake(coroutine, 1, 500 * MS, Waker::Coroutine(bee.0));
        t.event_counts(coroutine, None, false);
    }
    let later = t.born("session", spawn, 5 * SECOND);
    t.run(later, 5 * SECOND + MS, 4128);
    t.death(later, 5 * SECOND + 2 * MS);
    t.finish()
}

/// Coroutines that were woken long ago, while no other coroutine ran either.
fn queueing() -> Vec<u8> {
    let mut t = Trace::of("./queueing");
    let (spawn, read) = (t.source(SESSION, 6), t.source(SESSION, 17));
    let bee = busy_bee(&mut t, spawn, read, 20);
    t.event_counts(bee, None, false);
    let coroutine = t.born("session", spawn, MS);
    t.wake(coroutine, 0, 0, Waker::Foreign);
    t.run(coroutine, 2 * MS, 4128);
    t.suspend(coroutine, 3 * MS, 4128, wait(read, WaitKind::Readable, 17));
    t.wake(coroutine, 1, 500 * MS, Waker::Foreign);
    t.event_counts(coroutine, None, false);
    let newborn = t.born("session", spawn, 400 * MS);
    t.event_counts(newborn, None, false);
    t.finish()
}

/// A coroutine that blocks its thread, another that never ran, and a third with an overdue timer.
fn busy() -> Vec<u8> {
    let mut t = Trace::of("./busy");
    let (spawn, read) = (t.source(SESSION, 6), t.source(SESSION, 17));
    let tick = t.source(SESSION, 22);
    let bee = busy_bee(&mut t, spawn, read, 500);
    t.event_counts(bee, None, false);
    let forgotten = t.born("forgotten", spawn, 40 * MS);
    t.wake(forgotten, 1, 41 * MS, Waker::Thread(4127));
    t.event_counts(forgotten, None, false);
    let late = t.born("ticker", spawn, MS);
    t.wake(late, 0, 0, Waker::Foreign);
    t.run(late, 2 * MS, 4128);
    t.suspend(
        late,
        3 * MS,
        4128,
        wait(tick, WaitKind::Timer, MONOTONIC + 2 * SECOND),
    );
    t.event_counts(late, None, false);
    t.finish()
}

/// A process that ended long before the recording did.
fn outlived() -> Vec<u8> {
    let mut t = Trace::of("./server --fork");
    let (spawn, read) = (t.source(SESSION, 6), t.source(SESSION, 17));
    let coroutine = t.born("session", spawn, MS);
    t.run(coroutine, 2 * MS, 4127);
    t.suspend(coroutine, 3 * MS, 4127, wait(read, WaitKind::Readable, 17));
    t.event_counts(coroutine, None, false);
    t.add(Record::ProcessEnd(ProcessEnd {
        process: ProcessId(1),
        at: Nanos(303 * MS),
        how: ProcessExit::Exited(0),
    }));
    t.finish()
}

/// A program that exited with living coroutines.
fn leaks() -> Vec<u8> {
    let mut t = Trace::of("./leaks --once");
    let (spawn, read) = (t.source(SESSION, 6), t.source(SESSION, 17));
    for i in 0..3 {
        let coroutine = t.born("session", spawn, MS);
        t.wake(coroutine, 0, 0, Waker::Foreign);
        t.run(coroutine, 2 * MS, 4127);
        t.suspend(
            coroutine,
            3 * MS,
            4127,
            wait(read, WaitKind::Readable, 17 + i),
        );
        t.event_counts(coroutine, None, false);
    }
    let running = t.born("main_task", spawn, MS);
    t.run(running, 2 * MS, 4126);
    t.event_counts(running, None, false);
    let unborn = t.born("never", spawn, 3 * MS);
    t.event_counts(unborn, None, false);
    t.end = End {
        at: Nanos(300 * MS),
        how: ExitReason::Exited(0),
        ..t.end
    };
    // What a child had that was killed is no leak.
    t.process = ProcessId(2);
    t.add(Record::Process(Process {
        id: ProcessId(2),
        pid: 4200,
        attached: Nanos(MS),
    }));
    let killed = t.born("session", spawn, MS);
    t.run(killed, 2 * MS, 4200);
    t.event_counts(killed, None, false);
    t.add(Record::ProcessEnd(ProcessEnd {
        process: ProcessId(2),
        at: Nanos(303 * MS),
        how: ProcessExit::Signalled(9),
    }));
    t.finish()
}
