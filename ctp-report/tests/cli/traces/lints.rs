//! Coroutines for each lint, and similar coroutines that are fine.

use ctp_trace::record::*;

use super::SESSION;
use super::builder::{self, Coroutine, MS, SECOND, Trace, wait};

/// All of them; `lost` records were lost of wakes by a thread besides.
pub fn lints(lost: u32) -> Vec<u8> {
    let mut t = Trace::of("./lints");
    let (main, spawn) = (t.source(SESSION, 2), t.source(SESSION, 6));
    let (read, queue) = (t.source(SESSION, 17), t.source(SESSION, 22));
    for tid in 4126..=4131 {
        t.thread_event(MS, tid, Act::Begin);
    }
    for i in 0..3 {
        let polls = wait(read, WaitKind::Unknown, 0);
        waker_of_itself(&mut t, ("spinner", spawn), polls, i, lost);
    }
    let turn = wait(queue, WaitKind::Yield, 0);
    waker_of_itself(&mut t, ("polite", spawn), turn, 3, lost);
    cruncher(&mut t, main, 4129, Some(3_202 * MS));
    cruncher(&mut t, main, 4130, None);
    host(&mut t, main, queue);
    forsaken(&mut t, spawn, read);
    if 0 < lost {
        t.thread_event(9 * SECOND, 4127, Act::Loss(lost.into()));
    }
    t.finish()
}

/// 200 runs in which it wakes itself, and ten times another one does.
fn waker_of_itself(
    t: &mut Trace,
    (name, spawn): (&str, SiteId),
    wait: builder::Wait,
    i: u64,
    lost: u32,
) {
    let coroutine = t.born(name, spawn, 2 * MS);
    t.run(coroutine, 3 * MS, 4127);
    let mut count = 0;
    for round in 0..210 {
        let at = 10 * MS + i * MS + round * 5 * MS;
        let is_own = round % 21 != 20;
        count += 1;
        if is_own {
            call(t, coroutine, count, at, Waker::Coroutine(coroutine.0));
        }
        t.suspend(coroutine, at + MS / 10, 4127, wait);
        if !is_own {
            count += lost;
            call(t, coroutine, count, at + MS / 5, Waker::Thread(4126));
        }
        t.run(coroutine, at + MS, 4127);
    }
    t.suspend(coroutine, 12 * SECOND, 4127, wait);
    t.wake(coroutine, count, 11 * SECOND, Waker::Foreign);
    t.event_counts(coroutine, None, false);
}

fn call(t: &mut Trace, coroutine: Coroutine, count: u32, at: u64, by: Waker) {
    let call = WakeCall {
        coroutine: coroutine.0,
        count,
        by,
        site: SiteId(0),
    };
    let tid = if by == Waker::Thread(4126) {
        4126
    } else {
        4127
    };
    t.thread_event(at, tid, Act::Wake(call));
}

fn cruncher(t: &mut Trace, main: SiteId, tid: u64, until: Option<u64>) {
    let coroutine = t.born("crunch", main, 2 * MS);
    t.run(coroutine, 2 * MS, tid);
    match until {
        Some(at) => t.death(coroutine, at),
        None => t.event_counts(coroutine, None, false),
    }
}

/// Runs to the end and polls another one meanwhile.
fn host(t: &mut Trace, main: SiteId, queue: SiteId) {
    let (host, guest) = (t.born("block_on", main, MS), t.born("guest", main, MS));
    t.run(host, 2 * MS, 4131);
    t.run(guest, 3 * MS, 4131);
    t.suspend(guest, 4 * MS, 4131, wait(queue, WaitKind::Channel, 7));
    t.event_counts(host, None, false);
    t.event_counts(guest, None, false);
}

/// A wake of the coroutine has led to a run, and no waker of the coroutine is left.
fn forsaken(t: &mut Trace, spawn: SiteId, read: SiteId) {
    let coroutine = t.born("signal", spawn, 2 * MS);
    t.run(coroutine, 3 * MS, 4128);
    t.suspend(coroutine, 4 * MS, 4128, wait(read, WaitKind::Channel, 9));
    t.wake(coroutine, 1, 400 * MS, Waker::Thread(4126));
    t.run(coroutine, 401 * MS, 4128);
    let counted = builder::Wait {
        wake_seen: 1,
        ..wait(read, WaitKind::Channel, 9)
    };
    t.suspend(coroutine, 410 * MS, 4128, counted);
    let event_counts = t.account(coroutine, None, false);
    t.add(Record::EventCounts(EventCounts {
        wakers: Some(0),
        ..event_counts
    }));
}
