//! Verdicts that rest on looks: the recorder examined the awaited descriptor. Times are in
//! milliseconds.

use ctp_trace::TraceModel;
use ctp_trace::record::*;
use ctp_trace::verdict::{
    Caveat, EmptyEvidence, Evidence, Level, Past, Reason, ResourceEvidence, State, Verdict,
    WakeEvidence, judge,
};

const THRESHOLD: Nanos = Nanos(1_000_000_000);
const WAITS: CoroutineId = CoroutineId(1);
const OTHER: CoroutineId = CoroutineId(2);

fn ms(ms: u64) -> Nanos {
    Nanos(ms * 1_000_000)
}

fn event(coroutine: CoroutineId, n: u64, at: u64, kind: EventKind) -> Record {
    Record::Event(Event {
        coroutine,
        n,
        at: ms(at),
        kind,
        wait: match kind {
            EventKind::Suspend => WaitKind::Readable,
            _ => WaitKind::Unknown,
        },
        arg: 17,
        ..Event::default()
    })
}

fn look(at: u64, seen: Seen) -> Record {
    Record::Look(Look {
        coroutine: WAITS,
        since: ms(10),
        at: ms(at),
        fd: 17,
        thing: Thing::Socket,
        seen,
    })
}

/// Judges a coroutine that waits from 10 ms on, while `OTHER` is resumed at 8 s. The end is at 9 s.
fn judged(looks: &[(u64, Seen)], others: &[Record]) -> (Verdict, Reason) {
    let events = [
        event(WAITS, 0, 1, EventKind::Run),
        event(OTHER, 0, 1, EventKind::Run),
        event(OTHER, 1, 2, EventKind::Suspend),
        event(WAITS, 1, 10, EventKind::Suspend),
    ];
    let resumed = [
        event(OTHER, 2, 7_900, EventKind::Run),
        event(OTHER, 3, 7_950, EventKind::Suspend),
        event(OTHER, 4, 8_000, EventKind::Run),
    ];
    judged_of(&events, looks, &[&resumed, others].concat())
}

/// The same, but `OTHER` waits at the same site and is resumed every ten milliseconds.
fn judged_with_many(looks: &[(u64, Seen)]) -> (Verdict, Reason) {
    let events = [
        event(WAITS, 0, 1, EventKind::Run),
        event(WAITS, 1, 10, EventKind::Suspend),
    ];
    let overtaker = |i: u64| {
        [(0, EventKind::Run), (1, EventKind::Suspend)]
            .map(|(late, kind)| event(OTHER, 2 * i + late, 10 * i + late, kind))
    };
    let overtaker: Vec<Record> = (0..890).flat_map(overtaker).collect();
    judged_of(&events, looks, &overtaker)
}

fn judged_of(events: &[Record], looks: &[(u64, Seen)], later: &[Record]) -> (Verdict, Reason) {
    let births = [WAITS, OTHER].map(|coroutine| {
        Record::Birth(Birth {
            coroutine,
            ..Birth::default()
        })
    });
    let wake = Record::Wake(Wake {
        coroutine: WAITS,
        ..Wake::default()
    });
    let event_counts = Record::EventCounts(EventCounts {
        coroutine: WAITS,
        attempted: 2,
        recorded: 2,
        ..EventCounts::default()
    });
    let end = Record::End(End {
        at: ms(9_000),
        ..End::default()
    });
    let looks: Vec<Record> = looks.iter().map(|(at, seen)| look(*at, *seen)).collect();
    let mut trace_model = TraceModel::new();
    let all = births.iter().chain(events).chain([&wake]).chain(&looks);
    for record in all.chain(later).chain([&event_counts, &end]) {
        trace_model.consume(record);
    }
    let judged = trace_model.judge(THRESHOLD);
    let (_, judgement) = judged
        .iter()
        .find(|(id, _)| *id == WAITS)
        .expect("a waiting coroutine");
    (judgement.verdict, judgement.reason)
}

