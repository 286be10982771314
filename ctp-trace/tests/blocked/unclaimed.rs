//! Those who wait for a lock that was given back, and that nobody takes.

use ctp_trace::record::*;
use ctp_trace::verdict::{Confidence, Doubt, Reason, Verdict};

use crate::told::{Told, probe_id};

const A: u64 = 0x1000;

const UNCLAIMED: (Verdict, Confidence, Reason) = (
    Verdict::MaybeStuck,
    Confidence::Likely,
    Reason::Unclaimed {
        doubt: Some(Doubt::TakenUntold),
    },
);

/// One had the lock; two and three wait for it.
fn given_back() -> Told {
    let mut told = Told::of(3);
    told.takes(1, 10, A);
    told.wants(2, 20, A);
    told.wants(3, 21, A);
    told.gives(1, 30, A);
    told
}

fn stuck(told: &Told) -> Vec<u32> {
    let all = told.stuck();
    assert!(all.values().all(|it| *it == UNCLAIMED), "{all:?}");
    all.into_keys().collect()
}

// CT-15
#[test]
fn a_lock_that_was_given_back_without_a_wake_leaves_those_who_wait_for_it_stuck() {
    assert_eq!(stuck(&given_back()), [2, 3]);
    let mut anew = given_back();
    anew.woken(2, 31);
    anew.runs(2, 32);
    anew.wants(2, 33, A);
    assert_eq!(stuck(&anew), [2, 3], "it ran, and did not take it");
    let mut late = given_back();
    late.wants(1, 9_500, A);
    assert_eq!(stuck(&late), [2, 3], "one has waited but just");
}

// CT-15
#[test]
fn one_who_was_woken_may_be_about_to_take_it() {
    let mut woken = given_back();
    woken.woken(3, 31);
    assert_eq!(stuck(&woken), []);
    woken.runs(3, 32);
    assert_eq!(stuck(&woken), [], "it runs, and may take it in that run");
    woken.waits(3, 33, WaitKind::Timer, 0);
    assert_eq!(stuck(&woken), [2]);
}

// CT-15
#[test]
fn a_lock_that_is_taken_or_closed_or_was_given_back_but_now_is_not_unclaimed() {
    let mut taken = given_back();
    taken.takes(1, 40, A);
    assert_eq!(stuck(&taken), []);
    let mut recent = given_back();
    recent.takes(1, 40, A);
    recent.gives(1, 9_500, A);
    assert_eq!(stuck(&recent), []);
    let mut closed = given_back();
    closed.deed(
        9_500,
        Act::Close(Close {
            wait: WaitKind::Lock,
            arg: A,
            ..Close::default()
        }),
    );
    assert_eq!(stuck(&closed), []);
}

// CT-24
#[test]
fn where_a_record_may_be_missing_somebody_may_have_taken_it() {
    let mut lost = given_back();
    lost.deed(5_000, Act::Loss(1));
    assert_eq!(stuck(&lost), []);
}

/// Inside of two, four waits for the lock as well. It was woken for it, and is polled no more.
fn with_one_inside() -> Told {
    let mut told = Told::of(2);
    told.takes(1, 10, A);
    told.together.extend([2, 4]);
    told.runs(2, 11);
    told.born(4, probe_id(4));
    told.runs(4, 12);
    told.wants(4, 13, A);
    told.wants(2, 20, A);
    told.gives(1, 30, A);
    told.woken(4, 31);
    told
}

// CT-15
#[test]
fn a_future_that_is_polled_no_more_keeps_what_it_was_given() {
    let told = with_one_inside();
    assert_eq!(told.stuck().get(&2), Some(&UNCLAIMED));
    let mut woken = told.clone();
    woken.woken(2, 31);
    assert!(!woken.stuck().contains_key(&2));
}
