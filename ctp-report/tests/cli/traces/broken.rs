//! Traces that are incomplete, damaged, empty or malicious.

use ctp_trace::record::*;

use super::builder::{MS, SECOND, Trace, wait};
use super::{SESSION, busy_bee, listener, lost_wakeup};

/// A writer that died in the middle of an event, and a coroutine with unreliable counts.
pub fn torn() -> Vec<u8> {
    let mut t = Trace::of("./torn");
    let (spawn, read) = (t.source(SESSION, 6), t.source(SESSION, 17));
    for torn in [Some(3), None] {
        let coroutine = t.born("session", spawn, MS);
        t.wake(coroutine, 0, 0, Waker::Foreign);
        t.run(coroutine, 2 * MS, 4128);
        t.suspend(coroutine, 3 * MS, 4128, wait(read, WaitKind::Readable, 17));
        t.event_counts(coroutine, torn, torn.is_none());
    }
    t.end.how = ExitReason::Signalled(9);
    t.finish()
}

/// Nothing is lost, but the counts of one that has ended cannot be trusted.
pub fn dubious() -> Vec<u8> {
    let mut t = Trace::of("./dubious");
    let (spawn, read) = (t.source(SESSION, 6), t.source(SESSION, 17));
    let coroutine = t.born("session", spawn, MS);
    t.run(coroutine, 2 * MS, 4128);
    t.suspend(coroutine, 3 * MS, 4128, wait(read, WaitKind::Readable, 17));
    t.run(coroutine, 4 * MS, 4128);
    t.dubious_death(coroutine, 5 * MS, true);
    t.finish()
}

/// Some events are lost, but not the last ones.
pub fn lossy() -> Vec<u8> {
    let mut t = Trace::of("./lossy");
    let (spawn, read) = (t.source(SESSION, 6), t.source(SESSION, 17));
    let accept = t.source(SESSION, 4);
    let bee = busy_bee(&mut t, spawn, read, 20);
    t.lose(bee, 212);
    t.suspend(bee, 3 * SECOND, 4127, wait(read, WaitKind::Readable, 9));
    t.run(bee, 4 * SECOND, 4127);
    t.event_counts(bee, None, false);
    let late = t.born("session", spawn, MS);
    t.run(late, 12 * SECOND, 4127);
    t.suspend(
        late,
        12 * SECOND + MS,
        4127,
        wait(read, WaitKind::Readable, 10),
    );
    t.event_counts(late, None, false);
    listener(&mut t, spawn, accept);
    t.finish()
}

/// Events were lost before the first and after the last known event of a coroutine, and the end of another.
pub fn lossy_ends() -> Vec<u8> {
    let mut t = Trace::of("./lossy_ends");
    let (spawn, read) = (t.source(SESSION, 6), t.source(SESSION, 17));
    let waiting = t.peer(Dialect::Extended, "session", spawn, MS);
    t.lose(waiting, 3);
    t.run(waiting, 2 * SECOND, 4127);
    t.lose(waiting, 4);
    t.suspend(
        waiting,
        3 * SECOND,
        4127,
        wait(read, WaitKind::Readable, 10),
    );
    t.lose(waiting, 6);
    let ended = t.born("request", spawn, MS);
    t.run(ended, 4 * SECOND, 4127);
    t.lose(ended, 1);
    t.event_counts(ended, None, false);
    t.event_counts(waiting, None, false);
    t.finish()
}

/// Hostile names.
pub fn hostile() -> Vec<u8> {
    let mut t = Trace::of("./x;y \x1b[2J");
    t.start.host = "<script>alert(1)</script>&\"\u{202e}".into();
    t.start.argv.push(b"\xff\x00\n".to_vec());
    let spawn = t.source("src/<script>&\".rs", 6);
    let deep = format!("/{}/file.rs", "a_very_long_directory_name".repeat(8));
    let read = t.source(&deep, 4_000_000_000);
    let name = format!("<script>&\";\x1b[31m 1 2 \u{ffff}{}", "x".repeat(300));
    for i in 0..3 {
        let coroutine = t.born(&name, spawn, MS);
        t.wake(coroutine, 0, 0, Waker::Foreign);
        t.run(coroutine, 2 * MS, u64::MAX);
        t.suspend(
            coroutine,
            3 * MS,
            u64::MAX,
            wait(read, WaitKind::Lock, u64::MAX - i),
        );
        t.event_counts(coroutine, None, false);
    }
    t.finish()
}

