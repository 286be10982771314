//! Coroutines that were not woken, judged by what is usual at their site.

use ctp_trace::record::{Dialect, LeafKind, Nanos};
use ctp_trace::verdict::{
    Confidence, Evidence, Fact, Level, LivesEvidence, Past, Reason, Verdict, WakeEvidence, judge,
};

use crate::evidence_values::{THRESHOLD, changed, check, closed, ms, not_woken, suspended};

/// CT-14, CT-15: a coroutine that was not woken is stuck only far beyond the usual waits at the site,
/// and only likely so.
#[test]
fn not_woken_is_judged_by_earlier_waits_at_the_site() {
    for (evidence, fact) in [
        (not_woken(), Fact::NotWoken),
        (suspended(), Fact::Suspended),
    ] {
        let stuck = check(&evidence, fact, Verdict::MaybeStuck, "far-beyond");
        assert_eq!(stuck.confidence, Confidence::Likely);
        let mut listener = evidence;
        listener.past.waits = 7;
        check(&listener, fact, Verdict::Waiting, "no-past");
        let mut quiet = evidence;
        quiet.past.active = ms(1999); // less than the threshold after the wait began
        check(&quiet, fact, Verdict::Waiting, "quiet");
        let mut slow = evidence;
        slow.past.p99 = ms(901);
        check(&slow, fact, Verdict::Waiting, "usual");
        let mut once = evidence;
        once.past.longest = ms(9000);
        check(&once, fact, Verdict::Waiting, "usual");
        let mut record = evidence;
        record.past.longest = ms(4501); // just over half of this wait
        check(&record, fact, Verdict::Waiting, "usual");
        let young = Evidence {
            since: ms(9001),
            ..evidence
        };
        check(&young, fact, Verdict::Waiting, "young");
    }
}

/// CT-14: a level that is coarser than the line shows that a wait is usual, but not that it is stuck.
#[test]
fn coarse_levels_acquit_only() {
    for level in Level::ALL {
        let mut evidence = not_woken();
        evidence.past.level = level;
        let (verdict, word) = if level <= Level::Line {
            (Verdict::MaybeStuck, "far-beyond")
        } else {
            (Verdict::Waiting, "only-coarse")
        };
        let judged = check(&evidence, Fact::NotWoken, verdict, word);
        assert_eq!(judged.reason.level(), Some(level));
        evidence.past.longest = ms(9_000);
        check(&evidence, Fact::NotWoken, Verdict::Waiting, "usual");
    }
}

/// CT-14: where only totals are known, a coroutine that has lived longer than 99 % of all is likely stuck.
#[test]
fn rare_long_lives_are_likely_stuck() {
    let lives = LivesEvidence {
        ended: 2_500,
        p99: ms(10),
        longest: ms(20),
        newest: 0,
        here: 0,
        alike: Some(25),
    };
    let mut evidence = changed(not_woken(), |evidence| evidence.lives = Some(lives));
    evidence.past.level = Level::Name;
    check(
        &evidence,
        Fact::NotWoken,
        Verdict::MaybeStuck,
        "beyond-lives",
    );
    let not_rare = LivesEvidence {
        alike: Some(26),
        ..lives
    };
    evidence.lives = Some(not_rare);
    check(&evidence, Fact::NotWoken, Verdict::Waiting, "only-coarse");
}

/// CT-14: a place where few coroutines wait, and none went on, is judged by the lives of the others if
/// only code with work to do waits so.
#[test]
fn rare_waits_without_a_past_are_likely_stuck_if_part_of_work() {
    let lives = LivesEvidence {
        ended: 300,
        p99: ms(10),
        longest: ms(20),
        newest: 0,
        here: 3,
        alike: None,
    };
    let verdict = |leaf, lives| {
        let mut evidence = changed(not_woken(), |evidence| evidence.lives = Some(lives));
        (evidence.past.waits, evidence.wait.leaf) = (0, leaf);
        judge(&evidence, THRESHOLD).reason.word()
    };
    for leaf in [LeafKind::Notification, LeafKind::Reply, LeafKind::Room] {
        assert_eq!(verdict(leaf, lives), "beyond-lives");
    }
    for leaf in [LeafKind::Message, LeafKind::Io, LeafKind::Unknown] {
        assert_eq!(verdict(leaf, lives), "no-past");
    }
    let not_rare = LivesEvidence { here: 4, ..lives };
    assert_eq!(verdict(LeafKind::Reply, not_rare), "no-past");
    let as_long = LivesEvidence {
        longest: ms(9_000),
        ..lives
    };
    assert_eq!(verdict(LeafKind::Reply, as_long), "no-past");
}

