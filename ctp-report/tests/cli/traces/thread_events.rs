//! Traces with thread events: wakes, and closes of what coroutines waited for.

use ctp_trace::record::*;

use super::builder::{self, Beat, Coroutine, MS, SECOND, Trace, wait};

const NET: &str = "vendor/runtime-with-a-long-name/src/net/poll/reactor.rs";

struct Sites {
    spawn: SiteId,
    read: SiteId,
    queue: SiteId,
    dispatch: SiteId,
    hangup: SiteId,
    drop: SiteId,
}

/// Eight readers lose their descriptors and are never woken, one waits for a queue that is gone,
/// and one was woken but never run. Numbers are used again, and closed again in good order.
pub fn closed() -> Vec<u8> {
    let mut t = close_readers("./closed");
    t.thread_event(5 * SECOND, 4127, Act::Loss(212));
    t.thread_event(9 * SECOND, 4127, Act::End);
    t.finish()
}

/// The same, where nothing is lost that may have been a wake.
pub fn forgotten() -> Vec<u8> {
    close_readers("./forgotten").finish()
}

/// The same, where those that wake are known by an address only, in the text of these.
pub fn woken_from(modules: Vec<Module>, address: u64) -> Vec<u8> {
    let mut t = Trace::of("./forgotten");
    modules
        .into_iter()
        .for_each(|module| t.add(Record::Module(module)));
    let dispatch = t.place(Place::ReturnAddress(address));
    close_readers_of(t, dispatch).finish()
}

fn close_readers(program: &str) -> Trace {
    let mut t = Trace::of(program);
    let dispatch = t.source(NET, 127);
    close_readers_of(t, dispatch)
}

fn close_readers_of(mut t: Trace, dispatch: SiteId) -> Trace {
    let sites = Sites {
        spawn: t.source("src/session.rs", 6),
        read: t.source("src/session.rs", 17),
        queue: t.source("src/session.rs", 22),
        dispatch,
        hangup: t.source(NET, 141),
        drop: t.source(NET, 60),
    };
    t.dispatch = Some(sites.dispatch);
    t.thread_event(2 * MS, 4126, Act::Begin);
    t.thread_event(2 * MS, 4127, Act::Begin);
    let readers: Vec<_> = (0..10).map(|i| reader(&mut t, &sites, i)).collect();
    queuer(&mut t, &sites);
    for (i, coroutine) in (0..).zip(&readers) {
        let at = 700 * MS + i * MS;
        let site = if i == 3 { sites.drop } else { sites.hangup };
        if i < 8 {
            t.close(at, 4126 + i % 2, WaitKind::Readable, 17 + i, site);
            t.close(at + SECOND, 4126, WaitKind::Readable, 17 + i, sites.drop);
        } else if i == 8 {
            t.call(*coroutine, 201, at, 4127, sites.dispatch);
            t.wake(*coroutine, 201, at, Waker::Thread(4127));
        }
    }
    readers
        .iter()
        .for_each(|reader| t.event_counts(*reader, None, false));
    t
}

/// Ten waits of 1 ms.
const TEN: Beat = Beat {
    from: 5 * MS,
    period: 3 * MS,
    length: 2 * MS,
    queued: MS / 20,
    times: 10,
};

/// A listener that is idle at last, and one that waits for a closed descriptor among others.
pub fn marked() -> Vec<u8> {
    let mut t = Trace::of("./marked");
    let spawn = t.source("src/session.rs", 6);
    let (accept, read) = (
        t.source("src/session.rs", 4),
        t.source("src/session.rs", 17),
    );
    let hangup = t.source(NET, 141);
    let idle = WaitMarks {
        idle: true,
        ..WaitMarks::default()
    };
    let among_others = WaitMarks {
        has_others: true,
        ..WaitMarks::default()
    };
    for (name, site, fd, marks) in [
        ("listen", accept, 3, idle),
        ("session", read, 17, among_others),
    ] {
        let coroutine = t.born(name, spawn, 3 * MS);
        t.wake(coroutine, 0, 0, Waker::Foreign);
        t.run(coroutine, 4 * MS, 4127);
        let fd = builder::Wait {
            marks,
            ..wait(site, WaitKind::Readable, fd)
        };
        t.healthy_until(coroutine, fd, &TEN, 40 * MS);
        t.event_counts(coroutine, None, false);
    }
    t.close(50 * MS, 4126, WaitKind::Readable, 17, hangup);
    t.finish()
}

