//! Case by case.

use std::collections::BTreeSet;

use ctp_trace::record::*;
use ctp_trace::verdict::{Confidence, Doubt, Reason, Verdict};

use crate::told::{Told, probe_id, stuck};

const A: u64 = 0x1000;
const B: u64 = 0x2000;

/// One has A and wants B, two has B and wants A.
fn crossed() -> Told {
    let mut told = Told::of(2);
    told.takes(1, 10, A);
    told.takes(2, 11, B);
    told.wants(1, 20, B);
    told.wants(2, 21, A);
    told
}

fn is_certain(told: &Told) -> bool {
    let all = told.stuck();
    let is_it = |id| all.get(&id).map(|it| (it.0, it.2)) == Some(CERTAIN);
    is_it(1) && is_it(2) && all.len() == 2
}

const CERTAIN: (Verdict, Reason) = (Verdict::Deadlock, Reason::Deadlock { doubt: None });

/// Why it is not certain, of those that are said to be in a deadlock all the same.
fn doubt(told: &Told) -> Option<Doubt> {
    let (verdict, confidence, reason) = told.stuck()[&1];
    assert_eq!(
        (verdict, confidence),
        (Verdict::MaybeStuck, Confidence::Likely)
    );
    match reason {
        Reason::Deadlock { doubt } => doubt,
        other => panic!("no deadlock: {other:?}"),
    }
}

// CT-15
#[test]
fn each_waits_for_what_the_other_one_holds() {
    let told = crossed();
    assert!(is_certain(&told));
    let blocks = told.census(&[]).blocks();
    assert_eq!(blocks.cycles(), [[CoroutineId(1), CoroutineId(2)]]);
}

// CT-15
#[test]
fn one_waits_for_what_it_holds_itself() {
    let mut told = Told::of(1);
    told.takes(1, 10, A);
    told.wants(1, 20, A);
    let (verdict, _, reason) = told.stuck()[&1];
    assert_eq!((verdict, reason), CERTAIN);
}

// CT-15
#[test]
fn one_waits_for_the_end_of_another_that_waits_for_its_lock() {
    let mut told = Told::of(2);
    told.takes(1, 10, A);
    told.joins(1, 20, 2);
    told.wants(2, 21, A);
    assert!(is_certain(&told));
}

// CT-15
#[test]
fn whoever_moved_into_the_station_of_one_that_ended_is_not_waited_for() {
    let mut told = Told::of(2);
    told.joins(1, 20, 2);
    told.ends(2, 30);
    let next = 3;
    told.born(next, probe_id(2) + (1 << 24)); // the next use of its station
    told.runs(next, 40);
    told.joins(next, 50, 1);
    assert!(told.census(&[]).blocks().cycles().is_empty());
}

// CT-15
#[test]
fn what_was_given_back_or_closed_keeps_nobody() {
    let mut given = crossed();
    given.gives(2, 30, B);
    given.woken(1, 31);
    assert!(given.stuck().is_empty());
    let mut closed = crossed();
    let close = Close {
        wait: WaitKind::Lock,
        arg: A,
        site: SiteId(3),
    };
    closed.deed(30, Act::Close(close));
    let reasons: Vec<_> = closed.stuck().values().map(|it| it.2.word()).collect();
    assert!(!reasons.contains(&"deadlock"), "{reasons:?}");
}

/// Recording is stopped for a moment then.
fn stopped_at(ms: u64) -> Told {
    let control = |stopped, generation| {
        Record::Control(Control {
            at: Nanos(ms * 1_000_000),
            generation,
            stopped,
            ..Control::default()
        })
    };
    let mut stopped = crossed();
    let is_later = |it: &Record| matches!(it, Record::Event(event) if ms * 1_000_000 < event.at.0);
    let records = &mut stopped.records;
    let at = records.iter().position(is_later).unwrap_or(records.len());
    records.splice(at..at, [control(true, 1), control(false, 2)]);
    stopped
}

// CT-24
#[test]
fn who_ran_after_a_stop_may_have_given_back_what_it_held_untold() {
    assert!(stopped_at(15).stuck().is_empty());
    assert_eq!(stopped_at(30).stuck().len(), 2, "nobody has run since");
}

