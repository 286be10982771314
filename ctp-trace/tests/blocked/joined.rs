//! Those who wait for the end of one that has ended.

use ctp_trace::record::Nanos;
use ctp_trace::verdict::{Confidence, Reason, Verdict};

use crate::recording::Recording;

/// Since when one is stuck, for certain, for the end of what it waits for.
fn lost_since(recording: &Recording) -> Option<u64> {
    let stuck = recording.stuck();
    let (verdict, confidence, reason) = *stuck.get(&1)?;
    assert_eq!((verdict, confidence), (Verdict::Stuck, Confidence::Certain));
    match reason {
        Reason::Closed {
            at: Nanos(at),
            caveat: None,
        } => Some(at / 1_000_000),
        other => panic!("it ended: {other:?}"),
    }
}

// CT-15
#[test]
fn an_end_that_wakes_nobody_leaves_those_who_wait_for_it_stuck() {
    let mut recording = Recording::of(2);
    recording.joins(1, 20, 2);
    assert_eq!(lost_since(&recording), None);
    recording.ends(2, 30);
    assert_eq!(lost_since(&recording), Some(30));
    recording.woken(1, 40);
    assert_eq!(lost_since(&recording), None);
}

// CT-15
#[test]
fn who_begins_to_wait_for_one_that_has_ended_is_stuck_from_the_beginning() {
    let mut recording = Recording::of(3);
    recording.ends(2, 19);
    recording.joins(1, 20, 2);
    recording.joins(3, 20, 1);
    assert_eq!(lost_since(&recording), Some(20));
    assert!(matches!(recording.stuck()[&3].2, Reason::Behind { .. }));
}

// CT-15
#[test]
fn an_id_that_is_used_again_is_that_of_the_one_who_has_it_now() {
    let mut recording = Recording::of(2);
    recording.ends(2, 10);
    recording.born(3, crate::recording::probe_id(2));
    recording.runs(3, 15);
    recording.joins(1, 20, 2);
    assert!(recording.stuck().is_empty());
}

// CT-15
#[test]
fn who_is_resumed_late_as_others_were_is_not_stuck() {
    let mut recording = Recording::of(4);
    recording.joins(1, 9_000, 2);
    recording.joins(3, 10, 4);
    recording.ends(4, 20);
    recording.woken(3, 1_500);
    recording.runs(3, 1_500);
    recording.ends(2, 8_000);
    assert_eq!(lost_since(&recording), None);
}

// CT-15
#[test]
fn who_began_after_the_end_and_was_resumed_late_tells_how_long_that_takes() {
    let mut recording = Recording::of(4);
    recording.ends(2, 10);
    recording.joins(3, 100, 2);
    recording.woken(3, 3_100);
    recording.runs(3, 3_100);
    recording.joins(1, 8_000, 2);
    assert_eq!(lost_since(&recording), None);
}

// CT-15
#[test]
fn ends_that_nobody_waits_for_are_bounded() {
    let mut recording = Recording::of(1);
    for id in 2..40_000 {
        recording.born(id, crate::recording::probe_id(id));
        recording.ends(id, 10);
    }
    recording.joins(1, 20, 39_999);
    assert_eq!(lost_since(&recording), Some(20));
}
