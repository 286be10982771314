//! Programs that died of a fault, were killed, or ran a coroutine twice at once.

use ctp_trace::record::*;

use super::SESSION;
use super::builder::{Coroutine, MS, SECOND, Trace, wait};

/// Three workers run, of which the second is on thread 4128; one waits, and one never ran.
fn workers(how: ExitReason, faulting_tid: u64) -> Trace {
    let mut t = Trace::of("./server --workers 3");
    let (spawn, read) = (t.source(SESSION, 6), t.source(SESSION, 17));
    for tid in 4127..4130 {
        let coroutine = t.born("worker_loop", spawn, MS);
        serve(&mut t, coroutine, read, tid);
        t.run(coroutine, 2 * SECOND + tid * MS, tid);
        t.event_counts(coroutine, None, false);
    }
    let idle = t.born("session", spawn, MS);
    serve(&mut t, idle, read, 4127);
    t.event_counts(idle, Some(9), false);
    let newborn = t.born("session", spawn, 5 * MS);
    t.event_counts(newborn, None, false);
    t.end = End {
        at: Nanos(7 * SECOND),
        how,
        faulting_tid,
        ..t.end
    };
    t
}

fn serve(t: &mut Trace, coroutine: Coroutine, read: SiteId, tid: u64) {
    for round in 1..5 {
        t.run(coroutine, round * 10 * MS, tid);
        t.suspend(
            coroutine,
            round * 10 * MS + 3 * MS,
            tid,
            wait(read, WaitKind::Readable, tid),
        );
    }
}

pub fn on_a_known_thread() -> Vec<u8> {
    workers(ExitReason::Signalled(11), 4128).finish()
}

pub fn on_an_unknown_thread() -> Vec<u8> {
    workers(ExitReason::Signalled(7), 0).finish()
}

/// The fault came from a thread that ran no coroutine.
pub fn without_runs() -> Vec<u8> {
    workers(ExitReason::Signalled(6), 4126).finish()
}

/// One that runs, and another process in which one ran and one waited when it ended after 2 s.
pub fn after_another_process() -> Vec<u8> {
    let mut t = Trace::of("./server --fork");
    let (spawn, read) = (t.source(SESSION, 6), t.source(SESSION, 17));
    t.add(Record::Process(Process {
        id: ProcessId(2),
        pid: 4200,
        attached: Nanos(MS),
    }));
    for (process, runs) in [(2, true), (2, false), (1, true)] {
        t.process = ProcessId(process);
        let coroutine = t.born("worker_loop", spawn, MS);
        serve(&mut t, coroutine, read, 4127);
        if runs {
            t.run(coroutine, SECOND, 4200);
        }
        t.event_counts(coroutine, None, false);
    }
    t.add(Record::ProcessEnd(ProcessEnd {
        process: ProcessId(2),
        at: Nanos(2 * SECOND),
        how: ProcessExit::Disappeared,
    }));
    t.end = End {
        at: Nanos(7 * SECOND),
        how: ExitReason::Signalled(11),
        ..t.end
    };
    t.finish()
}

/// SIGKILL is not a crash.
pub fn from_outside() -> Vec<u8> {
    workers(ExitReason::Signalled(9), 0).finish()
}

/// Resumed on two threads at once; another one did so with events lost in between.
pub fn broken() -> Vec<u8> {
    let mut t = Trace::of("./buggy_scheduler");
    let (spawn, read) = (t.source(SESSION, 6), t.source(SESSION, 17));
    let twice = t.born("session", spawn, MS);
    for round in 1..4 {
        let at = round * 10 * MS;
        t.run(twice, at, 4127);
        t.run(twice, at + MS, 4128);
        t.suspend(twice, at + 2 * MS, 4127, wait(read, WaitKind::Readable, 9));
        t.suspend(twice, at + 3 * MS, 4128, wait(read, WaitKind::Readable, 9));
    }
    t.event_counts(twice, None, false);
    let honest = t.born("session", spawn, MS);
    t.run(honest, 10 * MS, 4127);
    t.lose(honest, 3);
    t.run(honest, 20 * MS, 4128);
    t.event_counts(honest, None, false);
    t.finish()
}
