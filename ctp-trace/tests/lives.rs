//! Verdicts that rest on how long similar coroutines lived. Times are in milliseconds.

use ctp_trace::TraceModel;
use ctp_trace::record::*;
use ctp_trace::verdict::{LivesEvidence, Reason, Verdict};

const THRESHOLD: Nanos = Nanos(1_000_000_000);
const POOL: SiteId = SiteId(7);

fn ms(ms: u64) -> Nanos {
    Nanos(ms * 1_000_000)
}

/// Judges coroutines, each given by its birth and whether it ends 3 ms later or waits from then on.
fn judged(lives: &[(u64, bool)], refused: u64) -> Vec<(Verdict, Reason)> {
    let lives = lives.iter().map(|(born, ends)| (*born, *ends, POOL));
    judged_at(&lives.collect::<Vec<_>>(), refused)
}

/// The same, of coroutines that each wait at a place.
fn judged_at(lives: &[(u64, bool, SiteId)], refused: u64) -> Vec<(Verdict, Reason)> {
    let mut trace_model = TraceModel::new();
    let mut consume = |record: Record| _ = trace_model.consume(&record);
    for (i, (born, ends, site)) in lives.iter().enumerate() {
        let coroutine = CoroutineId(i as u32 + 1);
        consume(Record::Birth(Birth {
            coroutine,
            at: ms(*born),
            name: format!("request-{i}"),
            ..Birth::default()
        }));
        let last = if *ends {
            EventKind::Death
        } else {
            EventKind::Suspend
        };
        let events = [(0, EventKind::Birth), (1, EventKind::Run), (3, last)];
        for (n, (after, kind)) in events.into_iter().enumerate() {
            consume(Record::Event(Event {
                coroutine,
                n: n as u64,
                at: ms(born + after),
                kind,
                site: *site,
                ..Event::default()
            }));
        }
    }
    consume(Record::End(End {
        at: ms(5_000),
        refused,
        ..End::default()
    }));
    let all = trace_model.judge(THRESHOLD).into_iter();
    all.map(|(_, judgement)| (judgement.verdict, judgement.reason))
        .collect()
}

/// `ended` coroutines that end, then `newest` coroutines that wait.
fn came_and_went(ended: u64, newest: u64) -> Vec<(u64, bool)> {
    let ended = (0..ended).map(|i| (10 * i, true));
    let newest = (0..newest).map(|i| (1_000 + i, false));
    ended.chain(newest).collect()
}

// CT-14
#[test]
fn newest_all_waiting_after_short_lives_is_likely_stuck() {
    let all = judged(&came_and_went(20, 8), 0);
    let lives = LivesEvidence {
        ended: 20,
        p99: all.first().map_or(Nanos(0), |pair| p99(pair.1)),
        longest: ms(3),
        newest: 8,
        here: 8,
        alike: None,
    };
    assert!((ms(3)..ms(6)).contains(&lives.p99));
    let stuck = (Verdict::MaybeStuck, Reason::BeyondLives(lives));
    assert_eq!(all, vec![stuck; 8]);
}

fn p99(reason: Reason) -> Nanos {
    match reason {
        Reason::BeyondLives(lives) => lives.p99,
        other => panic!("{other:?}"),
    }
}

// CT-14
#[test]
fn long_lived_among_later_short_lives_is_waiting() {
    let mut lives = came_and_went(20, 8);
    lives.push((2_000, true));
    let waiting = (Verdict::Waiting, Reason::NoPast);
    assert_eq!(judged(&lives, 0), vec![waiting; 8]);
    assert_eq!(judged(&came_and_went(20, 7), 0), vec![waiting; 7]);
    assert_eq!(judged(&came_and_went(7, 8), 0), vec![waiting; 8]);
}

// CT-14
#[test]
fn newest_that_all_wait_at_two_places_are_likely_stuck() {
    let at = |latest: u64| {
        let lives = came_and_went(20, 8).into_iter().enumerate();
        let lives = lives.map(|(i, (born, ends))| (born, ends, SiteId(7 + i as u32 % 2)));
        let mut lives: Vec<_> = lives.collect();
        // It has not waited for longer than the others lived.
        lives.push((latest, false, SiteId(9)));
        judged_at(&lives, 0)
    };
    let found = at(1_100);
    assert!(
        found.iter().all(|pair| pair.0 == Verdict::MaybeStuck),
        "{found:?}"
    );
    let found = at(4_990);
    assert!(
        found.iter().all(|pair| pair.0 == Verdict::Waiting),
        "{found:?}"
    );
}

// CT-24
#[test]
fn refused_coroutines_may_have_ended() {
    let waiting = (Verdict::Waiting, Reason::NoPast);
    assert_eq!(judged(&came_and_went(20, 8), 1), vec![waiting; 8]);
}

// CT-14
#[test]
fn an_older_waiter_at_the_same_site_is_likely_stuck_too() {
    let mut lives = vec![(0, false)];
    lives.extend(came_and_went(20, 8));
    assert!(
        judged(&lives, 0)
            .iter()
            .all(|pair| pair.0 == Verdict::MaybeStuck)
    );
}
