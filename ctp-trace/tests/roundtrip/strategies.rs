//! Strategies for records, both usual and unusual.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use ctp_trace::record::*;

mod definitions;
mod events;
mod inspection;

use definitions::definition;
use events::{orderly, row};

/// A start, then anything that may follow it, then an end.
pub fn traces() -> impl Strategy<Value = Vec<Record>> {
    let record = prop_oneof![8 => definition(), 16 => orderly(), 8 => row(), 1 => process_end(),
        2 => aggregate(), 1 => control(), 1 => flight(), 1 => look(), 1 => threads(),
        1 => sockets(), 1 => leaf(), 1 => stack(), 4 => inspection::record(),
        1 => any_u64().prop_map(|at| Record::Watermark(Nanos(at)))];
    (start(), vec(record, 0..300), end()).prop_map(|(start, mut records, end)| {
        records.insert(0, start);
        records.push(end);
        records
    })
}

/// Numbers near zero, near the limits, and in between.
fn any_u64() -> impl Strategy<Value = u64> {
    prop_oneof![
        0..100u64,
        any::<u64>(),
        select(vec![u64::MAX, i64::MAX as u64, 1 << 63, 1 << 32])
    ]
}

fn any_u32() -> impl Strategy<Value = u32> {
    prop_oneof![0..20u32, any::<u32>(), select(vec![u32::MAX, 1 << 31])]
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), ".{0,20}"]
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..40)
}

fn start() -> impl Strategy<Value = Record> {
    (
        any::<[u8; 16]>(),
        text(),
        text(),
        vec(bytes(), 0..4),
        any_u64(),
        any_u64(),
        any_u32(),
        any::<bool>(),
    )
        .prop_map(
            |(trace_id, recorder, host, argv, unix, monotonic, capacity, precise_chains)| {
                Record::Start(Start {
                    trace_id,
                    recorder,
                    host,
                    argv,
                    started_unix_ns: unix,
                    started_monotonic_ns: monotonic,
                    capacity,
                    precise_chains,
                })
            },
        )
}

fn stack() -> impl Strategy<Value = Record> {
    let ids = (any_u32(), any_u64(), any_u64());
    (ids, vec(any_u64(), 0..9), any::<[bool; 2]>()).prop_map(
        |((coroutine, since, at), addresses, [is_whole, is_moving])| {
            Record::CoroutineStack(CoroutineStack {
                coroutine: CoroutineId(coroutine),
                since: Nanos(since),
                at: Nanos(at),
                addresses,
                is_whole,
                is_moving,
            })
        },
    )
}

fn process_end() -> impl Strategy<Value = Record> {
    let how = prop_oneof![
        any::<i32>().prop_map(ProcessExit::Exited),
        any::<i32>().prop_map(ProcessExit::Signalled),
        select(vec![ProcessExit::Exec, ProcessExit::Disappeared]),
    ];
    (any_u32(), any_u64(), how).prop_map(|(process, at, how)| {
        Record::ProcessEnd(ProcessEnd {
            process: ProcessId(process),
            at: Nanos(at),
            how,
        })
    })
}

fn aggregate() -> impl Strategy<Value = Record> {
    let of = (any_u32(), any_u64(), any::<bool>(), any_u64());
    (of, any::<(u8, u8)>(), durations(), durations()).prop_map(
        |((id, at, stands_for_events, left_out), (lo, step), waiting, running)| {
            Record::Aggregate(Box::new(Aggregate {
                coroutine: CoroutineId(id),
                at: Nanos(at),
                stands_for_events,
                left_out,
                bins: Bins { lo, step },
                waiting,
                running,
            }))
        },
    )
}

fn threads() -> impl Strategy<Value = Record> {
    let counts = (any_u64(), any_u64(), any_u64());
    (any_u32(), any_u64(), counts).prop_map(|(process, at, (parked, sleeping, others))| {
        Record::Threads(Threads {
            process: ProcessId(process),
            at: Nanos(at),
            parked,
            sleeping,
            others,
        })
    })
}

fn sockets() -> impl Strategy<Value = Record> {
    (any_u32(), any_u64(), any_u64(), any_u64()).prop_map(|(process, at, undrained, unsent)| {
        Record::Sockets(Sockets {
            process: ProcessId(process),
            at: Nanos(at),
            undrained,
            unsent,
        })
    })
}