fn caveat_of(reason: Reason) -> Option<Caveat> {
    match reason {
        Reason::Looked { caveat, .. } => caveat,
        other => panic!("{other:?}"),
    }
}

// CT-15
#[test]
fn seen_closed_twice_without_a_wake_is_certainly_stuck() {
    let looks = [
        (1_000, Seen::Open),
        (4_000, Seen::Closed),
        (4_200, Seen::Closed),
    ];
    let (verdict, reason) = judged(&looks, &[]);
    assert_eq!((verdict, caveat_of(reason)), (Verdict::Stuck, None));
    assert_eq!(reason.word(), "seen-closed");
}

// CT-15
#[test]
fn a_single_look_or_two_close_looks_prove_nothing() {
    for looks in [
        &[(4_000, Seen::Closed)][..],
        &[(4_000, Seen::Closed), (4_050, Seen::Closed)],
        &[(4_000, Seen::Closed), (4_200, Seen::Open)],
        &[(8_100, Seen::Closed), (8_300, Seen::Closed)],
    ] {
        let (verdict, _) = judged(looks, &[]);
        assert_eq!(verdict, Verdict::Waiting, "{looks:?}");
    }
}

// CT-15, CT-24
#[test]
fn a_possibly_hidden_wake_allows_only_likely() {
    let looks = [(4_000, Seen::Closed), (4_200, Seen::Closed)];
    let loss = Record::ThreadEvent(ThreadEvent {
        at: ms(5_000),
        act: Act::Loss(1),
        ..ThreadEvent::default()
    });
    let (verdict, reason) = judged(&looks, &[loss]);
    let caveat = Some(Caveat::Incomplete);
    assert_eq!((verdict, caveat_of(reason)), (Verdict::MaybeStuck, caveat));
    let replaced = [(4_000, Seen::Replaced), (4_200, Seen::Replaced)];
    let (verdict, reason) = judged(&replaced, &[]);
    let caveat = Some(Caveat::UsedAgain);
    assert_eq!((verdict, caveat_of(reason)), (Verdict::MaybeStuck, caveat));
}

// CT-15
#[test]
fn a_possibly_different_descriptor_is_likely_at_most() {
    let seen = Seen::NumberClosed;
    let (verdict, reason) = judged(&[(4_000, seen), (4_200, seen)], &[]);
    let caveat = Some(Caveat::OtherNumber);
    assert_eq!((verdict, caveat_of(reason)), (Verdict::MaybeStuck, caveat));
    assert_eq!(reason.word(), "seen-number-closed");
    // A look that sees it closed starts the evidence again, at the time of that look.
    let looks = [(4_000, seen), (4_200, seen), (8_100, Seen::Closed)];
    assert_eq!(judged(&looks, &[]).0, Verdict::Waiting);
}

// CT-15
#[test]
fn an_unwatched_descriptor_is_likely_at_most() {
    let looks = [(4_000, Seen::Unwatched(0)), (4_200, Seen::Unwatched(5))];
    let (verdict, reason) = judged(&looks, &[]);
    let caveat = Some(Caveat::WatchedElsewhere);
    assert_eq!((verdict, caveat_of(reason)), (Verdict::MaybeStuck, caveat));
    assert_eq!(reason.word(), "seen-unwatched");
    let watched_again = [looks[0], looks[1], (4_400, Seen::Open)];
    assert_eq!(judged(&watched_again, &[]).0, Verdict::Waiting);
    let too_late = [(8_100, Seen::Unwatched(0)), (8_300, Seen::Unwatched(0))];
    assert_eq!(judged(&too_late, &[]).0, Verdict::Waiting);
}

