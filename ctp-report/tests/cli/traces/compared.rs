//! Two recordings of a program, between which some waits changed.

use super::SESSION;
use super::builder::{Beat, MS, SECOND, Trace, wait};
use ctp_trace::record::*;

/// Coroutines of each name.
const COROUTINES: u64 = 10;

/// A site: the line, the kind of wait, the name of the coroutines, and the shortest wait.
type Place = (u32, WaitKind, &'static str, u64);

pub fn before() -> Vec<u8> {
    let all = [
        (17, WaitKind::Readable, "session", 2 * MS),
        (22, WaitKind::Timer, "ticker", 5 * MS),
        (31, WaitKind::Lock, "worker", 4 * MS),
        (44, WaitKind::Writable, "flusher", MS),
    ];
    trace(1, &all)
}

/// The sessions wait three times as long, the workers half as long, and two lines below. The flushers are
/// gone, and batches are new, which have a hostile name.
pub fn after() -> Vec<u8> {
    let all = [
        (17, WaitKind::Readable, "session", 6 * MS),
        (22, WaitKind::Timer, "ticker", 5 * MS),
        (33, WaitKind::Lock, "worker", 2 * MS),
        (58, WaitKind::Channel, "batch <&>;\x1b[2J", 3 * MS),
    ];
    trace(2, &all)
}

fn trace(number: u8, all: &[Place]) -> Vec<u8> {
    let mut t = Trace::of("./compared");
    t.start.trace_id = [number; 16];
    t.start.started_unix_ns += u64::from(number) * 3_600 * SECOND;
    let spawn = t.source(SESSION, 6);
    for place in all {
        coroutines(&mut t, spawn, *place);
    }
    t.end.how = ExitReason::Exited(0);
    t.finish()
}

/// The waits of each coroutine are a tenth longer than those of the coroutine before.
fn coroutines(t: &mut Trace, spawn: SiteId, (line, kind, name, shortest): Place) {
    let site = t.source(SESSION, line);
    for i in 0..COROUTINES {
        let coroutine = t.born(&format!("{name}-{i}"), spawn, MS);
        t.wake(coroutine, 0, 0, Waker::Foreign);
        t.run(coroutine, 2 * MS, 4127);
        let beat = Beat {
            from: 3 * MS + i * MS,
            period: 50 * MS,
            length: shortest + i * shortest / 10,
            queued: MS / 20,
            times: 200,
        };
        t.healthy(coroutine, wait(site, kind, 9), &beat);
        t.death(coroutine, 11 * SECOND + i * MS);
    }
}
