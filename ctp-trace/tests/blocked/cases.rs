//! Deadlocks and blocked coroutines, case by case.

mod lost_locks;

use std::collections::BTreeSet;

use ctp_trace::record::*;
use ctp_trace::verdict::{Caveat, Confidence, Reason, Verdict};

use crate::recording::{Recording, probe_id, stuck};

const A: u64 = 0x1000;
const B: u64 = 0x2000;

/// Coroutine 1 holds A and wants B; coroutine 2 holds B and wants A.
fn crossed() -> Recording {
    let mut recording = Recording::of(2);
    recording.takes(1, 10, A);
    recording.takes(2, 11, B);
    recording.wants(1, 20, B);
    recording.wants(2, 21, A);
    recording
}

fn is_certain(recording: &Recording) -> bool {
    let all = recording.stuck();
    let is_match = |id| all.get(&id).map(|entry| (entry.0, entry.2)) == Some(CERTAIN);
    is_match(1) && is_match(2) && all.len() == 2
}

const CERTAIN: (Verdict, Reason) = (Verdict::Deadlock, Reason::Deadlock { caveat: None });

/// The caveat of a deadlock of coroutine 1, which must be judged likely.
fn caveat(recording: &Recording) -> Option<Caveat> {
    let (verdict, confidence, reason) = recording.stuck()[&1];
    assert_eq!(
        (verdict, confidence),
        (Verdict::MaybeStuck, Confidence::Likely)
    );
    match reason {
        Reason::Deadlock { caveat } => caveat,
        other => panic!("no deadlock: {other:?}"),
    }
}

// CT-15
#[test]
fn two_coroutines_wait_for_each_others_lock() {
    let recording = crossed();
    assert!(is_certain(&recording));
    let blocks = recording.trace_model(&[]).blocks();
    assert_eq!(blocks.cycles(), [[CoroutineId(1), CoroutineId(2)]]);
}

// CT-15
#[test]
fn taking_the_same_lock_twice_is_a_deadlock() {
    let mut recording = Recording::of(1);
    recording.takes(1, 10, A);
    recording.wants(1, 20, A);
    let (verdict, _, reason) = recording.stuck()[&1];
    assert_eq!((verdict, reason), CERTAIN);
}

// CT-15
#[test]
fn joining_a_waiter_for_the_own_lock_is_a_deadlock() {
    let mut recording = Recording::of(2);
    recording.takes(1, 10, A);
    recording.joins(1, 20, 2);
    recording.wants(2, 21, A);
    assert!(is_certain(&recording));
}

// CT-15
#[test]
fn a_reused_station_closes_no_cycle() {
    let mut recording = Recording::of(2);
    recording.joins(1, 20, 2);
    recording.ends(2, 30);
    let next = 3;
    recording.born(next, probe_id(2) + (1 << 24)); // the next use of its station
    recording.runs(next, 40);
    recording.joins(next, 50, 1);
    assert!(recording.trace_model(&[]).blocks().cycles().is_empty());
}

// CT-15
#[test]
fn a_released_or_closed_lock_blocks_no_coroutine() {
    let mut given = crossed();
    given.gives(2, 30, B);
    given.woken(1, 9_500);
    assert!(given.stuck().is_empty());
    let mut closed = crossed();
    let close = Close {
        wait: WaitKind::Lock,
        arg: A,
        site: SiteId(3),
    };
    closed.thread_event(30, Act::Close(close));
    let reasons: Vec<_> = closed
        .stuck()
        .values()
        .map(|entry| entry.2.word())
        .collect();
    assert!(!reasons.contains(&"deadlock"), "{reasons:?}");
}

/// The same deadlock, with recording stopped for a moment at this time.
fn stopped_at(ms: u64) -> Recording {
    let control = |stopped, generation| {
        Record::Control(Control {
            at: Nanos(ms * 1_000_000),
            generation,
            stopped,
            ..Control::default()
        })
    };
    let mut stopped = crossed();
    let is_later =
        |record: &Record| matches!(record, Record::Event(event) if ms * 1_000_000 < event.at.0);
    let records = &mut stopped.records;
    let at = records.iter().position(is_later).unwrap_or(records.len());
    records.splice(at..at, [control(true, 1), control(false, 2)]);
    stopped
}

// CT-24
#[test]
fn a_stop_may_hide_a_release() {
    assert!(stopped_at(15).stuck().is_empty());
    assert_eq!(stopped_at(30).stuck().len(), 2, "no later run");
}

// CT-15
#[test]
fn a_nested_deadlock_may_end_by_a_drop() {
    let mut recording = hosted();
    recording.runs(3, 13);
    recording.born(2, probe_id(2));
    recording.runs(2, 14);
    recording.takes(2, 15, B);
    recording.wants(3, 20, B);
    recording.waits(1, 21, WaitKind::Timer, 0);
    recording.wants(2, 22, A);
    let caveat = Some(Caveat::DroppedInside);
    let all: Vec<_> = recording
        .stuck()
        .into_iter()
        .map(|(id, entry)| (id, entry.2))
        .collect();
    assert_eq!(all, [2, 3].map(|id| (id, Reason::Deadlock { caveat })));
}