// CT-15
#[test]
fn a_deadlock_of_one_inside_of_another_ends_where_that_drops_it() {
    let mut told = hosted();
    told.runs(3, 13);
    told.born(2, probe_id(2));
    told.runs(2, 14);
    told.takes(2, 15, B);
    told.wants(3, 20, B);
    told.waits(1, 21, WaitKind::Timer, 0);
    told.wants(2, 22, A);
    let doubt = Some(Doubt::DroppedInside);
    let all: Vec<_> = told
        .stuck()
        .into_iter()
        .map(|(id, it)| (id, it.2))
        .collect();
    assert_eq!(all, [2, 3].map(|id| (id, Reason::Deadlock { doubt })));
}

/// One, which has a lock, polls three, which wants that of two, which polls four, which wants that of
/// one.
fn crossed_inside() -> Told {
    let mut told = Told::of(2);
    told.together.extend([1, 3]);
    told.runs(1, 9);
    told.takes(1, 10, A);
    told.born(3, probe_id(3));
    told.runs(3, 11);
    told.wants(3, 12, B);
    told.waits(1, 13, WaitKind::Unknown, 0);
    told.together = BTreeSet::from([2, 4]);
    told.runs(2, 19);
    told.takes(2, 20, B);
    told.born(4, probe_id(4));
    told.runs(4, 21);
    told.wants(4, 22, A);
    told.waits(2, 23, WaitKind::Unknown, 0);
    told.wakers.extend((1..=4).map(|id| (id, 1)));
    told
}

// CT-15
#[test]
fn a_deadlock_of_those_around_and_those_inside() {
    let told = crossed_inside();
    let doubt = Some(Doubt::DroppedInside);
    let all: Vec<_> = told.stuck().into_iter().collect();
    let each = (
        Verdict::MaybeStuck,
        Confidence::Likely,
        Reason::Deadlock { doubt },
    );
    assert_eq!(all, [1, 2, 3, 4].map(|id| (id, each)));
    let blocks = told.census(&[]).blocks();
    assert_eq!(blocks.cycles(), [[1, 3, 2, 4].map(CoroutineId)]);
}

// CT-15
#[test]
fn who_polls_one_inside_goes_on_once_that_is_woken_or_by_a_waker_for_something_else() {
    let mut woken = crossed_inside();
    woken.woken(3, 30);
    assert!(woken.stuck().is_empty());
    let mut several = crossed_inside();
    several.wakers.insert(2, 2);
    assert!(several.stuck().is_empty());
}

// CT-15
#[test]
fn one_of_two_futures_in_a_coroutine_waits_for_what_the_other_has() {
    let mut told = Told::of(3);
    told.takes(1, 10, A);
    let marks = WaitMarks {
        one_of_several: true,
        ..WaitMarks::default()
    };
    told.waits_marked(1, 20, WaitKind::Lock, A, marks);
    told.takes(2, 30, B);
    told.wants(2, 31, A);
    told.wants(3, 32, B);
    assert!(told.stuck().is_empty());
    told.waits(1, 40, WaitKind::Lock, A);
    assert_eq!(told.stuck().len(), 3, "it has nothing else to do");
}

// CT-15
#[test]
fn who_runs_now_and_then_and_waits_for_the_same_is_in_a_deadlock_all_the_same() {
    let mut told = crossed();
    for at in [3_000, 6_000, 9_900] {
        told.woken(2, at);
        told.runs(2, at);
        told.wants(2, at + 1, A);
    }
    assert_eq!(doubt(&told), Some(Doubt::RanAgain));
    told.gives(1, 9_950, A);
    told.takes(1, 9_951, A);
    assert!(told.stuck().is_empty(), "that lock was free meanwhile");
}

// CT-24
#[test]
fn what_may_be_missing_makes_nothing_certain() {
    let mut lost = crossed();
    lost.deed(5_000, Act::Loss(1));
    assert_eq!(doubt(&lost), Some(Doubt::Incomplete));

    let mut before = Told::of(0);
    before.deed(5, Act::Loss(1));
    before.records.extend(crossed().records);
    before.events = crossed().events;
    assert!(is_certain(&before), "before they were taken");

    let mut untold = crossed();
    let records = untold.records.iter();
    let begins = |it: &&Record| {
        matches!(
            it,
            Record::Deed(Deed {
                act: Act::Begin,
                ..
            })
        )
    };
    untold.records = records.filter(|it| !begins(it)).cloned().collect();
    assert_eq!(
        doubt(&untold),
        Some(Doubt::Incomplete),
        "a thread without a lane"
    );

    let stopped = stopped_at(30);
    assert_eq!(doubt(&stopped), Some(Doubt::Incomplete));

    let mut window = crossed();
    window.records.push(Record::Window(Window::default()));
    assert_eq!(doubt(&window), Some(Doubt::Incomplete));

    let mut damaged = crossed().census(&[1, 2]);
    damaged.damaged();
    assert!(stuck(&damaged).is_empty());
}

