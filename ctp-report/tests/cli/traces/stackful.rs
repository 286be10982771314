//! Coroutines that wait on stacks of their own.

use ctp_trace::record::*;

use super::builder::{Coroutine, MS, SECOND, Trace, wait};

const SESSION: &str = "src/session.rs";

/// Two coroutines that wait at the same place, one at another, one of which a part of the stack is known, one
/// that went on while its stack was read, and one whose stack was read in an earlier wait.
pub fn stackful() -> Vec<u8> {
    let mut t = Trace::of("./green");
    let spawn = t.source(SESSION, 6);
    let read = t.source(SESSION, 17);
    let mut suspended = Vec::new();
    for (number, name) in ["reader", "reader", "reader", "cut", "moving", "late"]
        .iter()
        .enumerate()
    {
        let coroutine = t.born(name, spawn, MS);
        t.run(coroutine, 2 * MS, 4127);
        let at = (3 + number as u64) * MS;
        t.suspend(coroutine, at, 4127, wait(read, WaitKind::Readable, 9));
        suspended.push((coroutine, at));
    }
    let (late, _) = suspended[5];
    t.run(late, 4 * SECOND, 4127);
    t.suspend(late, 5 * SECOND, 4127, wait(read, WaitKind::Readable, 9));
    let whole = [0x1000, 0x2000, 0x3000];
    stack(&mut t, suspended[0], &whole, true);
    stack(&mut t, suspended[1], &whole, true);
    stack(&mut t, suspended[2], &[0x1000, 0x4000, 0x3000], true);
    stack(&mut t, suspended[3], &[0x1000, 0x2000], false);
    stack(&mut t, suspended[4], &[], false);
    stack(&mut t, suspended[5], &whole, true);
    for (coroutine, _) in suspended {
        t.event_counts(coroutine, None, false);
    }
    t.finish()
}

fn stack(t: &mut Trace, (coroutine, since): (Coroutine, u64), addresses: &[u64], is_whole: bool) {
    t.add(Record::CoroutineStack(CoroutineStack {
        coroutine: coroutine.0,
        since: Nanos(since),
        at: Nanos(2 * SECOND),
        addresses: addresses.to_vec(),
        is_whole,
        is_moving: addresses.is_empty(),
    }));
}
