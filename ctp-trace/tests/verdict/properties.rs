//! Properties of the verdict rule for any evidence.

use ctp_trace::record::{CoroutineId, Dialect, LeafKind, Nanos, PollWakers, Seen, SiteId};
use ctp_trace::verdict::{
    BlockCause, BlockEvidence, BranchEvidence, Caveat, CloseEvidence, Confidence, ENOUGH,
    EmptyEvidence, Evidence, Fact, Level, LivesEvidence, LookEvidence, MissingEvidence, Past,
    PollEvidence, Reason, ResourceEvidence, SURE_AFTER, State, ThreadEvidence, TurnEvidence,
    Verdict, WaitEvidence, WakeEvidence, judge,
};
use proptest::prelude::*;

use crate::evidence_values::{MS, THRESHOLD, changed, ms, overtaker};

fn any_seen() -> impl Strategy<Value = Seen> {
    prop::sample::select(vec![
        Seen::Open,
        Seen::Closed,
        Seen::Replaced,
        Seen::Readable(1),
        Seen::HungUp,
    ])
}

fn any_ms(below: u64) -> impl Strategy<Value = Nanos> {
    (0..below).prop_map(ms)
}

prop_compose! {
    fn any_wake()(
        (woken, close_call) in any::<(bool, bool)>(),
        at in prop::option::of(any_ms(20_000)),
    ) -> WakeEvidence {
        WakeEvidence { woken, at, close_call, ..WakeEvidence::default() }
    }
}

prop_compose! {
    fn any_closing()(
        (at, longest_after) in (any_ms(20_000), any_ms(9_000)),
        whole in any::<bool>(),
    ) -> CloseEvidence {
        CloseEvidence { at, longest_after, whole }
    }
}

prop_compose! {
    fn any_look()(
        seen in any_seen(),
        (first, more, longest_after) in (any_ms(20_000), any_ms(300), any_ms(9_000)),
        whole in any::<bool>(),
    ) -> LookEvidence {
        let latest = Nanos(first.0 + more.0);
        LookEvidence { seen, first, latest, longest_after, whole }
    }
}

prop_compose! {
    fn any_block()(
        block_cause in prop::sample::select(vec![
            BlockCause::Cycle,
            BlockCause::Ended(CoroutineId(7)),
            BlockCause::Unclaimed,
            BlockCause::Behind(CoroutineId(7)),
        ]),
        since in any_ms(20_000),
        is_doubtful in any::<bool>(),
    ) -> BlockEvidence {
        BlockEvidence { block_cause, since, caveat: is_doubtful.then_some(Caveat::Moved) }
    }
}

prop_compose! {
    fn any_turn()(taken in any_ms(20_000), youngest in any_ms(20_000)) -> TurnEvidence {
        TurnEvidence { taken, waited_since: taken, youngest }
    }
}

prop_compose! {
    fn any_resource()(
        closed in prop::option::of(any_closing()),
        blocked in prop::option::of(any_block()),
        looked in prop::option::of(any_look()),
        turn in prop::option::of(any_turn()),
    ) -> ResourceEvidence {
        ResourceEvidence { closed, blocked, looked, turn, empty: None, full: None, no_reader: false, keeps_lock: false, own_future: false, in_closed_group: false, may_be_woken_again: false }
    }
}

prop_compose! {
    fn any_threads()(
        others in prop::option::of((0u64..20_000, 0u64..20_000)),
        held_since in prop::option::of(any_ms(20_000)),
        quiet_since in prop::option::of(any_ms(20_000)),
        (hosts, ended) in any::<(bool, bool)>(),
    ) -> ThreadEvidence {
        ThreadEvidence {
            overtaker: others.and_then(|(ready, _)| overtaker(ready)),
            overtaker_on_thread: others.and_then(|(ready, there)| overtaker(ready.min(there))),
            hosts,
            ended,
            quiet_since,
            held_since,
            parked: None,
        }
    }
}

prop_compose! {
    fn any_polls()(
        wakers in prop::option::of(0u32..3),
        left in prop::sample::select(vec![
            PollWakers::Taken, PollWakers::Earlier, PollWakers::Unregistered,
        ]),
        (by_others, when_woken, unrecorded, keeps_permits) in any::<(bool, bool, bool, bool)>(),
    ) -> PollEvidence {
        PollEvidence { wakers, left, by_others, when_woken, unrecorded, keeps_permits }
    }
}