/// The site has no past, but similar coroutines lived and ended without waiting there, and all of the
/// newest wait.
#[test]
fn without_a_past_similar_lifetimes_decide() {
    let lives = LivesEvidence {
        ended: 8,
        p99: ms(900),
        longest: ms(4500),
        newest: 8,
        here: 8,
        alike: None,
    };
    let judged = |lives: LivesEvidence| {
        let mut evidence = Evidence {
            lives: Some(lives),
            ..not_woken()
        };
        evidence.past.waits = 7;
        let judged = judge(&evidence, THRESHOLD);
        (judged.verdict, judged.reason)
    };
    let stuck = (Verdict::MaybeStuck, Reason::BeyondLives(lives));
    assert_eq!(judged(lives), stuck);
    let waiting = (Verdict::Waiting, Reason::NoPast);
    let (p99, longest) = (ms(901), ms(4501));
    for not_enough in [
        LivesEvidence { ended: 7, ..lives },
        LivesEvidence { newest: 7, ..lives },
        LivesEvidence { p99, ..lives },
        LivesEvidence { longest, ..lives },
    ] {
        assert_eq!(judged(not_enough), waiting, "{not_enough:?}");
    }
}

#[test]
fn an_idle_wait_is_never_too_long_but_may_be_lost() {
    let idle = changed(not_woken(), |evidence| evidence.wait.idle = true);
    check(&idle, Fact::NotWoken, Verdict::Waiting, "idle");
    let closed = changed(closed(), |evidence| evidence.wait.idle = true);
    check(&closed, Fact::NotWoken, Verdict::Stuck, "closed");
}

#[test]
fn an_ignored_verdict_keeps_the_original_verdict() {
    let stuck = judge(&closed(), THRESHOLD).ignored();
    assert_eq!(stuck.reason, Reason::Ignored(Verdict::Stuck));
    assert_eq!(stuck.verdict, Verdict::Waiting);
    let mut past = not_woken();
    past.past.waits = 7;
    let waiting = judge(&past, THRESHOLD);
    assert_eq!(waiting.ignored(), waiting);
}

#[test]
fn a_close_call_is_named() {
    let mut evidence = not_woken();
    evidence.wake = Some(WakeEvidence {
        woken: false,
        at: Some(ms(999)),
        close_call: true,
        ..WakeEvidence::default()
    });
    assert!(check(&evidence, Fact::NotWoken, Verdict::MaybeStuck, "far-beyond").close_call);
    evidence.wake = Some(WakeEvidence {
        woken: true,
        at: Some(ms(999)),
        close_call: true,
        ..WakeEvidence::default()
    });
    assert!(!judge(&evidence, THRESHOLD).close_call);
}

/// CT-15: a pending timer waits, whatever is usual at the site.
#[test]
fn a_timer_is_judged_by_the_deadline() {
    let pending = changed(not_woken(), |evidence| {
        evidence.wait.deadline = Some(ms(12_000))
    });
    check(&pending, Fact::NotWoken, Verdict::Waiting, "timer");
    let just = changed(pending, |evidence| evidence.wait.deadline = Some(ms(9_001)));
    check(&just, Fact::NotWoken, Verdict::Waiting, "timer");
    let overdue = changed(pending, |evidence| evidence.wait.deadline = Some(ms(9_000)));
    check(&overdue, Fact::NotWoken, Verdict::MaybeStuck, "overdue");
    assert_eq!(
        judge(&pending, Nanos(0)).reason.word(),
        "timer",
        "due only later"
    );
}

#[test]
fn a_silent_plain_v1_coroutine_is_likely_stuck() {
    for dialect in [Dialect::V1PerSlot, Dialect::V1PerStation] {
        let peer = Evidence {
            dialect,
            past: Past::default(),
            ..suspended()
        };
        check(&peer, Fact::Suspended, Verdict::MaybeStuck, "silent");
        let young = Evidence {
            since: ms(9_500),
            ..peer
        };
        check(&young, Fact::Suspended, Verdict::Waiting, "young");
    }
}
