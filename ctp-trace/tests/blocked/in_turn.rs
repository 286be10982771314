//! Many queue for a lock: what is said of the last one.

use ctp_trace::record::*;
use ctp_trace::verdict::{Reason, TurnEvidence, Verdict};

use crate::recording::{Recording, THRESHOLD};

const A: u64 = 0x1000;
const LAST: u32 = 4;
const LATER: u32 = 5;

/// Waits of a moment; then two has the lock for seconds, and one and three wait for it before the
/// last one does.
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

/// At a site of its own, so that it is not usual to wait that long where the last one does.
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

/// One gets it, and then three.
fn goes_on(recording: &mut Recording) {
    gets(recording, 1, 5001);
    recording.gives(1, 9500, A);
    recording.ends(1, 9500);
    gets(recording, 3, 9501);
}

fn message(recording: &Recording) -> (Verdict, Reason) {
    let all = recording.trace_model(&[]).judge(THRESHOLD);
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
fn who_is_passed_over_in_a_queue_for_a_lock_is_not_waiting_in_turn() {
    let mut recording = queue();
    wants_elsewhere(&mut recording, LATER, 3000);
    goes_on(&mut recording);
    recording.gives(3, 9600, A);
    recording.ends(3, 9600);
    let mut barged = recording.clone();
    gets(&mut recording, LATER, 9601);
    assert_eq!(message(&recording), FAR_BEYOND, "by one that came later");
    barged.takes(SOMEBODY, 9601, A);
    assert_eq!(message(&barged), FAR_BEYOND, "by one that did not wait");
}

/// One of whom no wait is known.
const SOMEBODY: u32 = 6;

// CT-15
#[test]
fn who_takes_a_lock_again_in_one_run_has_not_waited_for_it_again() {
    let mut recording = queue();
    goes_on(&mut recording);
    recording.gives(3, 9600, A);
    recording.takes(3, 9601, A);
    assert_eq!(message(&recording), FAR_BEYOND);
}

// CT-15
#[test]
fn a_lock_that_one_keeps_for_long_goes_to_nobody() {
    let mut recording = queue();
    gets(&mut recording, 1, 5001);
    assert_eq!(message(&recording), FAR_BEYOND);
}