/// The recorder was killed: the file has no end.
pub fn truncated() -> Vec<u8> {
    let whole = lost_wakeup(true);
    whole[..whole.len() - 20].to_vec()
}

/// A byte in the middle is not what was written.
pub fn corrupt() -> Vec<u8> {
    let mut bytes = lost_wakeup(true);
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xff;
    bytes
}

/// A coroutine that never waited.
pub fn idle() -> Vec<u8> {
    let mut t = Trace::of("./idle");
    let spawn = t.source(SESSION, 6);
    let coroutine = t.born("session", spawn, MS);
    t.event_counts(coroutine, None, false);
    t.finish()
}

pub fn refused() -> Vec<u8> {
    let mut t = Trace::of("./many");
    t.end.refused = 12;
    t.finish()
}

/// The same from a memory image of a device.
pub fn refused_in_image() -> Vec<u8> {
    let mut t = Trace::of("");
    t.start.argv.clear();
    let spawn = t.source(SESSION, 6);
    let coroutine = t.born("session", spawn, MS);
    t.event_counts(coroutine, None, false);
    t.end.refused = 12;
    t.end.how = ExitReason::Image;
    t.finish()
}

/// A memory with a single station.
pub fn crowded() -> Vec<u8> {
    let mut t = Trace::of("./many");
    let (spawn, read) = (t.source(SESSION, 6), t.source(SESSION, 17));
    let bee = busy_bee(&mut t, spawn, read, 20);
    t.event_counts(bee, None, false);
    t.end.refused = 1;
    t.finish()
}

/// A trace without three processes of the program.
pub fn unrecorded() -> Vec<u8> {
    let mut t = Trace::of("./many");
    let (spawn, read) = (t.source(SESSION, 6), t.source(SESSION, 17));
    let bee = busy_bee(&mut t, spawn, read, 20);
    t.event_counts(bee, None, false);
    t.end.unrecorded = 3;
    t.finish()
}

/// Its end counts more events than there are, as if blocks had been left out.
pub fn short() -> Vec<u8> {
    let mut t = Trace::of("./many");
    let (spawn, read) = (t.source(SESSION, 6), t.source(SESSION, 17));
    let bee = busy_bee(&mut t, spawn, read, 20);
    t.event_counts(bee, None, false);
    t.end.events += 409;
    t.finish()
}

/// Of memory that was dumped while its coroutine waited.
pub fn idle_in_image() -> Vec<u8> {
    let mut t = Trace::of("./board");
    let (spawn, read) = (t.source(SESSION, 6), t.source(SESSION, 17));
    let bee = busy_bee(&mut t, spawn, read, 20);
    t.event_counts(bee, None, false);
    t.end.how = ExitReason::Image;
    t.finish()
}

pub fn unknown(attached: bool) -> Vec<u8> {
    let mut t = Trace::of("./plain program");
    if !attached {
        t = t.detached();
    }
    t.end.how = ExitReason::Exited(0);
    t.finish()
}

pub fn newer() -> Vec<u8> {
    let mut bytes = unknown(true);
    let major = ctp_trace::format::MAGIC.len();
    bytes[major] = 9;
    let checksum = crc32(&bytes[..28]).to_le_bytes();
    bytes[28..32].copy_from_slice(&checksum);
    bytes
}

fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32| {
        if crc & 1 == 1 {
            (crc >> 1) ^ 0xedb8_8320
        } else {
            crc >> 1
        }
    };
    !bytes.iter().fold(!0, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| step(crc))
    })
}
