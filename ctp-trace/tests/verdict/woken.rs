//! Coroutines that are ready and not run.

use ctp_trace::verdict::{
    Confidence, Evidence, Fact, Past, Reason, State, Verdict, WakeEvidence, judge,
};

use crate::evidence_values::{THRESHOLD, changed, check, ms, overtaker, suspended, woken};

#[test]
fn never_run_is_stuck_only_if_others_were_run() {
    let born = Evidence {
        state: State::Born,
        ..suspended()
    };
    check(&born, Fact::NeverRun, Verdict::MaybeStuck, "overlooked");
    let alone = changed(born, |evidence| evidence.threads.overtaker = None);
    check(&alone, Fact::NeverRun, Verdict::Waiting, "not-overtaken");
    let idle = changed(born, |evidence| {
        evidence.threads.overtaker = overtaker(1999)
    });
    check(&idle, Fact::NeverRun, Verdict::Waiting, "not-overtaken");
    let young = Evidence {
        since: ms(9500),
        ..born
    };
    check(&young, Fact::NeverRun, Verdict::Waiting, "young");
}

/// CT-15: woken, never run again.
#[test]
fn woken_not_run_is_certain_while_others_progress() {
    let stuck = check(&woken(), Fact::WokenNotRun, Verdict::Stuck, "passed-over");
    assert_eq!(stuck.confidence, Confidence::Certain);
    assert_eq!(
        stuck.reason,
        Reason::PassedOver {
            ready: ms(2000),
            overtaker: overtaker(9_900).unwrap_or_default()
        }
    );
}

#[test]
fn woken_not_run_is_queueing_otherwise() {
    let past = |change: fn(&mut Past)| {
        let mut evidence = woken();
        change(&mut evidence.past);
        evidence
    };
    let few = past(|past| past.queued = 7);
    check(&few, Fact::WokenNotRun, Verdict::MaybeStuck, "passed-over");
    let slow = past(|past| past.longest_queued = ms(4000));
    check(&slow, Fact::WokenNotRun, Verdict::Waiting, "queued");
    let slowly = past(|past| past.longest_queued = ms(3999));
    check(&slowly, Fact::WokenNotRun, Verdict::Stuck, "passed-over");
    let stalled = changed(woken(), |evidence| {
        evidence.threads.overtaker = overtaker(2999)
    });
    check(&stalled, Fact::WokenNotRun, Verdict::Waiting, "queued");
    let mut fresh = woken();
    fresh.wake = Some(WakeEvidence {
        woken: true,
        at: Some(ms(9_100)),
        close_call: false,
        ..WakeEvidence::default()
    });
    check(&fresh, Fact::WokenNotRun, Verdict::Waiting, "queued");
}

/// A wake is counted before its time is stored. At the end of a program the time may be missing.
#[test]
fn a_wake_without_a_time_may_be_recent() {
    let mut undated = woken();
    undated.wake.iter_mut().for_each(|wake| wake.at = None);
    check(&undated, Fact::WokenNotRun, Verdict::Waiting, "queued");
}

/// A wake at the start of a run may have led to that run. Where a running coroutine keeps the thread,
/// or the thread is not known to have run another coroutine since, the coroutine may be queued there.
#[test]
fn woken_not_run_is_likely_if_another_reading_remains() {
    let mut close_call = woken();
    close_call
        .wake
        .iter_mut()
        .for_each(|wake| wake.close_call = true);
    check(
        &close_call,
        Fact::WokenNotRun,
        Verdict::MaybeStuck,
        "passed-over",
    );
    let held = changed(woken(), |evidence| {
        evidence.threads.held_since = Some(ms(9_000))
    });
    check(&held, Fact::WokenNotRun, Verdict::MaybeStuck, "passed-over");
    for there in [None, overtaker(2_999)] {
        let elsewhere = changed(woken(), |evidence| {
            evidence.threads.overtaker_on_thread = there
        });
        check(
            &elsewhere,
            Fact::WokenNotRun,
            Verdict::MaybeStuck,
            "passed-over",
        );
    }
    let recent = changed(woken(), |evidence| {
        evidence.end = ms(2_999);
        evidence.threads.overtaker = overtaker(2_900);
    });
    let judgement = judge(&recent, ms(500));
    assert_eq!(judgement.verdict, Verdict::MaybeStuck);
    let passing = changed(woken(), |evidence| {
        evidence.threads.held_since = Some(ms(9_001))
    });
    check(&passing, Fact::WokenNotRun, Verdict::Stuck, "passed-over");
}

/// A wake during a run cannot lead to another run before that run has ended.
#[test]
fn queueing_begins_with_the_suspend() {
    let mut evidence = woken();
    evidence.wake = Some(WakeEvidence {
        woken: true,
        at: Some(ms(10)),
        close_call: false,
        ..WakeEvidence::default()
    });
    let Reason::PassedOver { ready, .. } = judge(&evidence, THRESHOLD).reason else {
        panic!()
    };
    assert_eq!(ready, evidence.since);
}

// CT-15
#[test]
fn a_wake_during_the_run_may_have_become_a_permit() {
    let early = Evidence {
        wake: Some(WakeEvidence {
            woken: true,
            at: Some(ms(900)),
            close_call: false,
            ..WakeEvidence::default()
        }),
        ..woken()
    };
    check(&early, Fact::WokenNotRun, Verdict::Stuck, "passed-over");
    let permit = |evidence| changed(evidence, |evidence| evidence.polls.keeps_permits = true);
    let likely = Verdict::MaybeStuck;
    check(&permit(early), Fact::WokenNotRun, likely, "passed-over");
    check(
        &permit(woken()),
        Fact::WokenNotRun,
        Verdict::Stuck,
        "passed-over",
    );
}

// CT-15
#[test]
fn woken_is_stuck_if_none_runs_any_more() {
    let quiet = changed(woken(), |evidence| {
        evidence.threads.overtaker = None;
        evidence.threads.quiet_since = Some(ms(2_100));
    });
    check(&quiet, Fact::WokenNotRun, Verdict::MaybeStuck, "none-runs");
    let nested = changed(quiet, |evidence| evidence.polls.by_others = true);
    check(&nested, Fact::WokenNotRun, Verdict::Waiting, "queued");
    let later = changed(quiet, |evidence| {
        evidence.threads.quiet_since = Some(ms(9_100));
    });
    check(&later, Fact::WokenNotRun, Verdict::Waiting, "queued");
    let permit = changed(quiet, |evidence| {
        evidence.polls.keeps_permits = true;
        evidence
            .wake
            .iter_mut()
            .for_each(|wake| wake.at = Some(ms(999)));
    });
    check(&permit, Fact::WokenNotRun, Verdict::Waiting, "queued");
}
