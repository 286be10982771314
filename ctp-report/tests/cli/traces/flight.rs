//! Traces of a flight recorder.

use super::SESSION;
use super::builder::{Beat, MS, SECOND, Trace, durations, wait};
use ctp_trace::record::*;

const US: u64 = 1_000;

/// The last two seconds of a server: six sessions go on as they always did, two have waited since
/// before that, and a thousand others ended long ago.
fn server() -> Trace {
    let mut t = Trace::of("./server --for-ever");
    t.end.at = Nanos(3_600 * SECOND);
    let (spawn, main) = (t.source(SESSION, 6), t.source(SESSION, 2));
    let (read, accept) = (t.source(SESSION, 17), t.source(SESSION, 4));
    let since = 3_598 * SECOND;
    t.add(Record::EndedSums(Box::new(EndedSums {
        process: t.process,
        name: "session".into(),
        spawn_site: spawn,
        coroutines: 1_000,
        events: 802_000,
        bins: Bins::USUAL,
        waiting: durations(&[(700 * US, 400), (2 * MS, 600)]),
        running: durations(&[(5 * US, 1_000)]),
        ..EndedSums::default()
    })));
    for i in 0..8 {
        let coroutine = t.peer(Dialect::Extended, "session", spawn, 10 * MS);
        t.fly(coroutine, &[(2 * MS, 1_000)], &[(5 * US, 1_000)], 2_001);
        let wait = wait(read, WaitKind::Readable, 17 + i);
        if i < 2 {
            t.run(coroutine, 3_000 * SECOND, 4127);
            t.suspend(coroutine, 3_000 * SECOND + MS, 4127, wait);
        } else {
            t.run(coroutine, since + MS, 4127);
            let beat = Beat {
                from: since + 2 * MS,
                period: 100 * MS,
                length: 2 * MS,
                queued: 10 * US,
                times: 19,
            };
            t.healthy_until(coroutine, wait, &beat, since + 1_999 * MS);
        }
        t.event_counts(coroutine, None, false);
    }
    let listener = t.born("accept_loop", main, 2 * MS);
    t.run(listener, 3 * MS, 4127);
    t.suspend(listener, 4 * MS, 4127, wait(accept, WaitKind::Readable, 3));
    t.event_counts(listener, None, false);
    t
}

fn window(goes_on: bool) -> Record {
    Record::Window(Window {
        since: Nanos(3_598 * SECOND),
        overwritten: 900_000,
        unattributed: 0,
        goes_on,
    })
}

/// A trace that was written when the program ended.
pub fn landed() -> Vec<u8> {
    let mut t = server();
    t.add(window(false));
    t.finish()
}

/// A snapshot of a running program, with records that could not be attributed.
pub fn snapshot() -> Vec<u8> {
    let mut t = server();
    t.end.how = ExitReason::Stopped;
    t.add(Record::Window(Window {
        since: Nanos(3_598 * SECOND),
        overwritten: 900_000,
        unattributed: 12,
        goes_on: true,
    }));
    t.finish()
}
