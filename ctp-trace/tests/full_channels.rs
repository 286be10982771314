//! Coroutines that wait for room in channels. Times are in milliseconds.

use ctp_trace::TraceModel;
use ctp_trace::record::*;

const THRESHOLD: Nanos = Nanos(1_000_000_000);
const ROOM: SiteId = SiteId(1);
const MESSAGE: SiteId = SiteId(2);
const PENDING: SiteId = SiteId(3);
const REPLY: SiteId = SiteId(4);
const SHUTDOWN: SiteId = SiteId(5);
const TIMER: SiteId = SiteId(6);

fn ms(ms: u64) -> Nanos {
    Nanos(ms * 1_000_000)
}

fn birth(id: u32) -> Record {
    Record::Birth(Birth {
        coroutine: CoroutineId(id),
        process: ProcessId(1),
        kind: CoroutineKind::Future,
        ..Birth::default()
    })
}

/// A coroutine that waited for a message until 10 ms, and waits here since 20 ms.
fn waits(id: u32, site: SiteId) -> Vec<Record> {
    let event = |n, at, kind, site: SiteId, wakers| {
        Record::Event(Event {
            coroutine: CoroutineId(id),
            n,
            at: ms(at),
            kind,
            site,
            wake_seen: u16::from(n > 1),
            marks: WaitMarks {
                wakers,
                ..WaitMarks::default()
            },
            ..Event::default()
        })
    };
    let left = if site == PENDING {
        PollWakers::Unregistered
    } else {
        PollWakers::Taken
    };
    vec![
        birth(id),
        event(0, 1, EventKind::Run, SiteId(0), PollWakers::Taken),
        event(1, 2, EventKind::Suspend, MESSAGE, PollWakers::Taken),
        event(2, 10, EventKind::Run, SiteId(0), PollWakers::Taken),
        event(3, 20, EventKind::Suspend, site, left),
        Record::Wake(Wake {
            coroutine: CoroutineId(id),
            count: 1,
            at: ms(9),
            ..Wake::default()
        }),
    ]
}

/// A coroutine woke another at 9 ms, as a sender does.
fn sent(from: u32, to: u32) -> Record {
    Record::ThreadEvent(ThreadEvent {
        process: ProcessId(1),
        tid: 1,
        at: ms(9),
        act: Act::Wake(WakeCall {
            coroutine: CoroutineId(to),
            count: 1,
            by: Waker::Coroutine(CoroutineId(from)),
            ..WakeCall::default()
        }),
    })
}

fn judged(records: &[Vec<Record>]) -> Vec<&'static str> {
    let mut trace_model = TraceModel::new();
    let leaf = |site, kind| {
        Record::Leaf(Leaf {
            site,
            kind,
            ..Leaf::default()
        })
    };
    let leaves = [
        leaf(ROOM, LeafKind::Room),
        leaf(MESSAGE, LeafKind::Message),
        leaf(REPLY, LeafKind::Reply),
        leaf(SHUTDOWN, LeafKind::Notification),
        leaf(TIMER, LeafKind::Timer),
    ];
    let end = Record::End(End {
        at: ms(9_000),
        ..End::default()
    });
    for record in leaves.iter().chain(records.iter().flatten()).chain([&end]) {
        trace_model.consume(record);
    }
    let all = trace_model.judge(THRESHOLD).into_iter();
    all.map(|(_, judgement)| judgement.reason.word()).collect()
}

// CT-15
#[test]
fn senders_to_each_other_are_stuck_and_those_behind_them_too() {
    let ring = [waits(1, ROOM), waits(2, ROOM), waits(3, ROOM)];
    let sent = vec![sent(1, 2), sent(2, 1), sent(3, 1)];
    let all = [&ring[..], &[sent]].concat();
    assert_eq!(judged(&all), ["full-channel"; 3]);
}

// CT-15
#[test]
fn a_reader_that_may_continue_clears_its_senders() {
    let reads = [waits(1, ROOM), waits(2, MESSAGE), vec![sent(1, 2)]];
    assert_eq!(judged(&reads), ["no-past"; 2]);
    let unknown_readers = [waits(1, ROOM), waits(2, ROOM)];
    assert_eq!(judged(&unknown_readers), ["no-past"; 2]);
    let other_reader = [
        waits(1, ROOM),
        waits(2, ROOM),
        waits(3, MESSAGE),
        vec![sent(1, 2), sent(2, 1), sent(1, 3)],
    ];
    assert_eq!(judged(&other_reader), ["no-past"; 3]);
}

