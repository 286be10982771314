//! Coroutines that wait for the end of an ended coroutine.

use ctp_trace::record::Nanos;
use ctp_trace::verdict::{Confidence, Reason, Verdict};

use crate::recording::Recording;

/// Since when coroutine 1 is certainly stuck because the joined coroutine has ended.
fn lost_since(recording: &Recording) -> Option<u64> {
    let stuck = recording.stuck();
    let (verdict, confidence, reason) = *stuck.get(&1)?;
    assert_eq!((verdict, confidence), (Verdict::Stuck, Confidence::Certain));
    match reason {
        Reason::Closed {
            at: Nanos(at),
            caveat: None,
        } => Some(at / 1_000_000),
        other => panic!("not closed: {other:?}"),
    }
}

// CT-15
#[test]
fn an_end_without_a_wake_leaves_waiters_stuck() {
    let mut recording = Recording::of(2);
    recording.joins(1, 20, 2);
    assert_eq!(lost_since(&recording), None);
    recording.ends(2, 30);
    assert_eq!(lost_since(&recording), Some(30));
    recording.woken(1, 9_500);
    assert_eq!(lost_since(&recording), None);
}

// CT-15
#[test]
fn joining_an_ended_coroutine_is_stuck_from_the_start() {
    let mut recording = Recording::of(3);
    recording.ends(2, 19);
    recording.joins(1, 20, 2);
    recording.joins(3, 20, 1);
    assert_eq!(lost_since(&recording), Some(20));
    assert!(matches!(recording.stuck()[&3].2, Reason::Behind { .. }));
}

// CT-15
#[test]
fn a_reused_id_belongs_to_the_newest_coroutine() {
    let mut recording = Recording::of(2);
    recording.ends(2, 10);
    recording.born(3, crate::recording::probe_id(2));
    recording.runs(3, 15);
    recording.joins(1, 20, 2);
    assert!(recording.stuck().is_empty());
}

// CT-15
#[test]
fn resumes_as_late_as_those_of_others_are_not_stuck() {
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
fn a_late_resume_after_an_end_sets_the_usual_delay() {
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
fn remembered_ends_are_bounded() {
    let mut recording = Recording::of(1);
    for id in 2..40_000 {
        recording.born(id, crate::recording::probe_id(id));
        recording.ends(id, 10);
    }
    recording.joins(1, 20, 39_999);
    assert_eq!(lost_since(&recording), Some(20));
}
