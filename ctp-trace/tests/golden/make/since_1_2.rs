//! Traces with features added since version 1.2.

use ctp_trace::Writer;
use ctp_trace::record::*;

use super::written;

/// Thread events before, between and after the rows, and in a block without rows.
pub(super) fn thread_events() -> Vec<u8> {
    let event = |n, at, kind| {
        Record::Event(Event {
            coroutine: CoroutineId(1),
            n,
            at: Nanos(at),
            tid: 700,
            kind,
            ..Event::default()
        })
    };
    let thread_event = |tid, at, act| {
        Record::ThreadEvent(ThreadEvent {
            process: ProcessId(1),
            tid,
            at: Nanos(at),
            act,
        })
    };
    let wake = |coroutine, count, by, site| {
        Act::Wake(WakeCall {
            coroutine: CoroutineId(coroutine),
            count,
            by,
            site: SiteId(site),
        })
    };
    let close = |wait, arg, site| {
        Act::Close(Close {
            wait,
            arg,
            site: SiteId(site),
        })
    };
    let records = [
        thread_event(700, 5, Act::Begin),
        event(0, 10, EventKind::Birth),
        event(1, 20, EventKind::Run),
        thread_event(701, 21, Act::Begin),
        thread_event(701, 22, wake(1, 1, Waker::Thread(701), 3)),
        thread_event(700, 23, close(WaitKind::Readable, 17, 4)),
        event(2, 30, EventKind::Suspend),
        thread_event(701, 31, wake(1, 2, Waker::Coroutine(CoroutineId(2)), 3)),
        thread_event(701, 29, wake(2, (1 << 20) - 1, Waker::Foreign, 0)),
        thread_event(701, 40, close(WaitKind::Lock, u64::MAX, 4)),
        thread_event(700, 41, close(WaitKind::User, 0, 5)),
        event(3, 50, EventKind::Run),
        thread_event(700, 60, Act::Loss(1 << 40)),
        thread_event(700, 61, Act::End),
    ];
    let mut writer = Writer::new(Vec::new(), &Start::default()).expect("memory");
    for record in records {
        writer.write(&record).expect("memory");
    }
    writer.flush().expect("memory");
    let last = thread_event(701, 70, Act::End);
    writer.write(&last).expect("memory");
    writer.finish(&End::default()).expect("memory")
}

/// A coroutine with two events and two aggregates, and a coroutine without data.
pub(super) fn aggregates() -> Vec<u8> {
    let event = |n, at, kind| {
        Record::Event(Event {
            coroutine: CoroutineId(1),
            n,
            at: Nanos(at),
            kind,
            ..Event::default()
        })
    };
    let durations = |count: u64| {
        let mut bins = [0; 16];
        (bins[1], bins[15]) = (count - 1, 1);
        Durations {
            count,
            sum: Nanos(count * 1_000 + 100_000_000_000),
            min: Nanos(256),
            max: Nanos(100_000_000_000),
            bins,
        }
    };
    let aggregate = |at, waiting, running| {
        Record::Aggregate(Box::new(Aggregate {
            coroutine: CoroutineId(1),
            at: Nanos(at),
            stands_for_events: true,
            left_out: 3,
            bins: Bins { lo: 8, step: 2 },
            waiting,
            running,
        }))
    };
    let birth = |id| {
        Record::Birth(Birth {
            coroutine: CoroutineId(id),
            ..Birth::default()
        })
    };
    let records = [
        birth(1),
        birth(2),
        aggregate(500, durations(7), Durations::default()),
        event(100_000, 900, EventKind::Run),
        event(100_001, 950, EventKind::Suspend),
        aggregate(1_000, durations(300_000), durations(2)),
        Record::Aggregate(Box::new(Aggregate {
            coroutine: CoroutineId(2),
            at: Nanos(1_000),
            bins: Bins { lo: 8, step: 2 },
            ..Aggregate::default()
        })),
    ];
    let end = End {
        at: Nanos(2_000),
        events: 2,
        coroutines: 2,
        ..End::default()
    };
    written(&Start::default(), &records, &end)
}