prop_compose! {
    fn any_past()(
        (waits, queued) in (0u64..20, 0u64..20),
        (p99, longest, longest_queued) in (any_ms(20_000), any_ms(20_000), any_ms(20_000)),
        (level, active) in (prop::sample::select(&Level::ALL), any_ms(20_000)),
        (is_closest, by_peers) in any::<(bool, bool)>(),
    ) -> Past {
        let mean = p99;
        Past {
            level, waits, mean, p99, longest, active, is_closest, queued, longest_queued, by_peers,
        }
    }
}

prop_compose! {
    fn any_lives()(
        (ended, newest, here) in (0u64..2_000, 0u64..20, 0u64..20),
        (p99, longest) in (any_ms(2_000), any_ms(4_000)),
        alike in prop::option::of(0u64..20),
    ) -> LivesEvidence {
        LivesEvidence { ended, p99, longest, newest, here, alike }
    }
}

prop_compose! {
    fn any_evidence()(
        state in prop::sample::select(vec![
            State::Born, State::Running, State::Suspended, State::Cancelled, State::Dead,
        ]),
        (since, end) in (any_ms(20_000), any_ms(20_000)),
        lost in prop::option::of(0u64..9),
        (idle, one_of_several, for_lock, v1) in any::<(bool, bool, bool, bool)>(),
        deadline in prop::option::of(any_ms(20_000)),
        leaf in prop::sample::select(vec![LeafKind::Unknown, LeafKind::Io, LeafKind::Reply]),
        (wake, polls) in (prop::option::of(any_wake()), any_polls()),
        (resource, threads) in (any_resource(), any_threads()),
        (past, lives) in (any_past(), prop::option::of(any_lives())),
        branch in prop::option::of((any_ms(20_000), any_past(), any::<bool>())),
    ) -> Evidence {
        Evidence {
            branch: branch.map(|(since, past, is_restarted)| {
                let leaf = LeafKind::Unknown;
                BranchEvidence { site: SiteId(1), leaf, is_restarted, since, past }
            }),
            state,
            since,
            end: since.max(end),
            dialect: if v1 { Dialect::V1PerSlot } else { Dialect::Extended },
            missing: MissingEvidence { lost, filtered: 0 },
            wake,
            polls,
            wait: WaitEvidence { idle, one_of_several, for_lock, is_held_while_idle: false, is_for_call: false, leaf, deadline },
            resource,
            threads,
            past,
            lives,
        }
    }
}