// CT-15
#[test]
fn a_recorded_close_takes_precedence_over_looks() {
    let looks = [(8_050, Seen::Closed), (8_200, Seen::Closed)];
    let close = Record::ThreadEvent(ThreadEvent {
        at: ms(2_000),
        act: Act::Close(Close {
            wait: WaitKind::Readable,
            arg: 17,
            site: SiteId(0),
        }),
        ..ThreadEvent::default()
    });
    let (verdict, reason) = judged(&looks, &[close]);
    assert_eq!((verdict, reason.word()), (Verdict::Stuck, "closed"));
}

// CT-15
#[test]
fn unread_input_is_likely_lost_while_others_progress() {
    for seen in [Seen::Readable(5), Seen::HungUp] {
        let (verdict, reason) = judged(&[(4_000, seen), (4_200, seen)], &[]);
        let caveat = Some(Caveat::MayBeDelayed);
        assert_eq!((verdict, caveat_of(reason)), (Verdict::MaybeStuck, caveat));
        assert_eq!(reason.word(), "seen-ready");
        // No coroutine became ready after these looks: the whole program may stand still.
        let late = [(7_960, seen), (8_100, seen)];
        assert_eq!(judged(&late, &[]).0, Verdict::Waiting);
    }
}

// CT-15
#[test]
fn a_number_that_never_was_open_counts_for_unusual_waits() {
    let seen = Seen::ClosedAtFirst;
    let looks = [(600, seen), (4_000, seen)];
    let (verdict, reason) = judged_with_many(&looks);
    let expected = (Verdict::MaybeStuck, "seen-closed-at-first");
    assert_eq!((verdict, reason.word()), expected);
    assert_eq!(caveat_of(reason), Some(Caveat::NeverSeenOpen));
    assert_eq!(judged(&looks, &[]).0, Verdict::Waiting, "nothing is usual");
}

// CT-15
#[test]
fn an_empty_descriptor_explains_a_long_wait() {
    let empty = |at| (at, Seen::Empty);
    let far_beyond = (Verdict::MaybeStuck, Reason::FarBeyond(Level::Line));
    let nothing = |at| {
        let empty = EmptyEvidence {
            fd: Some(17),
            at: ms(at),
        };
        (Verdict::Waiting, Reason::NothingToRead(empty))
    };
    assert_eq!(judged_with_many(&[]), far_beyond, "no look");
    let late = [empty(600), empty(5_000)];
    assert_eq!(judged_with_many(&late), nothing(5_000));
    let early = [empty(600), empty(4_000)];
    assert_eq!(judged_with_many(&early), far_beyond, "long ago");
    for later in [Seen::Open, Seen::Readable(5)] {
        let looks = [empty(600), empty(8_000), (8_900, later)];
        assert_eq!(judged_with_many(&looks), far_beyond, "not known by now");
    }
    let lost = [
        empty(600),
        (4_000, Seen::Readable(5)),
        (4_200, Seen::Readable(5)),
    ];
    assert_eq!(judged_with_many(&lost).1.word(), "seen-ready");
    let closed = [empty(600), (4_000, Seen::Closed), (4_200, Seen::Closed)];
    assert_eq!(judged_with_many(&closed).0, Verdict::Stuck);
}

// CT-15
#[test]
fn a_look_two_seconds_ago_counts_for_short_waits() {
    let evidence = |at| Evidence {
        state: State::Suspended,
        since: ms(1_000),
        end: ms(3_500),
        dialect: Dialect::Extended,
        wake: Some(WakeEvidence::default()),
        resource: ResourceEvidence {
            empty: Some(EmptyEvidence {
                fd: Some(17),
                at: ms(at),
            }),
            ..ResourceEvidence::default()
        },
        past: Past {
            waits: 100,
            active: ms(3_400),
            ..Past::default()
        },
        ..Evidence::default()
    };
    let reason = |at| judge(&evidence(at), THRESHOLD).reason.word();
    assert_eq!(reason(1_500), "nothing-to-read");
    assert_eq!(reason(1_499), "far-beyond");
    assert_eq!(reason(999), "far-beyond", "before the wait");
}
