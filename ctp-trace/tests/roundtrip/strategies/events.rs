//! Strategies for the records of events.

use proptest::prelude::*;
use proptest::sample::select;

use ctp_trace::record::*;

use super::{any_u32, any_u64};

fn event_kind() -> impl Strategy<Value = EventKind> {
    select(vec![
        EventKind::Birth,
        EventKind::Run,
        EventKind::Suspend,
        EventKind::Death,
    ])
}

fn wait() -> impl Strategy<Value = WaitKind> {
    select(vec![
        WaitKind::Unknown,
        WaitKind::Readable,
        WaitKind::Writable,
        WaitKind::Timer,
        WaitKind::Lock,
        WaitKind::Channel,
        WaitKind::Coroutine,
        WaitKind::User,
        WaitKind::Yield,
    ])
}

/// A wait with its marks. Only a wait of an unknown kind states the wakers of its poll.
fn wait_and_marks() -> impl Strategy<Value = (WaitKind, WaitMarks)> {
    let wakers = select(vec![
        PollWakers::Taken,
        PollWakers::Earlier,
        PollWakers::Unregistered,
    ]);
    (wait(), any::<(bool, bool)>(), wakers).prop_map(|(wait, (idle, one_of_several), wakers)| {
        let wakers = match wait {
            WaitKind::Unknown => wakers,
            _ => PollWakers::default(),
        };
        let marks = WaitMarks {
            idle,
            has_others: one_of_several,
            wakers,
        };
        (wait, marks)
    })
}

pub fn row() -> impl Strategy<Value = Record> {
    prop_oneof![
        event().boxed(),
        wake().boxed(),
        thread_event().boxed(),
        event_counts().boxed()
    ]
}

/// An event as schedulers cause: few coroutines, few sites, increasing times.
pub fn orderly() -> impl Strategy<Value = Record> {
    let task_id = (1..6u32, 0..9u64, 0..4u64);
    let seen = (0..5u16, any::<bool>());
    let what = (event_kind(), 0..3u32, wait_and_marks(), 0..3u64, seen);
    (task_id, 0..100_000u64, what).prop_map(
        |(
            (coroutine, n, tid),
            at,
            (kind, site, (wait, marks), arg, (wake_seen, after_filtered)),
        )| {
            Record::Event(Event {
                coroutine: CoroutineId(coroutine),
                n,
                at: Nanos(at),
                tid,
                kind,
                site: SiteId(site),
                wait,
                arg,
                marks,
                wake_seen,
                after_filtered,
            })
        },
    )
}

fn event() -> impl Strategy<Value = Record> {
    let task_id = (any_u32(), any_u64(), any_u64());
    let seen = (any::<u16>(), any::<bool>());
    let what = (event_kind(), any_u32(), wait_and_marks(), any_u64(), seen);
    (task_id, any_u64(), what).prop_map(
        |(
            (coroutine, n, tid),
            at,
            (kind, site, (wait, marks), arg, (wake_seen, after_filtered)),
        )| {
            Record::Event(Event {
                coroutine: CoroutineId(coroutine),
                n,
                at: Nanos(at),
                tid,
                kind,
                site: SiteId(site),
                wait,
                arg,
                marks,
                wake_seen,
                after_filtered,
            })
        },
    )
}

fn waker() -> impl Strategy<Value = Waker> {
    prop_oneof![
        Just(Waker::Foreign),
        any_u32().prop_map(Waker::Thread),
        any_u32().prop_map(|id| Waker::Coroutine(CoroutineId(id))),
    ]
}

fn wake() -> impl Strategy<Value = Record> {
    (any_u32(), any_u32(), waker(), any_u64()).prop_map(|(coroutine, count, waker, at)| {
        Record::Wake(Wake {
            coroutine: CoroutineId(coroutine),
            count,
            waker,
            at: Nanos(at),
        })
    })
}

fn hold() -> impl Strategy<Value = Hold> {
    (wait(), any_u64(), waker(), any_u32(), any::<bool>()).prop_map(
        |(wait, arg, by, site, shared)| {
            let site = SiteId(site);
            Hold {
                wait,
                arg,
                by,
                site,
                shared,
            }
        },
    )
}

fn thread_event() -> impl Strategy<Value = Record> {
    let call =
        (any_u32(), any_u32(), waker(), any_u32()).prop_map(|(coroutine, count, by, site)| {
            Act::Wake(WakeCall {
                coroutine: CoroutineId(coroutine),
                count,
                by,
                site: SiteId(site),
            })
        });
    let close = (wait(), any_u64(), any_u32()).prop_map(|(wait, arg, site)| {
        let site = SiteId(site);
        Act::Close(Close { wait, arg, site })
    });
    let act = prop_oneof![
        Just(Act::Begin),
        Just(Act::End),
        call,
        close,
        hold().prop_map(Act::Acquire),
        hold().prop_map(Act::Release),
        any_u64().prop_map(Act::Loss),
    ];
    (any_u32(), any_u64(), any_u64(), act).prop_map(|(process, tid, at, act)| {
        Record::ThreadEvent(ThreadEvent {
            process: ProcessId(process),
            tid,
            at: Nanos(at),
            act,
        })
    })
}

fn event_counts() -> impl Strategy<Value = Record> {
    let torn = proptest::option::of(any_u64());
    let wakers = proptest::option::of(any_u32());
    let later = (any_u64(), proptest::option::of(event_kind()), wakers);
    (any_u32(), any_u64(), any_u64(), torn, any::<bool>(), later).prop_map(
        |(coroutine, attempted, recorded, torn, inexact, (filtered, hidden, wakers))| {
            let coroutine = CoroutineId(coroutine);
            Record::EventCounts(EventCounts {
                coroutine,
                attempted,
                recorded,
                torn,
                inexact,
                filtered,
                hidden,
                wakers,
            })
        },
    )
}
