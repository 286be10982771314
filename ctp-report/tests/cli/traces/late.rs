//! Wakes that are recorded late, or by threads that lost records.

use ctp_trace::record::*;

use super::SESSION;
use super::builder::{self, Coroutine, MS, SECOND, Trace, wait};

/// A coroutine is woken three times. The first wake is recorded after the run that it caused. The last
/// wake comes from an ended coroutine on a thread that did not record the call. Another coroutine lost
/// its last events.
pub fn late() -> Vec<u8> {
    let mut t = Trace::of("./server");
    let (spawn, read, send) = (
        t.source(SESSION, 6),
        t.source(SESSION, 17),
        t.source(SESSION, 22),
    );
    let waits = |wake_seen| builder::Wait {
        wake_seen,
        ..wait(read, WaitKind::Channel, 7)
    };
    let [reported, helper, missing] =
        ["told late", "helper", "gone"].map(|text| t.born(text, spawn, MS));
    let by = |coroutine: Coroutine| Waker::Coroutine(coroutine.0);
    t.wake(reported, 0, 0, Waker::Foreign);
    t.run(reported, 2 * MS, 4127);
    t.suspend(reported, 100 * MS, 4127, waits(0));
    t.run_knowing(reported, 200 * MS, 4127, 1);
    call(&mut t, reported, 1, 201 * MS, helper, send);
    t.suspend(reported, 300 * MS, 4127, waits(1));
    call(&mut t, reported, 2, 400 * MS, helper, send);
    t.run_knowing(reported, 410 * MS, 4127, 2);
    t.suspend(reported, 500 * MS, 4127, waits(2));
    t.wake(reported, 3, 600 * MS, by(missing));
    t.run_knowing(reported, 610 * MS, 4127, 3);
    t.suspend(reported, 620 * MS, 4127, waits(3));
    t.death(missing, SECOND);
    let robbed = t.born("robbed", spawn, MS);
    t.run(robbed, 2 * MS, 4127);
    t.lose(robbed, 3);
    t.event_counts(reported, None, false);
    t.event_counts(helper, None, false);
    t.event_counts(robbed, None, true);
    t.finish()
}

fn call(t: &mut Trace, coroutine: Coroutine, count: u32, at: u64, by: Coroutine, site: SiteId) {
    let call = WakeCall {
        coroutine: coroutine.0,
        count,
        by: Waker::Coroutine(by.0),
        site,
    };
    t.thread_event(at, 4126, Act::Wake(call));
    t.wake(coroutine, count, at, call.by);
}