/// Recording that is stopped, resumed and filtered, with events in between.
pub(super) fn control() -> Vec<u8> {
    let event = |n, at, kind| Event {
        coroutine: CoroutineId(1),
        n,
        at: Nanos(at),
        kind,
        ..Event::default()
    };
    let stop = Control {
        at: Nanos(300),
        generation: 1,
        stopped: true,
        ..Control::default()
    };
    let start = Control {
        at: Nanos(500),
        generation: 2,
        ..Control::default()
    };
    let filter = Control {
        at: Nanos(700),
        generation: 3,
        pid: 4321,
        without_runs: true,
        without_suspends: true,
        only_thread: 4322,
        only_process: 4321,
        ..Control::default()
    };
    let event_counts = |id, filtered, hidden| EventCounts {
        coroutine: CoroutineId(id),
        attempted: 4,
        recorded: 4,
        filtered,
        hidden,
        ..EventCounts::default()
    };
    let records = [
        Record::Event(event(0, 100, EventKind::Birth)),
        Record::Event(event(1, 200, EventKind::Run)),
        Record::Control(stop),
        Record::Control(start),
        Record::Event(Event {
            after_filtered: true,
            ..event(3, 600, EventKind::Run)
        }),
        Record::Event(event(4, 650, EventKind::Suspend)),
        Record::Control(filter),
        Record::EventCounts(event_counts(1, 7, Some(EventKind::Run))),
        Record::EventCounts(event_counts(2, 3, None)),
        Record::EventCounts(event_counts(3, 1, Some(EventKind::Death))),
        Record::EventCounts(event_counts(4, 0, None)),
    ];
    let end = End {
        at: Nanos(900),
        events: 4,
        ..End::default()
    };
    written(&Start::default(), &records, &end)
}

/// Waits with every set of marks, and a last wait like the first.
pub(super) fn marks() -> Vec<u8> {
    let suspend = |n, idle, one_of_several| Event {
        coroutine: CoroutineId(1),
        n,
        at: Nanos(100 * n),
        kind: EventKind::Suspend,
        wait: WaitKind::Readable,
        arg: 7,
        marks: WaitMarks {
            idle,
            has_others: one_of_several,
            ..WaitMarks::default()
        },
        ..Event::default()
    };
    let events = [
        suspend(0, false, false),
        suspend(1, true, false),
        suspend(2, false, true),
        suspend(3, true, true),
        suspend(4, false, false),
    ];
    let end = End {
        at: Nanos(500),
        how: ExitReason::Exited(0),
        events: 5,
        coroutines: 1,
        ..End::default()
    };
    written(&Start::default(), &events.map(Record::Event), &end)
}

/// A flight recorder's snapshot of a running program: two events of a coroutine, the totals of all of
/// its events, and the sums of seven coroutines that ended earlier.
pub(super) fn flight() -> Vec<u8> {
    let event = |n, at, kind| {
        Record::Event(Event {
            coroutine: CoroutineId(9),
            n,
            at: Nanos(at),
            kind,
            ..Event::default()
        })
    };
    let records = [
        Record::Birth(Birth {
            coroutine: CoroutineId(9),
            name: "worker".into(),
            ..Birth::default()
        }),
        Record::Aggregate(Box::new(Aggregate {
            coroutine: CoroutineId(9),
            at: Nanos(60_000),
            bins: USUAL,
            waiting: six_hundred(),
            ..Aggregate::default()
        })),
        Record::Window(Window {
            since: Nanos(40_000),
            overwritten: 1_300,
            unattributed: 2,
            goes_on: true,
        }),
        Record::EndedSums(Box::new(ended_sums())),
        Record::Earlier(Earlier {
            coroutine: CoroutineId(9),
            events: 1_203,
        }),
        event(1_203, 45_000, EventKind::Run),
        event(1_204, 50_000, EventKind::Suspend),
        Record::EventCounts(EventCounts {
            coroutine: CoroutineId(9),
            attempted: 1_205,
            recorded: 2,
            ..EventCounts::default()
        }),
    ];
    let end = End {
        at: Nanos(60_000),
        events: 2,
        lost: 1,
        coroutines: 1,
        ..End::default()
    };
    written(&Start::default(), &records, &end)
}

const USUAL: Bins = Bins { lo: 8, step: 2 };

fn six_hundred() -> Durations {
    let mut bins = [0; 16];
    (bins[0], bins[3]) = (600, 1);
    Durations {
        count: 601,
        sum: Nanos(130_000),
        min: Nanos(100),
        max: Nanos(12_000),
        bins,
    }
}

fn ended_sums() -> EndedSums {
    EndedSums {
        process: ProcessId(1),
        name: "worker".into(),
        spawn_site: SiteId(0),
        coroutines: 7,
        events: 4_210,
        lost: 1,
        filtered: 5,
        left_out: 3,
        bins: USUAL,
        waiting: six_hundred(),
        running: Durations::default(),
    }
}

/// Coroutines with wakers, without wakers, and with uncounted wakers. The second also has filtered
/// events.
pub(super) fn wakers() -> Vec<u8> {
    let event_counts = |id, wakers, filtered| {
        Record::EventCounts(EventCounts {
            coroutine: CoroutineId(id),
            attempted: 3,
            recorded: 3,
            filtered,
            wakers,
            ..EventCounts::default()
        })
    };
    let records = [
        event_counts(1, Some(2), 0),
        event_counts(2, Some(0), 5),
        event_counts(3, None, 0),
        event_counts(4, Some(1 << 20), 0),
    ];
    let end = End {
        at: Nanos(500),
        how: ExitReason::Exited(0),
        coroutines: 4,
        ..End::default()
    };
    written(&Start::default(), &records, &end)
}
