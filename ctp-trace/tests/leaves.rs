//! Verdicts that rest on what the awaited leaf futures wait for. Times are in milliseconds.

use ctp_trace::TraceModel;
use ctp_trace::record::*;
use ctp_trace::verdict::{EmptyEvidence, Reason, Verdict};

const THRESHOLD: Nanos = Nanos(1_000_000_000);
const SITE: SiteId = SiteId(1);
const END: u64 = 9_000;

fn ms(ms: u64) -> Nanos {
    Nanos(ms * 1_000_000)
}

fn event(coroutine: u32, n: u64, at: u64, kind: EventKind) -> Record {
    Record::Event(Event {
        coroutine: CoroutineId(coroutine),
        n,
        at: ms(at),
        kind,
        site: SITE,
        ..Event::default()
    })
}

/// A coroutine that waits every ten milliseconds, each time for five of them, until this time.
fn waits_until(coroutine: u32, end: u64) -> Vec<Record> {
    let mut records = vec![Record::Birth(Birth {
        coroutine: CoroutineId(coroutine),
        process: ProcessId(1),
        ..Birth::default()
    })];
    for i in 0..end / 10 {
        records.push(event(coroutine, 2 * i, 10 * i, EventKind::Run));
        records.push(event(coroutine, 2 * i + 1, 10 * i + 5, EventKind::Suspend));
    }
    records
}

fn sockets(at: u64, undrained: u64, unsent: u64) -> Record {
    Record::Sockets(Sockets {
        process: ProcessId(1),
        at: ms(at),
        undrained,
        unsent,
    })
}

/// Judges a coroutine that waits from 1 s on, while another at its site goes on until this time.
fn judged(kind: LeafKind, others_until: u64, observations: &[Record]) -> (Verdict, Reason) {
    let mut trace_model = TraceModel::new();
    let leaf = Record::Leaf(Leaf {
        site: SITE,
        kind,
        ..Leaf::default()
    });
    let end = Record::End(End {
        at: ms(END),
        ..End::default()
    });
    let coroutines = [waits_until(1, 1_000), waits_until(2, others_until)].concat();
    for record in coroutines
        .iter()
        .chain([&leaf])
        .chain(observations)
        .chain([&end])
    {
        trace_model.consume(record);
    }
    let all = trace_model.judge(THRESHOLD);
    let (_, judgement) = all.first().expect("the coroutine has not ended");
    (judgement.verdict, judgement.reason)
}

// CT-15
#[test]
fn drained_sockets_explain_waits_for_descriptors_only() {
    let drained = [sockets(2_000, 0, 0), sockets(8_500, 0, 0)];
    let empty = EmptyEvidence {
        fd: None,
        at: ms(8_500),
    };
    let explained = (Verdict::Waiting, Reason::NothingToRead(empty));
    assert_eq!(judged(LeafKind::Io, END, &drained), explained);
    for kind in [LeafKind::Unknown, LeafKind::Notification, LeafKind::Reply] {
        let (verdict, reason) = judged(kind, END, &drained);
        assert_eq!(
            (verdict, reason.word()),
            (Verdict::MaybeStuck, "far-beyond")
        );
    }
}

// CT-15
#[test]
fn unread_and_unsent_bytes_explain_nothing() {
    for held in [sockets(8_500, 1, 0), sockets(8_500, 0, 1)] {
        let observations = [sockets(2_000, 0, 0), held];
        let (verdict, reason) = judged(LeafKind::Io, END, &observations);
        assert_eq!(
            (verdict, reason.word()),
            (Verdict::MaybeStuck, "far-beyond")
        );
    }
    let early = [sockets(2_000, 0, 0)];
    assert_eq!(judged(LeafKind::Io, END, &early).0, Verdict::MaybeStuck);
}

/// A thread, or the second coroutine, woke the first at 900 ms.
fn woken_by(by: Waker) -> Record {
    Record::ThreadEvent(ThreadEvent {
        process: ProcessId(1),
        at: ms(900),
        act: Act::Wake(WakeCall {
            coroutine: CoroutineId(1),
            count: 1,
            by,
            ..WakeCall::default()
        }),
        ..ThreadEvent::default()
    })
}

// CT-15
#[test]
fn active_lines_say_nothing_about_the_messages_of_others() {
    let other = Waker::Coroutine(CoroutineId(2));
    let word = |kind, observations: &[Record]| judged(kind, END, observations).1.word();
    for by in [Waker::Thread(9), other] {
        assert_eq!(word(LeafKind::Message, &[woken_by(by)]), "no-work");
        assert_eq!(word(LeafKind::Reply, &[woken_by(by)]), "far-beyond");
    }
    assert_eq!(word(LeafKind::Message, &[]), "far-beyond", "woken by none");
    let death = Record::Event(Event {
        coroutine: CoroutineId(2),
        n: 10_000,
        at: ms(END),
        kind: EventKind::Death,
        ..Event::default()
    });
    let ended = [woken_by(other), death];
    assert_eq!(word(LeafKind::Message, &ended), "far-beyond");
    assert_eq!(word(LeafKind::Timer, &[]), "no-work");
}

// CT-14
#[test]
fn a_lack_of_work_explains_only_waits_for_work() {
    for (kind, verdict, word) in [
        (LeafKind::Unknown, Verdict::Waiting, "quiet"),
        (LeafKind::Message, Verdict::Waiting, "quiet"),
        (LeafKind::Io, Verdict::Waiting, "quiet"),
        (LeafKind::Reply, Verdict::MaybeStuck, "far-beyond"),
        (LeafKind::Room, Verdict::MaybeStuck, "far-beyond"),
        (LeafKind::Lock, Verdict::MaybeStuck, "far-beyond"),
    ] {
        let (found, reason) = judged(kind, 1_000, &[]);
        assert_eq!((found, reason.word()), (verdict, word), "{kind:?}");
    }
}

// CT-15
#[test]
fn a_lock_that_is_kept_during_a_wait_for_work_is_idle() {
    let next = |kind| {
        let site = SiteId(2);
        let suspend = Record::Event(Event {
            coroutine: CoroutineId(2),
            n: 201,
            at: ms(1_002),
            kind: EventKind::Suspend,
            site,
            ..Event::default()
        });
        let run = event(2, 200, 1_001, EventKind::Run);
        [
            run,
            suspend,
            Record::Leaf(Leaf {
                site,
                kind,
                ..Leaf::default()
            }),
        ]
    };
    let word = |kind| judged(LeafKind::Lock, 1_000, &next(kind)).1.word();
    assert_eq!(word(LeafKind::Message), "quiet");
    assert_eq!(word(LeafKind::Reply), "far-beyond");
}
