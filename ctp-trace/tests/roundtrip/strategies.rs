//! Strategies for records, both usual and unusual.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use ctp_trace::record::*;

mod inspection;

/// A start, then anything that may follow it, then an end.
pub fn traces() -> impl Strategy<Value = Vec<Record>> {
    let record = prop_oneof![8 => definition(), 16 => orderly(), 8 => row(), 1 => process_end(),
        2 => aggregate(), 1 => control(), 1 => flight(), 1 => look(), 4 => inspection::record(),
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

fn definition() -> impl Strategy<Value = Record> {
    prop_oneof![process(), module(), site(), chain(), branches(), birth()]
}

fn process() -> impl Strategy<Value = Record> {
    (any_u32(), any_u32(), any_u64()).prop_map(|(id, pid, attached)| {
        Record::Process(Process {
            id: ProcessId(id),
            pid,
            attached: Nanos(attached),
        })
    })
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

fn chain() -> impl Strategy<Value = Record> {
    let addresses = vec(any_u64(), 0..30);
    (any_u32(), any::<bool>(), addresses).prop_map(|(site, is_whole, addresses)| {
        Record::Chain(Chain {
            site: SiteId(site),
            is_whole,
            addresses,
        })
    })
}

fn branches() -> impl Strategy<Value = Record> {
    (any_u32(), vec(any_u32(), 0..10)).prop_map(|(site, sites)| {
        Record::Branches(Branches {
            site: SiteId(site),
            sites: sites.into_iter().map(SiteId).collect(),
        })
    })
}

fn module() -> impl Strategy<Value = Record> {
    (any_u32(), any_u64(), any_u64(), any_u64(), bytes(), bytes()).prop_map(
        |(process, start, end, file_offset, path, build_id)| {
            let process = ProcessId(process);
            Record::Module(Module {
                process,
                start,
                end,
                file_offset,
                path,
                build_id,
            })
        },
    )
}

fn site() -> impl Strategy<Value = Record> {
    (any_u32(), any_u32(), place()).prop_map(|(id, process, place)| {
        Record::Site(Site {
            id: SiteId(id),
            process: ProcessId(process),
            place,
        })
    })
}

fn place() -> impl Strategy<Value = Place> {
    prop_oneof![
        (text(), any_u32(), any_u32()).prop_map(|(file, line, column)| Place::Source {
            file,
            line,
            column
        }),
        (any_u64(), text()).prop_map(|(address, name)| Place::Function { address, name }),
        any_u64().prop_map(Place::Address),
        any_u64().prop_map(Place::ReturnAddress),
    ]
}

fn birth() -> impl Strategy<Value = Record> {
    let dialects = vec![Dialect::Extended, Dialect::V1PerSlot, Dialect::V1PerStation];
    let kinds = vec![
        CoroutineKind::Unknown,
        CoroutineKind::Future,
        CoroutineKind::Stackful,
        CoroutineKind::Thread,
        CoroutineKind::Bare,
    ];
    let numbers = (any_u32(), any_u32(), any_u32(), any_u32(), any_u32());
    let rest = (
        any_u64(),
        any_u64(),
        select(dialects),
        select(kinds),
        text(),
    );
    (numbers, rest).prop_map(
        |(
            (coroutine, process, station, generation, spawn),
            (probe_id, at, dialect, kind, name),
        )| {
            Record::Birth(Birth {
                coroutine: CoroutineId(coroutine),
                process: ProcessId(process),
                station,
                generation,
                probe_id,
                at: Nanos(at),
                dialect,
                kind,
                name,
                spawn_site: SiteId(spawn),
            })
        },
    )
}

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
            one_of_several,
            wakers,
        };
        (wait, marks)
    })
}

fn row() -> impl Strategy<Value = Record> {
    prop_oneof![
        event().boxed(),
        wake().boxed(),
        thread_event().boxed(),
        event_counts().boxed()
    ]
}

/// An event as schedulers cause: few coroutines, few sites, increasing times.
fn orderly() -> impl Strategy<Value = Record> {
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
