//! Recordings with totals instead of history.

use super::SESSION;
use super::builder::{MS, SECOND, Trace, wait};
use ctp_trace::record::*;

const US: u64 = 1_000;

/// Eight sessions with a thousand waits each, of which two go on for 11 s; a listener of which no
/// wait has ever ended; and a ticker that a signal handler interrupted.
pub fn summary() -> Vec<u8> {
    let mut t = Trace::of("./server --for-days");
    let (spawn, main) = (t.source(SESSION, 6), t.source(SESSION, 2));
    let (read, accept) = (t.source(SESSION, 17), t.source(SESSION, 4));
    for i in 0..8 {
        let coroutine = t.born("session", spawn, 10 * MS);
        let waits = [(700 * US, 400), (2 * MS, 600), ((10 + i) * MS, 1)];
        t.sum_up(coroutine, &waits, &[(5 * US, 900), (70 * US, 101)]);
        let since = if i < 2 { 1_400 * MS } else { 12_398 * MS };
        t.run(coroutine, since - MS, 4127);
        t.suspend(
            coroutine,
            since,
            4127,
            wait(read, WaitKind::Readable, 17 + i),
        );
        t.event_counts(coroutine, None, false);
    }
    let listener = t.born("accept_loop", main, 2 * MS);
    t.run(listener, 3 * MS, 4127);
    t.suspend(listener, 4 * MS, 4127, wait(accept, WaitKind::Readable, 3));
    t.sum_up(listener, &[], &[]);
    t.event_counts(listener, None, false);
    let ticker = t.born("ticker", main, 2 * MS);
    t.sum_up_but(ticker, &[(100 * MS, 120)], &[(900, 120)], 2);
    t.run(ticker, 12_390 * MS, 4127);
    t.event_counts(ticker, None, false);
    t.finish()
}

/// A plain v1 program beside: its few figures come from its events, some of which are lost.
pub fn mixed() -> Vec<u8> {
    let mut t = Trace::of("./old-and-new");
    let spawn = t.source(SESSION, 6);
    let read = t.source(SESSION, 17);
    let new = t.born("session", spawn, MS);
    t.sum_up(new, &[(MS, 500)], &[(US, 500)]);
    t.run(new, 12 * SECOND, 4127);
    t.event_counts(new, None, false);
    let old = t.peer(Dialect::V1PerSlot, "old", SiteId(0), MS);
    for i in 0..3 {
        t.run(old, (10 + 20 * i) * MS, 77);
        t.suspend(
            old,
            (12 + 20 * i) * MS,
            77,
            wait(read, WaitKind::Unknown, 0),
        );
    }
    t.lose(old, 40);
    t.run(old, SECOND, 77);
    t.event_counts(old, None, false);
    t.finish()
}
