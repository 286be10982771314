//! Several coroutines queue for a lock; the verdict is that of the last in the queue.

use ctp_trace::record::*;
use ctp_trace::verdict::{Level, Reason, TurnEvidence, Verdict};

use crate::recording::{Recording, THRESHOLD};

const A: u64 = 0x1000;
const LAST: u32 = 4;
const LATER: u32 = 5;

/// After short waits, coroutine 2 holds the lock for seconds. Coroutines 1, 3 and `LAST` queue for
/// it in this order.
fn queue() -> Recording {
    let mut recording = Recording::of(LATER);
    for round in 0..10 {
        let at = 10 + 10 * round;
        recording.wants(1, at, A);
        gets(&mut recording, 1, at + 1);
        recording.gives(1, at + 2, A);
    }
    recording.takes(2, 1000, A);
    wants_elsewhere(&mut recording, 1, 1001);
    wants_elsewhere(&mut recording, 3, 1002);
    recording.wants(LAST, 1003, A);
    recording.gives(2, 5000, A);
    recording.ends(2, 5000);
    recording
}

/// Waits at another site, so that long waits do not become usual at the site of `LAST`.
fn wants_elsewhere(recording: &mut Recording, id: u32, at: u64) {
    let wait = Event {
        kind: EventKind::Suspend,
        site: SiteId(9),
        wait: WaitKind::Lock,
        arg: A,
        ..Event::default()
    };
    recording.event(id, at, wait);
}

fn gets(recording: &mut Recording, id: u32, at: u64) {
    recording.woken(id, at);
    recording.runs(id, at);
    recording.takes(id, at, A);
}

/// Coroutine 1 gets the lock, and then coroutine 3.
fn goes_on(recording: &mut Recording) {
    gets(recording, 1, 5001);
    recording.gives(1, 9500, A);
    recording.ends(1, 9500);
    gets(recording, 3, 9501);
}

fn message(recording: &Recording) -> (Verdict, Reason) {
    let all = recording.trace_model(&[]).judge(THRESHOLD);
    let last = all.iter().find(|(id, _)| *id == CoroutineId(LAST));
    let (_, judged) = last.expect("`LAST` waits");
    (judged.verdict, judged.reason)
}

const FAR_BEYOND: (Verdict, Reason) = (Verdict::MaybeStuck, Reason::FarBeyond(Level::Line));

fn ms(at: u64) -> Nanos {
    Nanos(at * 1_000_000)
}

// CT-15
#[test]
fn a_queued_waiter_for_a_moving_lock_waits_in_turn() {
    let mut recording = queue();
    goes_on(&mut recording);
    let turn = TurnEvidence {
        taken: ms(9501),
        waited_since: ms(1002),
        youngest: ms(1002),
    };
    assert_eq!(
        message(&recording),
        (Verdict::Waiting, Reason::InTurn(turn))
    );
}

// CT-15
#[test]
fn an_overtaken_waiter_is_not_waiting_in_turn() {
    let mut recording = queue();
    wants_elsewhere(&mut recording, LATER, 3000);
    goes_on(&mut recording);
    recording.gives(3, 9600, A);
    recording.ends(3, 9600);
    let mut barged = recording.clone();
    gets(&mut recording, LATER, 9601);
    assert_eq!(message(&recording), FAR_BEYOND, "by a later waiter");
    barged.takes(NEWCOMER, 9601, A);
    assert_eq!(message(&barged), FAR_BEYOND, "without a wait");
}

/// A coroutine without any recorded wait.
const NEWCOMER: u32 = 6;

// CT-15
#[test]
fn a_lock_retaken_in_the_same_run_is_no_turn() {
    let mut recording = queue();
    goes_on(&mut recording);
    recording.gives(3, 9600, A);
    recording.takes(3, 9601, A);
    assert_eq!(message(&recording), FAR_BEYOND);
}

// CT-15
#[test]
fn a_long_held_lock_does_not_move() {
    let mut recording = queue();
    gets(&mut recording, 1, 5001);
    assert_eq!(message(&recording), FAR_BEYOND);
}
