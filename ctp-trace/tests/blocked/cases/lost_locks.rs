//! Locks whose holders ended, were dropped, or are not polled any more.

use super::*;

// CT-15
#[test]
fn a_lock_of_an_ended_holder_blocks_forever() {
    let mut recording = Recording::of(2);
    recording.takes(1, 10, A);
    recording.ends(1, 15);
    recording.wants(2, 20, A);
    let holder = CoroutineId(1);
    let certain = Reason::NeverReleased {
        holder,
        caveat: None,
    };
    let of = |recording: &Recording| recording.stuck().get(&2).map(|entry| (entry.0, entry.2));
    assert_eq!(of(&recording), Some((Verdict::Stuck, certain)));
    recording.refused = 1; // coroutine 1 may have run nested in the refused coroutine
    assert_eq!(of(&recording).map(|pair| pair.0), Some(Verdict::MaybeStuck));

    let mut dropped = Recording::of(2);
    dropped.takes(1, 10, A);
    dropped.wants(2, 12, A);
    dropped.gives(2, 14, A); // dropping coroutine 1 releases the lock
    dropped.ends(1, 15);
    assert_eq!(of(&dropped), None);
}

// CT-15
#[test]
fn a_thread_may_have_taken_the_lock_of_a_dropped_future() {
    let mut recording = Recording::of(2);
    recording.takes(1, 10, A);
    recording.together.insert(1);
    recording.ends(1, 15);
    recording.wants(2, 20, A);
    let caveats: Vec<_> = recording
        .stuck()
        .into_values()
        .map(|entry| entry.2)
        .collect();
    let (holder, caveat) = (CoroutineId(1), Some(Caveat::Moved));
    assert_eq!(caveats, [Reason::NeverReleased { holder, caveat }]);
}

// CT-15
#[test]
fn a_lock_held_by_an_unpolled_future() {
    let mut recording = hosted();
    recording.wants(1, 20, A);
    assert!(recording.stuck().is_empty(), "coroutine 3 may be woken");
    recording.woken(3, 30);
    assert_eq!(caveat(&recording), Some(Caveat::PolledInside));
    assert_eq!(recording.stuck().len(), 2);
}

// CT-15
#[test]
fn an_ended_nested_future_may_have_moved_the_lock() {
    let mut recording = hosted();
    recording.ends(3, 13);
    recording.born(2, probe_id(2));
    recording.runs(2, 14);
    recording.wants(2, 15, A);
    recording.waits(1, 20, WaitKind::Timer, 0);
    let caveats: Vec<_> = recording
        .stuck()
        .into_values()
        .map(|entry| entry.2)
        .collect();
    let holder = CoroutineId(3);
    let caveat = Some(Caveat::Moved);
    assert_eq!(caveats, [Reason::NeverReleased { holder, caveat }]);
}
