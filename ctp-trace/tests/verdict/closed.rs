//! Verdicts where the awaited resource was closed.

use ctp_trace::verdict::{Caveat, Confidence, Evidence, Fact, Past, Reason, Verdict, judge};

use crate::evidence_values::{changed, check, closed, closed_but, ms};

/// CT-14, CT-15: the wakeup is lost if the awaited event happened without a wake.
#[test]
fn closed_and_not_woken_is_certain() {
    let stuck = check(&closed(), Fact::NotWoken, Verdict::Stuck, "closed");
    assert_eq!(stuck.confidence, Confidence::Certain);
    let mut new_site = closed();
    new_site.past = Past::default();
    check(&new_site, Fact::NotWoken, Verdict::Stuck, "closed");
}

/// CT-14, CT-24: whatever may hide a wake makes the verdict likely instead of certain.
#[test]
fn closed_is_likely_where_a_wake_may_be_hidden() {
    let mut close_call = closed();
    close_call
        .wake
        .iter_mut()
        .for_each(|wake| wake.close_call = true);
    let unrecorded = Evidence {
        wake: None,
        ..closed()
    };
    let one_of_several = changed(closed(), |evidence| evidence.wait.one_of_several = true);
    let with_a_timeout = changed(closed(), |evidence| evidence.polls.wakers = Some(2));
    let recent = Evidence {
        since: ms(9_000),
        end: ms(9_900),
        ..closed_but(|close_evidence| close_evidence.at = ms(9_001))
    };
    for (evidence, why) in [
        (unrecorded, Caveat::WakesNotRecorded),
        (close_call, Caveat::CloseCall),
        (
            closed_but(|close_evidence| close_evidence.whole = false),
            Caveat::Incomplete,
        ),
        (one_of_several, Caveat::OneOfSeveral),
        (with_a_timeout, Caveat::SeveralWakers),
        (recent, Caveat::Recent),
    ] {
        let judgement = judge(&evidence, ms(500));
        assert_eq!(judgement.verdict, Verdict::MaybeStuck, "{why:?}");
        let Reason::Closed { caveat, .. } = judgement.reason else {
            panic!("{judgement:?}")
        };
        assert_eq!(caveat, Some(why));
    }
}

/// CT-14, CT-15: a program that closes first and resumes later gets the time it usually takes.
#[test]
fn closed_proves_nothing_while_others_were_resumed_as_late() {
    let slow = closed_but(|close_evidence| close_evidence.longest_after = ms(4000));
    check(&slow, Fact::NotWoken, Verdict::MaybeStuck, "far-beyond");
    let quicker = closed_but(|close_evidence| close_evidence.longest_after = ms(3999));
    check(&quicker, Fact::NotWoken, Verdict::Stuck, "closed");
    let mut just = closed_but(|close_evidence| close_evidence.at = ms(9_001));
    just.past = Past::default();
    check(&just, Fact::NotWoken, Verdict::Waiting, "no-past");
    let mut woken = closed();
    woken.wake = crate::evidence_values::woken().wake;
    check(&woken, Fact::WokenNotRun, Verdict::Stuck, "passed-over");
}
