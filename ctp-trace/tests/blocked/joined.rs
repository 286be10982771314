//! Those who wait for the end of one that has ended.

use ctp_trace::record::Nanos;
use ctp_trace::verdict::{Confidence, Reason, Verdict};

use crate::told::Told;

/// Since when one is stuck, for certain, for the end of what it waits for.
fn lost_since(told: &Told) -> Option<u64> {
    let stuck = told.stuck();
    let (verdict, confidence, reason) = *stuck.get(&1)?;
    assert_eq!((verdict, confidence), (Verdict::Stuck, Confidence::Certain));
    match reason {
        Reason::Closed {
            at: Nanos(at),
            doubt: None,
        } => Some(at / 1_000_000),
        other => panic!("it ended: {other:?}"),
    }
}

// CT-15
#[test]
fn an_end_that_wakes_nobody_leaves_those_who_wait_for_it_stuck() {
    let mut told = Told::of(2);
    told.joins(1, 20, 2);
    assert_eq!(lost_since(&told), None);
    told.ends(2, 30);
    assert_eq!(lost_since(&told), Some(30));
    told.woken(1, 40);
    assert_eq!(lost_since(&told), None);
}

// CT-15
#[test]
fn who_begins_to_wait_for_one_that_has_ended_is_stuck_from_the_beginning() {
    let mut told = Told::of(3);
    told.ends(2, 19);
    told.joins(1, 20, 2);
    told.joins(3, 20, 1);
    assert_eq!(lost_since(&told), Some(20));
    assert!(matches!(told.stuck()[&3].2, Reason::Behind { .. }));
}

// CT-15
#[test]
fn an_id_that_is_used_again_is_that_of_the_one_who_has_it_now() {
    let mut told = Told::of(2);
    told.ends(2, 10);
    told.born(3, crate::told::probe_id(2));
    told.runs(3, 15);
    told.joins(1, 20, 2);
    assert!(told.stuck().is_empty());
}

// CT-15
#[test]
fn who_is_resumed_late_as_others_were_is_not_stuck() {
    let mut told = Told::of(4);
    told.joins(1, 9_000, 2);
    told.joins(3, 10, 4);
    told.ends(4, 20);
    told.woken(3, 1_500);
    told.runs(3, 1_500);
    told.ends(2, 8_000);
    assert_eq!(lost_since(&told), None);
}

// CT-15
#[test]
fn who_began_after_the_end_and_was_resumed_late_tells_how_long_that_takes() {
    let mut told = Told::of(4);
    told.ends(2, 10);
    told.joins(3, 100, 2);
    told.woken(3, 3_100);
    told.runs(3, 3_100);
    told.joins(1, 8_000, 2);
    assert_eq!(lost_since(&told), None);
}

// CT-15
#[test]
fn ends_that_nobody_waits_for_are_bounded() {
    let mut told = Told::of(1);
    for id in 2..40_000 {
        told.born(id, crate::told::probe_id(id));
        told.ends(id, 10);
    }
    told.joins(1, 20, 39_999);
    assert_eq!(lost_since(&told), Some(20));
}
