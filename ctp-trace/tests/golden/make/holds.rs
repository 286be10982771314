//! Golden traces of locks that are taken and released.

use ctp_trace::record::*;

use super::written;

/// Locks that are taken and released by coroutines, by threads, and by an unknown holder.
pub(super) fn holds() -> Vec<u8> {
    let thread_event = |at, act| {
        Record::ThreadEvent(ThreadEvent {
            process: ProcessId(1),
            tid: 700,
            at: Nanos(at),
            act,
        })
    };
    let hold = |wait, arg, by, site| Hold {
        wait,
        arg,
        by,
        site: SiteId(site),
        shared: false,
    };
    let waker = Waker::Coroutine(CoroutineId(1));
    let lock = |by, site| hold(WaitKind::Lock, 0x7fff_0000_1000, by, site);
    let own = |by, site| hold(WaitKind::User, u64::MAX, by, site);
    let records = [
        thread_event(10, Act::Acquire(lock(waker, 2))),
        thread_event(11, Act::Acquire(own(Waker::Thread(700), 3))),
        thread_event(12, Act::Release(lock(waker, 4))),
        thread_event(
            13,
            Act::Acquire(lock(Waker::Coroutine(CoroutineId(u32::MAX)), 2)),
        ),
        thread_event(14, Act::Release(own(Waker::Foreign, 0))),
    ];
    written(&Start::default(), &records, &End::default())
}

/// A lock that two coroutines hold at the same time, and that one of them releases.
pub(super) fn shared_holds() -> Vec<u8> {
    let thread_event = |at, act| {
        Record::ThreadEvent(ThreadEvent {
            process: ProcessId(1),
            tid: 700,
            at: Nanos(at),
            act,
        })
    };
    let hold = |id, shared| Hold {
        wait: WaitKind::Lock,
        arg: 0x7fff_0000_1000,
        by: Waker::Coroutine(CoroutineId(id)),
        site: SiteId(2),
        shared,
    };
    let records = [
        thread_event(10, Act::Acquire(hold(1, true))),
        thread_event(11, Act::Acquire(hold(2, true))),
        thread_event(12, Act::Release(hold(1, false))),
    ];
    written(&Start::default(), &records, &End::default())
}
