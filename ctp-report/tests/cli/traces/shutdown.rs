//! A program that drops its coroutines in order to end.

use ctp_trace::record::*;

use super::SESSION;
use super::builder::{MS, Trace, wait};

/// Three coroutines wait for descriptors that were closed without a wake. At the end, the program drops them.
pub fn shutdown() -> Vec<u8> {
    let mut t = Trace::of("./shutdown");
    let (spawn, read, hangup) = (
        t.source(SESSION, 6),
        t.source(SESSION, 17),
        t.source(SESSION, 22),
    );
    let readers: Vec<_> = (17..20)
        .map(|fd| {
            let reader = t.born("reader", spawn, MS);
            t.wake(reader, 0, 0, Waker::Foreign);
            t.run(reader, 2 * MS, 4126);
            t.suspend(reader, 3 * MS, 4126, wait(read, WaitKind::Readable, fd));
            t.close(700 * MS, 4126, WaitKind::Readable, fd, hangup);
            reader
        })
        .collect();
    for reader in readers {
        t.death(reader, 12_390 * MS);
    }
    t.end = End {
        how: ExitReason::Exited(0),
        ..t.end
    };
    t.finish()
}
