//! Traces of flight recorders: what is in the window, what is in totals, and what is lost.

mod facts;

use ctp_trace::Census;
use ctp_trace::record::*;
use ctp_trace::verdict::Verdict;
use facts::{census, end, event, tally};

use EventKind::{Run, Suspend};

const SECOND: u64 = 1_000_000_000;

fn durations(all: &[u64]) -> Durations {
    let mut durations = Durations::default();
    all.iter()
        .for_each(|ns| durations.add(Nanos(*ns), Bins::USUAL));
    durations
}

fn birth(id: u32) -> Record {
    Record::Birth(Birth {
        coroutine: CoroutineId(id),
        name: "worker".into(),
        ..Birth::default()
    })
}

fn aggregate(id: u32, waits: &[u64]) -> Record {
    Record::Aggregate(Box::new(Aggregate {
        coroutine: CoroutineId(id),
        bins: Bins::USUAL,
        waiting: durations(waits),
        ..Aggregate::default()
    }))
}

fn earlier(id: u32, events: u64) -> Record {
    Record::Earlier(Earlier {
        coroutine: CoroutineId(id),
        events,
    })
}

/// It had a thousand events, of which the window has the last ten.
fn worker(id: u32, waits: &[u64]) -> Vec<Record> {
    let mut records = vec![birth(id), aggregate(id, waits), earlier(id, 990)];
    for i in 0..5 {
        records.push(event(id, 990 + 2 * i, SECOND + 20 * i, Run));
        records.push(event(id, 991 + 2 * i, SECOND + 20 * i + 10, Suspend));
    }
    records.push(tally(id, 1_000, 10));
    records
}

// LT-08
#[test]
fn what_came_before_the_window_is_in_totals_and_not_lost() {
    let mut census = census(&worker(1, &[40; 499]));
    census.feed(&end(2 * SECOND));
    assert_eq!((census.lost(), census.summed_up()), (0, 990));
    assert_eq!(census.totals().events, 10);
    assert!(!census.is_approximate());
    assert_eq!(census.by_name()[0].waiting, durations(&[40; 499]));
    let site = census.sites().remove(0);
    assert_eq!(site.waits.count(), 4);
    assert!(site.approximate, "of the window only");
}

// LT-08
#[test]
fn what_is_missing_within_the_window_is_lost() {
    let mut records = worker(1, &[40; 499]);
    records.retain(|record| !matches!(record, Record::Event(it) if it.n == 995));
    records.pop();
    records.push(tally(1, 1_000, 9));
    let mut census = census(&records);
    census.feed(&end(2 * SECOND));
    assert_eq!((census.lost(), census.summed_up()), (1, 990));
    assert!(census.is_approximate());
}

#[test]
fn those_that_ended_before_the_window_are_in_the_totals_of_their_name() {
    let mut records = worker(1, &[40; 499]);
    records.push(Record::Former(Box::new(Former {
        name: "worker".into(),
        coroutines: 7,
        events: 70,
        bins: Bins::USUAL,
        waiting: durations(&[50; 30]),
        ..Former::default()
    })));
    let census = census(&records);
    let named = census.by_name().remove(0);
    assert_eq!((named.coroutines, named.waiting.count), (8, 529));
    assert_eq!(census.totals().coroutines, 8);
    assert_eq!(census.summed_up(), 990 + 70);
}

/// A trace may say that there were any number of them.
#[test]
fn sums_that_are_full_stay_so() {
    let former = Record::Former(Box::new(Former {
        name: "worker".into(),
        coroutines: u64::MAX,
        ..Former::default()
    }));
    let begins = Record::Deed(Deed::default());
    let lost = Record::Deed(Deed {
        act: Act::Loss(1),
        ..Deed::default()
    });
    let spawned = [event(1, 0, 10, Run), event(2, 0, 20, EventKind::Birth)];
    let told = [former, begins, birth(1), birth(2)];
    let mut census = census(&[&told[..], &spawned].concat());
    assert!(
        census
            .get(CoroutineId(2))
            .is_some_and(|it| it.parent.is_some())
    );
    census.feed(&lost);
    assert_eq!(census.by_name()[0].coroutines, u64::MAX);
    assert_eq!(census.totals().coroutines, u64::MAX);
    assert_eq!(census.parents_unknown(), u64::MAX);
}

fn verdict(census: &Census) -> Verdict {
    census.judge(Nanos(SECOND))[0].1.verdict
}

#[test]
fn a_wait_is_not_far_beyond_what_was_usual_before_the_window() {
    let of_age = |waits: &[u64]| {
        let mut census = census(&worker(1, waits));
        census.feed(&end(100 * SECOND));
        verdict(&census)
    };
    assert_eq!(of_age(&[40; 499]), Verdict::MaybeStuck);
    let mut waits = [40; 499];
    waits[7] = 60 * SECOND;
    assert_eq!(of_age(&waits), Verdict::Waiting);
}

#[test]
fn one_of_which_no_event_is_left_is_not_judged() {
    let mut census = census(&[
        birth(1),
        aggregate(1, &[40; 9]),
        earlier(1, 20),
        tally(1, 20, 0),
    ]);
    census.feed(&event(2, 0, 50 * SECOND, Run));
    census.feed(&end(100 * SECOND));
    assert_eq!(verdict(&census), Verdict::Unknown);
}
