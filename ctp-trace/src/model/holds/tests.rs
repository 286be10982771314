//! Which coroutine holds a lock, also if records arrive late or are missing.

use super::*;

const LOCK: u64 = 0x1000;

fn waker_of(id: u32) -> Waker {
    Waker::Coroutine(CoroutineId(id))
}

fn reported(at: u64, arg: u64, by: Waker) -> (ThreadEvent, Hold) {
    let thread_event = ThreadEvent {
        at: Nanos(at),
        ..ThreadEvent::default()
    };
    let hold = Hold {
        wait: WaitKind::Lock,
        arg,
        by,
        ..Hold::default()
    };
    (thread_event, hold)
}

fn acquires(holds: &mut Holds, at: u64, by: Waker) {
    let (thread_event, hold) = reported(at, LOCK, by);
    holds.acquire(&thread_event, &hold, None);
}

fn releases(holds: &mut Holds, at: u64, by: Waker) {
    let (thread_event, hold) = reported(at, LOCK, by);
    holds.release(&thread_event, &hold, NameId::default());
}

fn records(holds: &mut Holds, id: u32, at: u64, kind: EventKind) {
    let event = Event {
        coroutine: CoroutineId(id),
        at: Nanos(at),
        kind,
        ..Event::default()
    };
    holds.event(&Coroutine::named(CoroutineId(id)), &event);
}

fn holders(holds: &Holds) -> Vec<(Waker, u64)> {
    let held = holds.get(&(ProcessId(0), WaitKind::Lock, LOCK));
    let all = held.into_iter().flat_map(|held| &held.holders);
    all.map(|holding| (holding.by, holding.at.0)).collect()
}

#[test]
fn last_acquirer_holds_lock_despite_late_records() {
    let mut holds = Holds::default();
    acquires(&mut holds, 10, waker_of(1));
    acquires(&mut holds, 30, waker_of(2));
    releases(&mut holds, 20, waker_of(1));
    assert_eq!(holders(&holds), [(waker_of(2), 30)]);
    releases(&mut holds, 40, waker_of(2));
    acquires(&mut holds, 35, waker_of(3));
    assert_eq!(holders(&holds), [], "that is over");
}

#[test]
fn reentrant_lock_needs_equally_many_releases() {
    let mut holds = Holds::default();
    acquires(&mut holds, 10, waker_of(1));
    acquires(&mut holds, 11, waker_of(1));
    releases(&mut holds, 12, waker_of(1));
    assert_eq!(holders(&holds), [(waker_of(1), 10)]);
    let held = holds.get(&(ProcessId(0), WaitKind::Lock, LOCK));
    assert!(!held.expect("a held lock").shared);
}

#[test]
fn lock_stays_shared_until_free() {
    let mut holds = Holds::default();
    let is_shared = |holds: &Holds| {
        let held = holds.get(&(ProcessId(0), WaitKind::Lock, LOCK));
        held.is_some_and(|held| held.shared)
    };
    acquires(&mut holds, 10, waker_of(1));
    acquires(&mut holds, 11, waker_of(2));
    releases(&mut holds, 12, waker_of(1));
    assert!(is_shared(&holds));
    releases(&mut holds, 13, waker_of(2));
    acquires(&mut holds, 14, waker_of(3));
    assert!(!is_shared(&holds));
}

#[test]
fn too_many_holders_are_not_reported() {
    let mut holds = Holds::default();
    let ids = 1..=100_000;
    ids.clone()
        .for_each(|id| acquires(&mut holds, id.into(), waker_of(id)));
    assert_eq!(holders(&holds), []);
    ids.clone()
        .for_each(|id| releases(&mut holds, 200_000, waker_of(id)));
    acquires(&mut holds, 200_001, waker_of(7));
    assert_eq!(holders(&holds), [(waker_of(7), 200_001)]);
    assert!(holds.are_recorded(ProcessId(0)) && holds.own.len() == 1);
}

#[test]
fn many_deaths_with_a_lock_are_fast() {
    let mut holds = Holds::default();
    for id in 1..=100_000 {
        let (thread_event, hold) = reported(1, u64::from(id) << 32, waker_of(id));
        holds.acquire(&thread_event, &hold, None);
        records(&mut holds, id, 2, EventKind::Death);
    }
    let ended = holds.of.values().flat_map(|held| &held.holders);
    assert_eq!(ended.filter(|ended| ended.ended.is_some()).count(), 100_000);
}

#[test]
fn lock_released_elsewhere_is_moved_unless_acquirer_dies() {
    let mut holds = Holds::default();
    acquires(&mut holds, 10, waker_of(1));
    releases(&mut holds, 11, Waker::Thread(7));
    records(&mut holds, 1, 12, EventKind::Death);
    assert!(holds.are_recorded(ProcessId(0)), "it was dropped");
    acquires(&mut holds, 20, waker_of(2));
    releases(&mut holds, 21, waker_of(3));
    records(&mut holds, 2, 22, EventKind::Run);
    assert!(!holds.are_recorded(ProcessId(0)));
    assert!(holds.are_recorded(ProcessId(1)));
}

#[test]
fn lock_released_after_acquirer_death_is_moved() {
    let mut holds = Holds::default();
    acquires(&mut holds, 10, waker_of(1));
    records(&mut holds, 1, 12, EventKind::Death);
    let ended = |holds: &Holds| {
        let held = holds.get(&(ProcessId(0), WaitKind::Lock, LOCK));
        held.and_then(|held| held.holders[0].ended)
    };
    assert_eq!(ended(&holds), Some(Nanos(12)));
    releases(&mut holds, 20, waker_of(3));
    assert!(!holds.are_recorded(ProcessId(0)));
}

#[test]
fn returned_guard_has_unknown_holder() {
    let mut holds = Holds::default();
    acquires(&mut holds, 10, waker_of(1));
    let death = Event {
        coroutine: CoroutineId(1),
        at: Nanos(12),
        kind: EventKind::Death,
        arg: 1,
        ..Event::default()
    };
    holds.event(&Coroutine::named(CoroutineId(1)), &death);
    assert_eq!(holders(&holds), [(Waker::Foreign, 10)]);
    releases(&mut holds, 20, waker_of(3));
    assert_eq!(holders(&holds), []);
    assert!(
        holds.are_recorded(ProcessId(0)),
        "that is no other than was told"
    );
}

#[test]
fn million_locks_are_bounded_and_held_locks_stay() {
    let mut holds = Holds::default();
    acquires(&mut holds, 1, waker_of(1));
    for at in 2..1_000_000 {
        let (thread_event, hold) = reported(at, at << 32, waker_of(2));
        holds.acquire(&thread_event, &hold, None);
        holds.release(&thread_event, &hold, NameId::default());
    }
    assert!(holds.of.len() <= 2 * ROOM && !holds.has_forgotten);
    assert_eq!(holders(&holds), [(waker_of(1), 1)]);
    for at in 2..2_000_000 {
        let (thread_event, hold) = reported(at, at << 32, waker_of(2));
        holds.acquire(&thread_event, &hold, None);
    }
    assert!(holds.of.len() <= MAX_LOCKS && holds.has_forgotten);
}
