//! Coroutines that wait for a released lock that no coroutine takes.

use ctp_trace::record::*;
use ctp_trace::verdict::{Caveat, Confidence, Reason, Verdict};

use crate::recording::{Recording, SHARED, probe_id};

const A: u64 = 0x1000;

const UNCLAIMED: (Verdict, Confidence, Reason) = (
    Verdict::MaybeStuck,
    Confidence::Likely,
    Reason::Unclaimed {
        caveat: Some(Caveat::AcquiredUnrecorded),
    },
);

/// Coroutine 1 had the lock; coroutines 2 and 3 wait for it.
fn released() -> Recording {
    let mut recording = Recording::of(3);
    recording.takes(1, 10, A);
    recording.wants(2, 20, A);
    recording.wants(3, 21, A);
    recording.gives(1, 30, A);
    recording
}

fn stuck(recording: &Recording) -> Vec<u32> {
    let all = recording.stuck();
    assert!(all.values().all(|entry| *entry == UNCLAIMED), "{all:?}");
    all.into_keys().collect()
}

// CT-15
#[test]
fn a_release_without_a_wake_leaves_waiters_stuck() {
    assert_eq!(stuck(&released()), [2, 3]);
    let mut again = released();
    again.woken(2, 31);
    again.runs(2, 32);
    again.wants(2, 33, A);
    assert_eq!(stuck(&again), [2, 3], "ran without taking the lock");
    let mut late = released();
    late.wants(1, 9_500, A);
    assert_eq!(stuck(&late), [2, 3], "coroutine 1 began to wait recently");
}

// CT-15
#[test]
fn a_woken_waiter_may_take_the_lock() {
    let mut woken = released();
    woken.woken(3, 31);
    assert_eq!(stuck(&woken), []);
    woken.runs(3, 32);
    assert_eq!(stuck(&woken), [], "this run may take the lock");
    woken.waits(3, 33, WaitKind::Timer, 0);
    assert_eq!(stuck(&woken), [], "it may have taken the lock silently");
}

// CT-15
#[test]
fn a_waiter_that_another_thread_wakes_takes_no_lock() {
    let mut timed_out = released();
    timed_out.woken_by(3, 31, 9);
    timed_out.runs(3, 32);
    timed_out.waits(3, 33, WaitKind::Timer, 0);
    assert_eq!(stuck(&timed_out), [2]);
    let mut handed_over = released();
    handed_over.woken_by(3, 31, SHARED);
    handed_over.runs(3, 32);
    handed_over.ends(3, 33);
    assert_eq!(stuck(&handed_over), []);
}

// CT-15
#[test]
fn a_lock_without_waiters_was_taken_silently() {
    let mut recording = Recording::of(2);
    recording.takes(1, 10, A);
    recording.gives(1, 20, A);
    recording.wants(2, 30, A);
    assert_eq!(stuck(&recording), []);
}

// CT-15
#[test]
fn taken_closed_or_just_released_is_not_unclaimed() {
    let mut taken = released();
    taken.takes(1, 40, A);
    assert_eq!(stuck(&taken), []);
    let mut recent = released();
    recent.takes(1, 40, A);
    recent.gives(1, 9_500, A);
    assert_eq!(stuck(&recent), []);
    let mut closed = released();
    closed.thread_event(
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
fn a_lost_record_may_hide_an_acquisition() {
    let mut lost = released();
    lost.thread_event(5_000, Act::Loss(1));
    assert_eq!(stuck(&lost), []);
}

/// Nested in coroutine 2, coroutine 4 waits for the lock too. It was woken but is not polled again.
fn with_inner() -> Recording {
    let mut recording = Recording::of(2);
    recording.takes(1, 10, A);
    recording.together.extend([2, 4]);
    recording.runs(2, 11);
    recording.born(4, probe_id(4));
    recording.runs(4, 12);
    recording.wants(4, 13, A);
    recording.wants(2, 20, A);
    recording.gives(1, 30, A);
    recording.woken(4, 31);
    recording
}

// CT-15
#[test]
fn an_unpolled_future_keeps_the_lock_handed_over() {
    let recording = with_inner();
    assert_eq!(recording.stuck().get(&2), Some(&UNCLAIMED));
    let mut woken = recording.clone();
    woken.woken(2, 31);
    assert!(!woken.stuck().contains_key(&2));
}
