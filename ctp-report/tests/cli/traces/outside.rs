//! Descriptors that the recorder observed while coroutines waited for them.

use ctp_trace::record::*;

use super::builder::{Beat, MS, SECOND, Trace, wait};
use super::{SESSION, busy_bee};

/// Each waits from 0.2 s on. Of two the descriptor is closed, of one perhaps only its number, of one
/// it is another thing by now, one has bytes and one was left; one is quiet. Another one is served all
/// the time. In the end a process did not let itself be looked at.
pub fn looked_at() -> Vec<u8> {
    let mut t = Trace::of("./quiet");
    let (spawn, read) = (t.source(SESSION, 6), t.source(SESSION, 17));
    let (busy, serve) = (t.born("busy", spawn, MS), t.source(SESSION, 31));
    t.run(busy, 2 * MS, 4127);
    let beat = Beat {
        from: 100 * MS,
        period: SECOND,
        length: 2 * MS,
        queued: MS,
        times: 12,
    };
    let handled = wait(serve, WaitKind::Readable, 9);
    t.healthy_until(busy, handled, &beat, 11_500 * MS);
    let seen = [
        Some(Seen::Closed),
        Some(Seen::Closed),
        Some(Seen::Replaced),
        Some(Seen::Readable(5)),
        Some(Seen::HungUp),
        Some(Seen::NumberClosed),
        Some(Seen::Unwatched(2)),
        None,
    ];
    for (fd, seen) in (17..).zip(seen) {
        let coroutine = t.born("session", spawn, MS);
        t.run(coroutine, 150 * MS, 4127);
        t.suspend(
            coroutine,
            200 * MS,
            4127,
            wait(read, WaitKind::Readable, fd),
        );
        t.wake(coroutine, 0, 0, Waker::Foreign);
        let look = |at: u64, seen| {
            Record::Look(Look {
                coroutine: coroutine.0,
                since: Nanos(200 * MS),
                at: Nanos(at),
                fd,
                thing: Thing::Socket,
                seen,
            })
        };
        if let Some(seen) = seen {
            t.add(look(1200 * MS, Seen::Open));
            t.add(look(5 * SECOND, seen));
            t.add(look(5200 * MS, seen));
        } else {
            t.add(look(1200 * MS, Seen::Hidden));
        }
        t.event_counts(coroutine, None, false);
    }
    t.event_counts(busy, None, false);
    t.finish()
}

/// One is served all the time; beside it two have nothing to read, as is seen until the end, and of a
/// third that is known only of the beginning.
pub fn nothing_to_read() -> Vec<u8> {
    let mut t = Trace::of("./chatty");
    let (spawn, read) = (t.source(SESSION, 6), t.source(SESSION, 17));
    let bee = busy_bee(&mut t, spawn, read, 500);
    t.event_counts(bee, None, false);
    for (fd, last) in [(17, 12_200), (18, 12_000), (19, 1_200)] {
        let coroutine = t.born("session", spawn, MS);
        t.run(coroutine, 150 * MS, 4127);
        t.suspend(
            coroutine,
            200 * MS,
            4127,
            wait(read, WaitKind::Readable, fd),
        );
        t.wake(coroutine, 0, 0, Waker::Foreign);
        for at in [1_200, last] {
            t.add(Record::Look(Look {
                coroutine: coroutine.0,
                since: Nanos(200 * MS),
                at: Nanos(at * MS),
                fd,
                thing: Thing::Socket,
                seen: Seen::Empty,
            }));
        }
        t.event_counts(coroutine, None, false);
    }
    t.finish()
}

/// What one waits for is closed, and its number is that of something else by the time of the looks.
pub fn closed_before() -> Vec<u8> {
    let mut t = Trace::of("./served");
    let (spawn, read) = (t.source(SESSION, 6), t.source(SESSION, 17));
    let hangup = t.source("src/reactor.rs", 141);
    let coroutine = t.born("session", spawn, MS);
    t.wake(coroutine, 0, 0, Waker::Foreign);
    t.run(coroutine, 150 * MS, 4127);
    t.suspend(
        coroutine,
        200 * MS,
        4127,
        wait(read, WaitKind::Readable, 17),
    );
    let close = Close {
        wait: WaitKind::Readable,
        arg: 17,
        site: hangup,
    };
    t.thread_event(300 * MS, 4128, Act::Close(close));
    for at in [5000, 5200] {
        t.add(Record::Look(Look {
            coroutine: coroutine.0,
            since: Nanos(200 * MS),
            at: Nanos(at * MS),
            fd: 17,
            thing: Thing::Socket,
            seen: Seen::Readable(5),
        }));
    }
    t.event_counts(coroutine, None, false);
    t.finish()
}