proptest! {
    // CT-15
    #[test]
    fn nothing_to_read_excuses_only_waits_beyond_the_usual(
        evidence in any_evidence(),
        at in 0u64..20_000,
    ) {
        let empty = EmptyEvidence { fd: Some(17), at: ms(at) };
        let looked_at = changed(evidence, |evidence| evidence.resource.empty = Some(empty));
        let (before, after) = (judge(&evidence, THRESHOLD), judge(&looked_at, THRESHOLD));
        if before != after {
            prop_assert!(matches!(before.reason, Reason::FarBeyond(_) | Reason::Quiet(_) | Reason::BeyondLives(_)));
            prop_assert_eq!((after.verdict, after.reason), (Verdict::Waiting, Reason::NothingToRead(empty)));
            prop_assert!(evidence.since <= empty.at);
        }
    }

    // CT-14
    #[test]
    fn length_condemns_only_at_a_line_that_is_active(evidence in any_evidence()) {
        let Reason::FarBeyond(level) = judge(&evidence, THRESHOLD).reason else {
            return Ok(());
        };
        let past = evidence.past;
        prop_assert!(level == past.level && ENOUGH <= past.waits);
        if !evidence.wait.for_lock {
            prop_assert!(level.allows_stuck() || past.is_closest);
            let when_active = evidence.since.until(past.active);
            let is_active = past.far_beyond().is_some_and(|far| far <= when_active);
            prop_assert!(is_active || evidence.wait.leaf.is_part_of_work());
        }
    }

    #[test]
    fn certain_verdicts_have_complete_evidence(evidence in any_evidence()) {
        let judgement = judge(&evidence, THRESHOLD);
        if let Reason::Deadlock { caveat } | Reason::NeverReleased { caveat, .. }
            | Reason::Unclaimed { caveat } | Reason::Behind { caveat, .. } = judgement.reason
        {
            let blocked = evidence.resource.blocked.unwrap();
            let age = blocked.since.until(evidence.end);
            let may_run = blocked.block_cause == BlockCause::Cycle && evidence.state == State::Running;
            prop_assert!(evidence.state == State::Suspended || may_run);
            prop_assert!(THRESHOLD <= age);
            let is_certain = blocked.caveat.is_none() && SURE_AFTER <= age;
            prop_assert_eq!(is_certain, caveat.is_none());
            prop_assert_eq!(is_certain, judgement.confidence == Confidence::Certain);
        } else if judgement.verdict == Verdict::Stuck && judgement.fact == Fact::WokenNotRun {
            let (wake, overtaker) = (evidence.wake.unwrap(), evidence.threads.overtaker.unwrap());
            let ready = evidence.since.max(wake.at.unwrap());
            for overtaker in [overtaker, evidence.threads.overtaker_on_thread.unwrap()] {
                prop_assert!(THRESHOLD <= Nanos(overtaker.ready.0 - ready.0));
            }
            prop_assert!(!wake.close_call && evidence.polls.wakers.is_none());
            prop_assert!(!evidence.polls.keeps_permits || evidence.since <= wake.at.unwrap());
        } else if judgement.verdict == Verdict::Stuck && judgement.reason == Reason::NoWaker {
            prop_assert_eq!(judgement.fact, Fact::NoWaker);
            prop_assert!(evidence.polls.wakers == Some(0) && !evidence.polls.by_others);
            prop_assert!(evidence.polls.when_woken && evidence.polls.left == PollWakers::Taken);
            prop_assert!(!evidence.polls.unrecorded);
            prop_assert!(!judgement.close_call && SURE_AFTER <= judgement.age);
        } else if judgement.verdict == Verdict::Stuck {
            // A future without wakers that others poll is judged by the awaited resource.
            let is_polled_by_others = judgement.fact == Fact::NoWaker && evidence.polls.by_others;
            prop_assert!(judgement.fact == Fact::NotWoken || is_polled_by_others);
            prop_assert!(!judgement.close_call);
            let looked = || {
                let LookEvidence { first, longest_after, whole, .. } = evidence.resource.looked.unwrap();
                (first, longest_after, whole)
            };
            let (at, longest_after, whole) = evidence.resource.closed
                .map_or_else(looked, |close_evidence| (close_evidence.at, close_evidence.longest_after, close_evidence.whole));
            let ago = Nanos(evidence.end.0 - at.0);
            prop_assert!(whole && SURE_AFTER <= ago && longest_after < ago);
            if evidence.resource.closed.is_none() {
                let looked = evidence.resource.looked.unwrap();
                prop_assert_eq!(looked.seen, Seen::Closed);
                prop_assert!(ms(100) <= looked.first.until(looked.latest));
            }
        }
        if judgement.verdict.is_stuck() {
            prop_assert!(evidence.missing.lost.is_none() && THRESHOLD <= judgement.age);
            prop_assert!(!matches!(evidence.state, State::Dead | State::Cancelled));
        }
        if judgement.fact == Fact::NotWoken {
            prop_assert!(evidence.wake.is_some());
        }
    }

    // CT-15
    #[test]
    fn unregistered_wait_is_stuck_only_if_blocked(evidence in any_evidence()) {
        let unregistered = changed(evidence, |evidence| {
            evidence.polls.left = PollWakers::Unregistered;
            evidence.polls.wakers = Some(0);
        });
        let judgement = judge(&unregistered, THRESHOLD);
        if evidence.state == State::Suspended && evidence.resource.blocked.is_none() {
            let is_woken = judgement.fact == Fact::WokenNotRun;
            prop_assert!(is_woken || !judgement.verdict.is_stuck());
        }
    }

    #[test]
    fn a_longer_threshold_never_makes_more_stuck(evidence in any_evidence(), more in 0u64..9_000) {
        let longer = judge(&evidence, Nanos(THRESHOLD.0 + more * MS));
        if longer.verdict.is_stuck() {
            prop_assert!(judge(&evidence, THRESHOLD).verdict.is_stuck());
        }
    }
}