// CT-15
#[test]
fn who_may_wait_for_something_else_too_is_not_certainly_in_a_deadlock() {
    let mut several = Told::of(2);
    several.takes(1, 10, A);
    several.takes(2, 11, B);
    let marks = WaitMarks {
        one_of_several: true,
        ..WaitMarks::default()
    };
    several.waits_marked(1, 20, WaitKind::Lock, B, marks);
    several.wants(2, 21, A);
    assert_eq!(doubt(&several), Some(Doubt::OneOfSeveral));

    let mut wakers = crossed();
    wakers.wakers.extend([(1, 1), (2, 2)]);
    assert_eq!(doubt(&wakers), Some(Doubt::SeveralWakers));
    wakers.wakers.insert(2, 1);
    assert!(is_certain(&wakers));
}

// CT-15
#[test]
fn who_was_woken_is_in_no_deadlock_nor_is_who_waits_for_it() {
    let mut told = crossed();
    told.woken(1, 5_000);
    assert!(told.stuck().is_empty());
}

// CT-15
#[test]
fn a_runtime_that_tells_no_wakes_leaves_it_likely() {
    let mut told = crossed();
    told.records.retain(|it| !matches!(it, Record::Wake(_)));
    assert_eq!(doubt(&told), Some(Doubt::WakesNotTold));
}

// CT-15
#[test]
fn locks_that_are_shared_or_given_on_leave_it_likely() {
    let mut shared = Told::of(3);
    shared.takes(3, 9, B);
    shared.takes(1, 10, A);
    shared.takes(2, 11, B);
    shared.wants(1, 20, B);
    shared.wants(2, 21, A);
    shared.wants(3, 22, A);
    assert_eq!(doubt(&shared), Some(Doubt::Shared));

    let mut free = shared.clone();
    free.records.pop();
    free.events.insert(3, 1);
    assert!(free.stuck().is_empty(), "one of the holders may go on");

    let mut moved = Told::of(2);
    moved.takes(1, 5, B);
    moved.gives(2, 6, B);
    moved.runs(1, 7);
    moved.takes(1, 10, A);
    moved.takes(2, 11, B);
    moved.wants(1, 20, B);
    moved.wants(2, 21, A);
    assert_eq!(doubt(&moved), Some(Doubt::Moved));
}

// CT-15
#[test]
fn a_channel_that_lies_where_a_lock_does_is_not_held() {
    let mut told = Told::of(1);
    told.takes(1, 10, A);
    told.waits(1, 20, WaitKind::Channel, A);
    assert!(told.stuck().is_empty());
}

// CT-15
#[test]
fn a_deadlock_that_is_young_is_none() {
    let mut told = Told::of(2);
    told.takes(1, 10, A);
    told.takes(2, 11, B);
    told.wants(1, 20, B);
    told.wants(2, 9_500, A);
    assert!(told.stuck().is_empty());
}

fn behind(root: u32) -> (Verdict, Reason) {
    let root = CoroutineId(root);
    (Verdict::Stuck, Reason::Behind { root, doubt: None })
}

// CT-15
#[test]
fn those_behind_are_told_with_the_one_for_whom_all_of_them_wait() {
    let mut told = Told::of(5);
    told.takes(1, 10, A);
    told.takes(2, 11, B);
    told.wants(1, 20, B);
    told.wants(2, 21, A);
    told.joins(3, 30, 1);
    told.joins(4, 31, 3);
    told.waits(5, 32, WaitKind::Readable, 7);
    let stuck = told.stuck();
    let of = |id| (stuck[&id].0, stuck[&id].2);
    assert_eq!([of(3), of(4)], [behind(1), behind(1)]);
    assert_eq!(stuck.len(), 4, "who waits for nobody is not stuck");
}

