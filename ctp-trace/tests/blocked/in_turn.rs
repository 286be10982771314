//! Many queue for a lock: what is said of the last one.

use ctp_trace::record::*;
use ctp_trace::verdict::{Reason, TurnStanding, Verdict};

use crate::told::{THRESHOLD, Told};

const A: u64 = 0x1000;
const LAST: u32 = 4;
const LATER: u32 = 5;

/// Waits of a moment; then two has the lock for seconds, and one and three wait for it before the
/// last one does.
fn queue() -> Told {
    let mut told = Told::of(LATER);
    for round in 0..10 {
        let at = 10 + 10 * round;
        told.wants(1, at, A);
        gets(&mut told, 1, at + 1);
        told.gives(1, at + 2, A);
    }
    told.takes(2, 1000, A);
    wants_elsewhere(&mut told, 1, 1001);
    wants_elsewhere(&mut told, 3, 1002);
    told.wants(LAST, 1003, A);
    told.gives(2, 5000, A);
    told.ends(2, 5000);
    told
}

/// At a site of its own, so that it is not usual to wait that long where the last one does.
fn wants_elsewhere(told: &mut Told, id: u32, at: u64) {
    let wait = Event {
        kind: EventKind::Suspend,
        site: SiteId(9),
        wait: WaitKind::Lock,
        arg: A,
        ..Event::default()
    };
    told.event(id, at, wait);
}

fn gets(told: &mut Told, id: u32, at: u64) {
    told.woken(id, at);
    told.runs(id, at);
    told.takes(id, at, A);
}

/// One gets it, and then three.
fn goes_on(told: &mut Told) {
    gets(told, 1, 5001);
    told.gives(1, 9500, A);
    told.ends(1, 9500);
    gets(told, 3, 9501);
}

fn said(told: &Told) -> (Verdict, Reason) {
    let all = told.census(&[]).judge(THRESHOLD);
    let last = all.iter().find(|(id, _)| *id == CoroutineId(LAST));
    let (_, judged) = last.expect("it waits");
    (judged.verdict, judged.reason)
}

const FAR_BEYOND: (Verdict, Reason) = (Verdict::MaybeStuck, Reason::FarBeyond);

fn ms(at: u64) -> Nanos {
    Nanos(at * 1_000_000)
}

// CT-15
#[test]
fn who_queues_for_a_lock_that_goes_from_one_to_the_next_waits_in_turn() {
    let mut told = queue();
    goes_on(&mut told);
    let turn = TurnStanding {
        taken: ms(9501),
        waited_since: ms(1002),
        youngest: ms(1002),
    };
    assert_eq!(said(&told), (Verdict::Waiting, Reason::InTurn(turn)));
}

// CT-15
#[test]
fn who_is_passed_over_in_a_queue_for_a_lock_is_not_waiting_in_turn() {
    let mut told = queue();
    wants_elsewhere(&mut told, LATER, 3000);
    goes_on(&mut told);
    told.gives(3, 9600, A);
    told.ends(3, 9600);
    let mut barged = told.clone();
    gets(&mut told, LATER, 9601);
    assert_eq!(said(&told), FAR_BEYOND, "by one that came later");
    barged.takes(SOMEBODY, 9601, A);
    assert_eq!(said(&barged), FAR_BEYOND, "by one that did not wait");
}

/// One of whom no wait is known.
const SOMEBODY: u32 = 6;

// CT-15
#[test]
fn who_takes_a_lock_again_in_one_run_has_not_waited_for_it_again() {
    let mut told = queue();
    goes_on(&mut told);
    told.gives(3, 9600, A);
    told.takes(3, 9601, A);
    assert_eq!(said(&told), FAR_BEYOND);
}

// CT-15
#[test]
fn a_lock_that_one_keeps_for_long_goes_to_nobody() {
    let mut told = queue();
    gets(&mut told, 1, 5001);
    assert_eq!(said(&told), FAR_BEYOND);
}
