//! Recording that was stopped, and then filtered.

use ctp_trace::record::*;

use super::SESSION;
use super::builder::{Coroutine, MS, SECOND, Trace, wait};

/// Recording is stopped for two seconds. One coroutine does nothing meanwhile, one goes on and is
/// not seen again, one ends, and one is seen again.
pub fn stopped() -> Vec<u8> {
    let mut t = Trace::of("./server");
    let (spawn, read) = (t.source(SESSION, 6), t.source(SESSION, 17));
    let [idle, hidden, dead, seen] = ["idle", "hidden", "dead", "seen"].map(|name| {
        let coroutine = t.born(name, spawn, MS);
        for round in 1..10 {
            t.run(coroutine, round * 100 * MS, 4127);
            t.suspend(
                coroutine,
                round * 100 * MS + 5 * MS,
                4127,
                wait(read, WaitKind::Readable, 7),
            );
        }
        coroutine
    });
    control(&mut t, 1, SECOND, true, false);
    control(&mut t, 2, 3 * SECOND, false, false);
    t.run_after_filtered(seen, 3 * SECOND + 10 * MS, 4127);
    let again = wait(read, WaitKind::Readable, 7);
    t.suspend(seen, 3 * SECOND + 12 * MS, 4127, again);
    control(&mut t, 3, 4 * SECOND, false, true);
    account(&mut t, idle, 0, None);
    account(&mut t, hidden, 40, Some(EventKind::Suspend));
    account(&mut t, dead, 1, Some(EventKind::Death));
    account(&mut t, seen, 12, None);
    t.finish()
}

/// Commands are given twice, and then many in a row.
pub fn often() -> Vec<u8> {
    let mut t = Trace::of("./server");
    let spawn = t.source(SESSION, 6);
    let coroutine = t.born("session", spawn, MS);
    t.run(coroutine, 2 * MS, 4127);
    let first = [(true, false), (true, false), (false, false), (false, false)];
    let filter = [(false, true)];
    let quick = [(true, true), (false, true)].repeat(6);
    let all = [&first[..], &filter, &quick].concat();
    for (n, (stopped, without_runs)) in (1..).zip(all) {
        control(&mut t, n, u64::from(n) * SECOND / 2, stopped, without_runs);
    }
    account(&mut t, coroutine, 7, None);
    t.finish()
}

/// A fault on a thread that ran a coroutine before recording was stopped. The thread's last act is recorded.
pub fn crashed(hidden: EventKind) -> Vec<u8> {
    let mut t = Trace::of("./server");
    let spawn = t.source(SESSION, 6);
    let coroutine = t.born("innocent", spawn, MS);
    t.run(coroutine, 2 * MS, 4127);
    control(&mut t, 1, SECOND, true, false);
    account(&mut t, coroutine, 1, Some(hidden));
    t.end = End {
        how: ExitReason::Signalled(11),
        faulting_tid: 4127,
        ..t.end
    };
    t.finish()
}

fn control(t: &mut Trace, generation: u32, at: u64, stopped: bool, without_runs: bool) {
    t.add(Record::Control(Control {
        at: Nanos(at),
        generation,
        stopped,
        without_runs,
        only_thread: if without_runs { 4127 } else { 0 },
        ..Control::default()
    }));
}

fn account(t: &mut Trace, coroutine: Coroutine, filtered: u64, hidden: Option<EventKind>) {
    let event_counts = t.account(coroutine, None, false);
    t.add(Record::EventCounts(EventCounts {
        filtered,
        hidden,
        ..event_counts
    }));
}