// CT-15
#[test]
fn a_reader_that_waits_for_nothing_never_reads() {
    let rests = [waits(1, ROOM), waits(2, PENDING), vec![sent(1, 2)]];
    assert_eq!(judged(&rests), ["full-channel", "unregistered"]);
}

/// Waits that are over, of another coroutine, so that waits here are usually short.
fn short_waits(id: u32, site: SiteId) -> Vec<Record> {
    let event = |n: u64, kind, site| {
        Record::Event(Event {
            coroutine: CoroutineId(id),
            n,
            at: ms(n),
            kind,
            site,
            ..Event::default()
        })
    };
    let waits = (0..10).flat_map(|i| {
        [
            event(2 * i, EventKind::Run, SiteId(0)),
            event(2 * i + 1, EventKind::Suspend, site),
        ]
    });
    let end = [
        event(20, EventKind::Run, SiteId(0)),
        event(21, EventKind::Death, SiteId(0)),
    ];
    [birth(id)].into_iter().chain(waits).chain(end).collect()
}

// CT-15
#[test]
fn a_stuck_reader_never_reads() {
    let sends = [waits(1, ROOM), waits(2, REPLY), vec![sent(1, 2)]];
    assert_eq!(judged(&sends), ["no-past"; 2]);
    let others_get_replies = [&sends[..], &[short_waits(3, REPLY)]].concat();
    let stuck = ["full-channel", "far-beyond"];
    assert_eq!(judged(&others_get_replies), stuck);
}

// CT-15
#[test]
fn a_reader_that_only_senders_wake_never_reads() {
    let waiting = [waits(1, ROOM), waits(2, ROOM), waits(3, MESSAGE)];
    let sent_to = vec![sent(1, 3), sent(2, 3)];
    let made_room = vec![sent(3, 1), sent(3, 2)];
    let all = [&waiting[..], &[sent_to.clone(), made_room.clone()]].concat();
    assert_eq!(judged(&all), ["full-channel", "full-channel", "no-past"]);
    let of_another_channel = [&waiting[..], &[sent_to, vec![sent(3, 1)]]].concat();
    assert_eq!(judged(&of_another_channel), ["no-past"; 3]);
    let another_sender = [waits(4, MESSAGE), vec![sent(4, 3)]];
    let another_sender = [&all[..], &another_sender].concat();
    assert_eq!(judged(&another_sender), ["no-past"; 4]);
}

/// A reader that received messages for a while, and waits here since.
fn reader_that_left(id: u32, site: SiteId) -> Vec<Record> {
    let mut reader = short_waits(id, MESSAGE);
    reader.truncate(reader.len() - 1);
    reader.push(Record::Event(Event {
        coroutine: CoroutineId(id),
        n: 21,
        at: ms(21),
        kind: EventKind::Suspend,
        site,
        ..Event::default()
    }));
    reader
}

// CT-15
#[test]
fn a_reader_that_has_turned_away_never_reads() {
    let judged_with = |reader: Vec<Record>, others: &[Vec<Record>]| {
        let sends = [waits(1, ROOM), reader, vec![sent(1, 2)]];
        judged(&[&sends[..], others].concat())[0]
    };
    assert_eq!(
        judged_with(reader_that_left(2, SHUTDOWN), &[]),
        "full-channel"
    );
    assert_eq!(judged_with(reader_that_left(2, TIMER), &[]), "no-past");
    assert_eq!(judged_with(reader_that_left(2, MESSAGE), &[]), "no-past");
    let pauses = [short_waits(3, SHUTDOWN)];
    let paused = judged_with(reader_that_left(2, SHUTDOWN), &pauses);
    assert_eq!(paused, "no-past", "such waits have ended before");
}

// CT-15
#[test]
fn a_sender_without_any_reader_is_compared_with_itself() {
    let mut sender = short_waits(1, MESSAGE);
    sender.truncate(sender.len() - 1);
    let event = |n, kind, site| {
        Record::Event(Event {
            coroutine: CoroutineId(1),
            n,
            at: ms(n),
            kind,
            site,
            ..Event::default()
        })
    };
    sender.push(event(21, EventKind::Suspend, ROOM));
    let reader = waits(2, MESSAGE);
    assert_eq!(judged(&[sender.clone()]), ["no-reader"]);
    assert_eq!(
        judged(&[sender, reader, vec![sent(1, 2)]])[0],
        "only-coarse"
    );
}