/// Threads lost records before and after one last waited, which may have died in the middle of an
/// event.
pub fn robbed(torn: Option<u64>) -> Vec<u8> {
    let mut t = Trace::of("./robbed");
    let (spawn, read) = (
        t.source("src/session.rs", 6),
        t.source("src/session.rs", 17),
    );
    let coroutine = t.born("session", spawn, MS);
    t.wake(coroutine, 0, 0, Waker::Foreign);
    t.run(coroutine, 2 * MS, 4128);
    t.thread_event(3 * MS, 4126, Act::Loss(7));
    t.suspend(coroutine, 4 * MS, 4128, wait(read, WaitKind::Readable, 17));
    t.thread_event(3_100 * MS, 4127, Act::Loss(212));
    t.thread_event(3_200 * MS, 4128, Act::Loss(1));
    t.event_counts(coroutine, torn, false);
    t.finish()
}

/// The last one goes on to the end.
fn reader(t: &mut Trace, sites: &Sites, i: u64) -> Coroutine {
    let coroutine = t.born("session", sites.spawn, 3 * MS);
    t.wake(coroutine, 0, 0, Waker::Foreign);
    t.run(coroutine, 4 * MS, 4127);
    let fd = wait(sites.read, WaitKind::Readable, 17 + i);
    let times = if i == 9 { 4_100 } else { 200 };
    let beat = Beat {
        from: 5 * MS + i,
        period: 3 * MS,
        length: 2 * MS,
        queued: MS / 20,
        times,
    };
    let last = beat.from + u64::from(times) * beat.period;
    t.healthy_until(coroutine, fd, &beat, last);
    coroutine
}

fn queuer(t: &mut Trace, sites: &Sites) {
    let coroutine = t.born("queuer", sites.spawn, 3 * MS);
    t.wake(coroutine, 0, 0, Waker::Foreign);
    t.run(coroutine, 4 * MS, 4127);
    let queue = wait(sites.queue, WaitKind::Channel, 0x7f00_1234);
    t.healthy_until(coroutine, queue, &TEN, 40 * MS);
    t.close(60 * MS, 4126, WaitKind::Lock, 0x7f00_1234, SiteId(0));
    t.event_counts(coroutine, None, false);
}

/// A listener accepts, spawns a session on its thread, and that wakes a writer, which waits since.
pub fn chain() -> Vec<u8> {
    let mut t = Trace::of("./chain");
    let (main, spawn) = (t.source("src/session.rs", 2), t.source("src/session.rs", 6));
    let (accept, read) = (
        t.source("src/session.rs", 4),
        t.source("src/session.rs", 17),
    );
    let (queue, dispatch) = (t.source("src/session.rs", 22), t.source(NET, 127));
    t.thread_event(MS, 4126, Act::Begin);
    let listener = t.born("listener", main, MS);
    let writer = t.born("writer", main, MS);
    t.run(listener, 2 * MS, 4126);
    t.suspend(listener, 3 * MS, 4126, wait(accept, WaitKind::Readable, 3));
    t.run(writer, 4 * MS, 4127);
    t.suspend(
        writer,
        5 * MS,
        4127,
        wait(queue, WaitKind::Channel, 0x7f00_1234),
    );
    t.call(listener, 1, 900 * MS, 4127, dispatch);
    t.run(listener, 901 * MS, 4126);
    let session = t.born("session", spawn, 903 * MS);
    let counted = |wait| builder::Wait {
        wake_seen: 1,
        ..wait
    };
    t.suspend(
        listener,
        904 * MS,
        4126,
        counted(wait(accept, WaitKind::Readable, 3)),
    );
    t.run(session, 910 * MS, 4127);
    let call = WakeCall {
        coroutine: writer.0,
        count: 1,
        by: Waker::Coroutine(session.0),
        site: read,
    };
    t.thread_event(914 * MS, 4127, Act::Wake(call));
    t.suspend(session, 915 * MS, 4127, wait(read, WaitKind::Readable, 17));
    t.run(writer, 930 * MS, 4126);
    t.suspend(
        writer,
        931 * MS,
        4126,
        counted(wait(queue, WaitKind::Channel, 0x7f00_1234)),
    );
    t.wake(listener, 1, 900 * MS, Waker::Thread(4127));
    t.wake(session, 0, 0, Waker::Foreign);
    t.wake(writer, 1, 914 * MS, Waker::Coroutine(session.0));
    for coroutine in [listener, writer, session] {
        t.event_counts(coroutine, None, false);
    }
    t.finish()
}