// CT-15
#[test]
fn a_long_chain_behind_one_that_took_its_lock_twice() {
    let length = 20_000;
    let mut told = Told::of(length);
    told.takes(1, 10, A);
    told.takes(1, 11, A);
    told.wants(1, 20, A);
    (2..=length).for_each(|id| told.joins(id, 30, id - 1));
    let stuck = told.stuck();
    assert_eq!((stuck[&1].0, stuck[&1].2), CERTAIN);
    assert_eq!((stuck[&length].0, stuck[&length].2), behind(1));
    assert_eq!(stuck.len(), length as usize);
}

// CT-15
#[test]
fn one_that_is_stuck_for_another_reason_is_a_root_too() {
    let mut told = Told::of(3);
    told.takes(1, 10, A);
    told.waits(1, 20, WaitKind::Readable, 7);
    told.wants(2, 21, A);
    told.takes(3, 22, B);
    told.waits(3, 23, WaitKind::Timer, 0);
    assert!(
        told.stuck().is_empty(),
        "its holder waits for what may come"
    );
    let close = Close {
        wait: WaitKind::Readable,
        arg: 7,
        site: SiteId(3),
    };
    told.deed(30, Act::Close(close));
    let stuck = told.stuck();
    assert_eq!(stuck[&1].2.word(), "closed");
    assert_eq!((stuck[&2].0, stuck[&2].2), behind(1));
    assert_eq!(stuck.len(), 2);
}

// CT-15
#[test]
fn who_ended_without_giving_back_its_lock_keeps_those_that_wait_for_good() {
    let mut told = Told::of(2);
    told.takes(1, 10, A);
    told.ends(1, 15);
    told.wants(2, 20, A);
    let holder = CoroutineId(1);
    let certain = Reason::NeverGivenBack {
        holder,
        doubt: None,
    };
    let of = |told: &Told| told.stuck().get(&2).map(|it| (it.0, it.2));
    assert_eq!(of(&told), Some((Verdict::Stuck, certain)));
    told.refused = 1; // inside of which it may have run
    assert_eq!(of(&told).map(|it| it.0), Some(Verdict::MaybeStuck));

    let mut dropped = Told::of(2);
    dropped.takes(1, 10, A);
    dropped.wants(2, 12, A);
    dropped.gives(2, 14, A); // whoever drops it gives it back
    dropped.ends(1, 15);
    assert_eq!(of(&dropped), None);
}

// CT-15
#[test]
fn a_thread_may_have_taken_the_lock_where_the_one_it_ran_was_dropped_elsewhere() {
    let mut told = Told::of(2);
    told.takes(1, 10, A);
    told.together.insert(1);
    told.ends(1, 15);
    told.wants(2, 20, A);
    let doubts: Vec<_> = told.stuck().into_values().map(|it| it.2).collect();
    let (holder, doubt) = (CoroutineId(1), Some(Doubt::Moved));
    assert_eq!(doubts, [Reason::NeverGivenBack { holder, doubt }]);
}

/// One is run, inside of it three is run first, takes the lock and waits.
fn hosted() -> Told {
    let mut told = Told::of(1);
    told.together.extend([1, 3]);
    told.runs(1, 9);
    told.born(3, probe_id(3));
    told.runs(3, 10);
    told.takes(3, 11, A);
    told.waits(3, 12, WaitKind::Timer, 0);
    told
}

// CT-15
#[test]
fn a_lock_that_is_held_by_a_future_which_nobody_polls_any_more() {
    let mut told = hosted();
    told.wants(1, 20, A);
    assert!(told.stuck().is_empty(), "it may be woken");
    told.woken(3, 30);
    assert_eq!(doubt(&told), Some(Doubt::PolledInside));
    assert_eq!(told.stuck().len(), 2);
}

// CT-15
#[test]
fn a_lock_that_a_future_left_to_the_one_around_it_may_be_there() {
    let mut told = hosted();
    told.ends(3, 13);
    told.born(2, probe_id(2));
    told.runs(2, 14);
    told.wants(2, 15, A);
    told.waits(1, 20, WaitKind::Timer, 0);
    let doubts: Vec<_> = told.stuck().into_values().map(|it| it.2).collect();
    let holder = CoroutineId(3);
    let doubt = Some(Doubt::Moved);
    assert_eq!(doubts, [Reason::NeverGivenBack { holder, doubt }]);
}
