//! Verdicts that follow from the last state of a coroutine and from its wakers.

use ctp_trace::record::{LeafKind, PollWakers};
use ctp_trace::verdict::{
    Confidence, Evidence, Fact, Past, Reason, State, Verdict, WakeEvidence, wakes_since,
};

use crate::evidence_values::{changed, check, ms, not_woken, suspended, woken};

/// CT-16, CTP-20: a dead coroutine is over, however it ended and whatever is lost.
#[test]
fn dead_coroutines_are_never_listed() {
    let dead = changed(suspended(), |evidence| {
        evidence.state = State::Dead;
        evidence.missing.lost = Some(3);
    });
    check(&dead, Fact::Dead, Verdict::Over, "over");
    let cancelled = Evidence {
        state: State::Cancelled,
        ..dead
    };
    check(&cancelled, Fact::Cancelled, Verdict::Over, "over");
}

/// CT-24: a state is not judged if later events may be lost.
#[test]
fn a_state_after_lost_events_is_unknown() {
    for evidence in [not_woken(), woken(), suspended()] {
        let doubted = changed(evidence, |evidence| evidence.missing.lost = Some(212));
        let judgement = check(&doubted, Fact::Suspended, Verdict::Unknown, "lost");
        assert_eq!(judgement.reason, Reason::Lost(212));
        assert_eq!(judgement.confidence, Confidence::Open);
    }
}

/// CTP-21: a coroutine that runs without a suspend is reported as running.
#[test]
fn running_for_long_is_busy() {
    let running = Evidence {
        state: State::Running,
        ..suspended()
    };
    assert_eq!(
        check(&running, Fact::Running, Verdict::Busy, "runs").age,
        ms(9000)
    );
    let host = changed(running, |evidence| evidence.threads.hosts = true);
    check(&host, Fact::Running, Verdict::Waiting, "hosts");
    let left = changed(running, |evidence| evidence.threads.ended = true);
    check(&left, Fact::Running, Verdict::MaybeStuck, "thread-ended");
    let brief = Evidence {
        since: ms(9001),
        ..running
    };
    check(&brief, Fact::Running, Verdict::Waiting, "young");
}

// CT-15
#[test]
fn a_coroutine_without_wakers_is_stuck() {
    let abandoned = changed(not_woken(), |evidence| {
        evidence.polls.wakers = Some(0);
        evidence.polls.when_woken = true;
    });
    check(&abandoned, Fact::NoWaker, Verdict::Stuck, "no-waker");
    let never_woken = changed(abandoned, |evidence| evidence.polls.when_woken = false);
    check(&never_woken, Fact::NoWaker, Verdict::MaybeStuck, "no-waker");
    let polled = changed(abandoned, |evidence| {
        evidence.polls.by_others = true;
        evidence.past = Past::default();
    });
    check(&polled, Fact::NoWaker, Verdict::Waiting, "no-past");
    let close = Evidence {
        wake: Some(WakeEvidence {
            close_call: true,
            ..WakeEvidence::default()
        }),
        ..abandoned
    };
    check(&close, Fact::NoWaker, Verdict::MaybeStuck, "no-waker");
    let unrecorded = changed(abandoned, |evidence| evidence.polls.unrecorded = true);
    check(&unrecorded, Fact::NoWaker, Verdict::MaybeStuck, "no-waker");
    let earlier = changed(abandoned, |evidence| {
        evidence.polls.left = PollWakers::Earlier;
        evidence.wait.leaf = LeafKind::Message;
    });
    check(&earlier, Fact::NoWaker, Verdict::MaybeStuck, "no-waker");
    let last_left = changed(abandoned, |evidence| {
        evidence.polls.wakers = Some(1);
        evidence.past = Past::default();
    });
    check(&last_left, Fact::NotWoken, Verdict::Waiting, "no-past");
    let woken = changed(woken(), |evidence| evidence.polls.wakers = Some(0));
    check(
        &woken,
        Fact::WokenNotRun,
        Verdict::MaybeStuck,
        "passed-over",
    );
}

// CT-15
#[test]
fn a_poll_that_registers_no_waker_is_no_fault() {
    let pending = changed(not_woken(), |evidence| {
        evidence.polls.left = PollWakers::Unregistered;
        evidence.polls.wakers = Some(0);
        evidence.polls.when_woken = true;
    });
    check(&pending, Fact::NoWaker, Verdict::Waiting, "unregistered");
    let polled = changed(pending, |evidence| evidence.polls.by_others = true);
    check(&polled, Fact::NoWaker, Verdict::Waiting, "unregistered");
    let uncounted = changed(pending, |evidence| evidence.polls.wakers = None);
    check(&uncounted, Fact::NotWoken, Verdict::Waiting, "unregistered");
    let joined_before = changed(pending, |evidence| {
        evidence.polls.left = PollWakers::Earlier;
    });
    check(
        &joined_before,
        Fact::NoWaker,
        Verdict::Waiting,
        "unregistered",
    );
}

#[test]
fn wake_counts_wrap() {
    assert_eq!(wakes_since(0, 0), Some(0));
    assert_eq!(wakes_since(0x1_0001, 0xfffe), Some(3));
    assert_eq!(wakes_since(4, 5), None);
}