/// Coroutine 1 holds A and polls 3, which wants B. Coroutine 2 holds B and polls 4, which wants A.
fn crossed_inside() -> Recording {
    let mut recording = Recording::of(2);
    recording.together.extend([1, 3]);
    recording.runs(1, 9);
    recording.takes(1, 10, A);
    recording.born(3, probe_id(3));
    recording.runs(3, 11);
    recording.wants(3, 12, B);
    recording.waits(1, 13, WaitKind::Unknown, 0);
    recording.together = BTreeSet::from([2, 4]);
    recording.runs(2, 19);
    recording.takes(2, 20, B);
    recording.born(4, probe_id(4));
    recording.runs(4, 21);
    recording.wants(4, 22, A);
    recording.waits(2, 23, WaitKind::Unknown, 0);
    recording.wakers.extend((1..=4).map(|id| (id, 1)));
    recording
}

// CT-15
#[test]
fn outer_and_nested_coroutines_form_a_deadlock() {
    let recording = crossed_inside();
    let caveat = Some(Caveat::DroppedInside);
    let all: Vec<_> = recording.stuck().into_iter().collect();
    let each = (
        Verdict::MaybeStuck,
        Confidence::Likely,
        Reason::Deadlock { caveat },
    );
    assert_eq!(all, [1, 2, 3, 4].map(|id| (id, each)));
    let blocks = recording.trace_model(&[]).blocks();
    assert_eq!(blocks.cycles(), [[1, 3, 2, 4].map(CoroutineId)]);
}

// CT-15
#[test]
fn an_outer_coroutine_may_be_woken_for_other_work() {
    let mut woken = crossed_inside();
    woken.woken(3, 30);
    assert!(woken.stuck().is_empty());
    let mut several = crossed_inside();
    several.wakers.insert(2, 2);
    assert!(several.stuck().is_empty());
}

// CT-15
#[test]
fn a_sibling_future_may_release_the_lock() {
    let mut recording = Recording::of(3);
    recording.takes(1, 10, A);
    let marks = WaitMarks {
        has_others: true,
        ..WaitMarks::default()
    };
    recording.waits_marked(1, 20, WaitKind::Lock, A, marks);
    recording.takes(2, 30, B);
    recording.wants(2, 31, A);
    recording.wants(3, 32, B);
    assert!(recording.stuck().is_empty());
    recording.waits(1, 40, WaitKind::Lock, A);
    assert_eq!(recording.stuck().len(), 3, "only the lock is awaited");
}

// CT-15
#[test]
fn repeated_runs_with_the_same_wait_stay_in_deadlock() {
    let mut recording = crossed();
    for at in [3_000, 6_000, 9_900] {
        recording.woken(2, at);
        recording.runs(2, at);
        recording.wants(2, at + 1, A);
    }
    assert_eq!(caveat(&recording), Some(Caveat::RanAgain));
    recording.gives(1, 9_950, A);
    recording.takes(1, 9_951, A);
    assert!(recording.stuck().is_empty(), "that lock was free meanwhile");
}

// CT-24
#[test]
fn missing_records_prevent_certainty() {
    let mut lost = crossed();
    lost.thread_event(5_000, Act::Loss(1));
    assert_eq!(caveat(&lost), Some(Caveat::Incomplete));

    let mut before = Recording::of(0);
    before.thread_event(5, Act::Loss(1));
    before.records.extend(crossed().records);
    before.events = crossed().events;
    assert!(is_certain(&before), "before they were taken");

    let mut unrecorded = crossed();
    let records = unrecorded.records.iter();
    let begins = |record: &&Record| {
        matches!(
            record,
            Record::ThreadEvent(ThreadEvent {
                act: Act::Begin,
                ..
            })
        )
    };
    unrecorded.records = records.filter(|record| !begins(record)).cloned().collect();
    assert_eq!(
        caveat(&unrecorded),
        Some(Caveat::Incomplete),
        "a thread without a lane"
    );

    let stopped = stopped_at(30);
    assert_eq!(caveat(&stopped), Some(Caveat::Incomplete));

    let mut window = crossed();
    window.records.push(Record::Window(Window::default()));
    assert_eq!(caveat(&window), Some(Caveat::Incomplete));

    let mut damaged = crossed().trace_model(&[1, 2]);
    damaged.note_damage();
    assert!(stuck(&damaged).is_empty());
}

// CT-15
#[test]
fn other_awaited_events_prevent_certainty() {
    let mut several = Recording::of(2);
    several.takes(1, 10, A);
    several.takes(2, 11, B);
    let marks = WaitMarks {
        has_others: true,
        ..WaitMarks::default()
    };
    several.waits_marked(1, 20, WaitKind::Lock, B, marks);
    several.wants(2, 21, A);
    assert_eq!(caveat(&several), Some(Caveat::OneOfSeveral));

    let mut wakers = crossed();
    wakers.wakers.extend([(1, 1), (2, 2)]);
    assert_eq!(caveat(&wakers), Some(Caveat::SeveralWakers));
    wakers.wakers.insert(2, 1);
    assert!(is_certain(&wakers));
}