fn leaf() -> impl Strategy<Value = Record> {
    let kind = select(vec![
        LeafKind::Unknown,
        LeafKind::SharedSite,
        LeafKind::TimeOrMessage,
        LeafKind::SharedFunction,
        LeafKind::Io,
        LeafKind::Timer,
        LeafKind::Lock,
        LeafKind::Semaphore,
        LeafKind::Room,
        LeafKind::Message,
        LeafKind::Reply,
        LeafKind::Notification,
        LeafKind::Task,
        LeafKind::Output,
    ]);
    (any_u32(), kind, any_u32()).prop_map(|(site, kind, same_as)| {
        Record::Leaf(Leaf {
            site: SiteId(site),
            kind,
            same_as: SiteId(same_as),
        })
    })
}

fn look() -> impl Strategy<Value = Record> {
    let thing = select(vec![Thing::Other, Thing::Socket, Thing::Pipe, Thing::Event]);
    let seen = prop_oneof![
        select(vec![
            Seen::Open,
            Seen::Closed,
            Seen::Replaced,
            Seen::HungUp,
            Seen::Hidden,
            Seen::NumberClosed,
            Seen::ClosedAtFirst,
            Seen::Empty
        ]),
        any_u64().prop_map(Seen::Readable),
        any_u64().prop_map(Seen::Unwatched),
    ];
    let numbers = (any_u32(), any_u64(), any_u64(), any_u64());
    (numbers, thing, seen).prop_map(|((coroutine, since, at, fd), thing, seen)| {
        Record::Look(Look {
            coroutine: CoroutineId(coroutine),
            since: Nanos(since),
            at: Nanos(at),
            fd,
            thing,
            seen,
        })
    })
}

fn flight() -> impl Strategy<Value = Record> {
    let counts = || (any_u64(), any_u64(), any_u64(), any_u64());
    let window = (any_u64(), any_u64(), any_u64(), any::<bool>());
    let window = window.prop_map(|(since, overwritten, unattributed, goes_on)| {
        Record::Window(Window {
            since: Nanos(since),
            overwritten,
            unattributed,
            goes_on,
        })
    });
    let earlier = (any_u32(), any_u64()).prop_map(|(id, events)| {
        Record::Earlier(Earlier {
            coroutine: CoroutineId(id),
            events,
        })
    });
    let owner = (any_u32(), any_u32(), ".{0,20}");
    let ended_sums = (owner, counts(), any::<(u8, u8)>(), durations(), durations()).prop_map(
        |((process, site, name), counts, (lo, step), waiting, running)| {
            Record::EndedSums(Box::new(EndedSums {
                process: ProcessId(process),
                name,
                spawn_site: SiteId(site),
                coroutines: counts.0,
                events: counts.1,
                lost: counts.2,
                filtered: counts.2 / 3,
                left_out: counts.3,
                bins: Bins { lo, step },
                waiting,
                running,
            }))
        },
    );
    prop_oneof![window, earlier, ended_sums].boxed()
}

fn durations() -> impl Strategy<Value = Durations> {
    let figures = (1..=u64::MAX, any_u64(), any_u64(), any_u64());
    let some = (figures, vec(any_u64(), 16)).prop_map(|((count, sum, min, max), bins)| Durations {
        count,
        sum: Nanos(sum),
        min: Nanos(min),
        max: Nanos(max),
        bins: bins.try_into().expect("as many as asked for"),
    });
    prop_oneof![Just(Durations::default()), some].boxed()
}

fn control() -> impl Strategy<Value = Record> {
    let numbers = (any_u64(), any_u32(), any_u32(), any_u32(), any_u32());
    let switches = any::<(bool, bool, bool)>();
    (numbers, switches).prop_map(|((at, generation, pid, thread, process), switches)| {
        Record::Control(Control {
            at: Nanos(at),
            generation,
            pid,
            stopped: switches.0,
            without_runs: switches.1,
            without_suspends: switches.2,
            only_thread: thread,
            only_process: process,
        })
    })
}

fn end() -> impl Strategy<Value = Record> {
    let how = prop_oneof![
        any::<i32>().prop_map(ExitReason::Exited),
        any::<i32>().prop_map(ExitReason::Signalled),
        Just(ExitReason::Stopped),
        Just(ExitReason::Image),
    ];
    let counts = prop::collection::vec(any_u64(), 9);
    (any_u64(), how, counts)
        .prop_map(|(at, how, counts)| {
            Record::End(End {
                at: Nanos(at),
                how,
                events: counts[0],
                lost: counts[1],
                refused: counts[2],
                coroutines: counts[3],
                unnamed: counts[4],
                quarantined: counts[5],
                faulting_tid: counts[6],
                unrecorded: counts[7],
                records: counts[8],
            })
        })
        .boxed()
}