// CT-15
#[test]
fn a_woken_coroutine_breaks_the_deadlock() {
    let mut recording = crossed();
    recording.woken(1, 9_500);
    assert!(recording.stuck().is_empty());
}

// CT-15
#[test]
fn a_deadlock_without_wake_records_is_likely() {
    let mut recording = crossed();
    recording
        .records
        .retain(|record| !matches!(record, Record::Wake(_)));
    assert_eq!(caveat(&recording), Some(Caveat::WakesNotRecorded));
}

// CT-15
#[test]
fn a_deadlock_on_shared_or_moved_locks_is_likely() {
    let mut shared = Recording::of(3);
    shared.takes(3, 9, B);
    shared.takes(1, 10, A);
    shared.takes(2, 11, B);
    shared.wants(1, 20, B);
    shared.wants(2, 21, A);
    shared.wants(3, 22, A);
    assert_eq!(caveat(&shared), Some(Caveat::Shared));

    let mut free = shared.clone();
    free.records.pop();
    free.events.insert(3, 1);
    assert!(free.stuck().is_empty(), "a holder may go on");

    let mut moved = Recording::of(2);
    moved.takes(1, 5, B);
    moved.gives(2, 6, B);
    moved.runs(1, 7);
    moved.takes(1, 10, A);
    moved.takes(2, 11, B);
    moved.wants(1, 20, B);
    moved.wants(2, 21, A);
    assert_eq!(caveat(&moved), Some(Caveat::Moved));
}

// CT-15
#[test]
fn a_channel_at_the_address_of_a_lock_is_not_held() {
    let mut recording = Recording::of(1);
    recording.takes(1, 10, A);
    recording.waits(1, 20, WaitKind::Channel, A);
    assert!(recording.stuck().is_empty());
}

// CT-15
#[test]
fn a_recent_cycle_is_no_deadlock() {
    let mut recording = Recording::of(2);
    recording.takes(1, 10, A);
    recording.takes(2, 11, B);
    recording.wants(1, 20, B);
    recording.wants(2, 9_500, A);
    assert!(recording.stuck().is_empty());
}

fn behind(root: u32) -> (Verdict, Reason) {
    let root = CoroutineId(root);
    (Verdict::Stuck, Reason::Behind { root, caveat: None })
}

// CT-15
#[test]
fn coroutines_behind_a_deadlock_name_the_root() {
    let mut recording = Recording::of(5);
    recording.takes(1, 10, A);
    recording.takes(2, 11, B);
    recording.wants(1, 20, B);
    recording.wants(2, 21, A);
    recording.joins(3, 30, 1);
    recording.joins(4, 31, 3);
    recording.waits(5, 32, WaitKind::Readable, 7);
    let stuck = recording.stuck();
    let of = |id| (stuck[&id].0, stuck[&id].2);
    assert_eq!([of(3), of(4)], [behind(1), behind(1)]);
    assert_eq!(stuck.len(), 4, "coroutine 5 waits for no coroutine");
}

// CT-15
#[test]
fn a_long_chain_behind_a_self_deadlock() {
    let length = 20_000;
    let mut recording = Recording::of(length);
    recording.takes(1, 10, A);
    recording.takes(1, 11, A);
    recording.wants(1, 20, A);
    (2..=length).for_each(|id| recording.joins(id, 30, id - 1));
    let stuck = recording.stuck();
    assert_eq!((stuck[&1].0, stuck[&1].2), CERTAIN);
    assert_eq!((stuck[&length].0, stuck[&length].2), behind(1));
    assert_eq!(stuck.len(), length as usize);
}

// CT-15
#[test]
fn a_coroutine_stuck_for_another_reason_is_a_root_too() {
    let mut recording = Recording::of(3);
    recording.takes(1, 10, A);
    recording.waits(1, 20, WaitKind::Readable, 7);
    recording.wants(2, 21, A);
    recording.takes(3, 22, B);
    recording.waits(3, 23, WaitKind::Timer, 0);
    assert!(
        recording.stuck().is_empty(),
        "the holder may still be woken"
    );
    let close = Close {
        wait: WaitKind::Readable,
        arg: 7,
        site: SiteId(3),
    };
    recording.thread_event(30, Act::Close(close));
    let stuck = recording.stuck();
    assert_eq!(stuck[&1].2.word(), "closed");
    assert_eq!((stuck[&2].0, stuck[&2].2), behind(1));
    assert_eq!(stuck.len(), 2);
}

/// Coroutine 1 runs and polls coroutine 3, which takes the lock and waits.
fn hosted() -> Recording {
    let mut recording = Recording::of(1);
    recording.together.extend([1, 3]);
    recording.runs(1, 9);
    recording.born(3, probe_id(3));
    recording.runs(3, 10);
    recording.takes(3, 11, A);
    recording.waits(3, 12, WaitKind::Timer, 0);
    recording
}
