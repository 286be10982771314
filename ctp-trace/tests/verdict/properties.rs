//! What holds of everything that the rule may be told.

use ctp_trace::record::{CoroutineId, Dialect, Nanos, Seen};
use ctp_trace::verdict::{
    BlockStanding, CloseStanding, Confidence, Doubt, EmptyStanding, Fact, LivesStanding,
    LookStanding, Obstacle, Past, Reason, SURE_AFTER, Standing, State, TurnStanding, Verdict,
    WakeStanding, judge,
};
use proptest::prelude::*;

use crate::standings::{MS, THRESHOLD, ms, served};

fn any_seen() -> impl Strategy<Value = Seen> {
    prop::sample::select(vec![
        Seen::Open,
        Seen::Closed,
        Seen::Replaced,
        Seen::Readable(1),
        Seen::HungUp,
    ])
}

prop_compose! {
    fn any_standing()(
        state in prop::sample::select(vec![
            State::Born, State::Running, State::Suspended, State::Cancelled, State::Dead,
        ]),
        times in prop::collection::vec(0u64..20_000, 9),
        (hosts, held, idle, one_of_several, dated) in any::<(bool, bool, bool, bool, bool)>(),
        doubt in prop::option::of(0u64..9),
        wake in prop::option::of(any::<(bool, bool)>()),
        (timer, others, v1) in any::<(bool, bool, bool)>(),
        closed in prop::option::of((0u64..20_000, 0u64..9_000, any::<bool>())),
        looked in prop::option::of((any_seen(), 0u64..20_000, 0u64..300, 0u64..9_000, any::<bool>())),
        counts in (0u64..20, 0u64..20, prop::option::of(0u64..20_000)),
        wakers in prop::option::of(0u32..3),
        (polled_by_others, polls_untold, keeps_permits, runs_when_woken) in any::<(bool, bool, bool, bool)>(),
        lives in prop::option::of((0u64..20, 0u64..2_000, 0u64..4_000, 0u64..20)),
        blocked in prop::option::of((0u8..4, 0u64..20_000, any::<bool>())),
    ) -> Standing {
        Standing {
            state,
            since: ms(times[0]),
            end: ms(times[0].max(times[1])),
            dialect: if v1 { Dialect::V1PerSlot } else { Dialect::Extended },
            doubt,
        filtered: 0,
            wake: wake.map(|(woken, close_call)| WakeStanding { woken, at: dated.then(|| ms(times[2])), close_call, ..WakeStanding::default() }),
            closed: closed.map(|(at, longest_after, whole)| CloseStanding {
                at: ms(at),
                longest_after: ms(longest_after),
                whole,
            }),
            looked: looked.map(|(seen, first, more, longest_after, whole)| LookStanding {
                seen,
                first: ms(first),
                latest: ms(first + more),
                longest_after: ms(longest_after),
                whole,
            }),
            empty: None,
            lives: lives.map(|(ended, p99, longest, newest)| LivesStanding {
                ended,
                p99: ms(p99),
                longest: ms(longest),
                newest,
            }),
            turn: counts.2.map(|taken| TurnStanding {
                taken: ms(taken),
                waited_since: ms(taken),
                youngest: ms(times[7]),
            }),
            deadline: timer.then(|| ms(times[3])),
            past: Past {
                waits: counts.0,
                p99: ms(times[4]),
                longest: ms(times[5]),
                queued: counts.1,
                longest_queued: ms(times[6]),
            },
            served: if others { served(times[7]) } else { None },
            served_there: if others { served(times[7].min(times[3])) } else { None },
            idle,
            one_of_several,
            hosts,
            thread_ended: idle,
            held_since: held.then(|| ms(times[8])),
            wakers,
            polled_by_others,
            runs_when_woken,
            polls_untold,
            keeps_permits,
            blocked: blocked.map(|(obstacle, since, is_doubtful)| BlockStanding {
                obstacle: match obstacle {
                    0 => Obstacle::Cycle,
                    1 => Obstacle::Ended(CoroutineId(7)),
                    2 => Obstacle::Unclaimed,
                    _ => Obstacle::Behind(CoroutineId(7)),
                },
                since: ms(since),
                doubt: is_doubtful.then_some(Doubt::Moved),
            }),
        }
    }
}

proptest! {
    // CT-15
    #[test]
    fn nothing_to_read_speaks_against_what_is_far_beyond_and_against_nothing_else(
        standing in any_standing(),
        at in 0u64..20_000,
    ) {
        let empty = EmptyStanding { fd: 17, at: ms(at) };
        let looked_at = Standing { empty: Some(empty), ..standing };
        let (before, after) = (judge(&standing, THRESHOLD), judge(&looked_at, THRESHOLD));
        if before != after {
            prop_assert_eq!(before.reason, Reason::FarBeyond);
            prop_assert_eq!((after.verdict, after.reason), (Verdict::Waiting, Reason::NothingToRead(empty)));
            prop_assert!(standing.since <= empty.at);
        }
    }

    #[test]
    fn certain_is_only_what_was_passed_over_or_lost_what_it_waits_for(standing in any_standing()) {
        let judgement = judge(&standing, THRESHOLD);
        if let Reason::Deadlock { doubt } | Reason::NeverGivenBack { doubt, .. }
            | Reason::Unclaimed { doubt } | Reason::Behind { doubt, .. } = judgement.reason
        {
            let blocked = standing.blocked.unwrap();
            let age = blocked.since.until(standing.end);
            let may_run = blocked.obstacle == Obstacle::Cycle && standing.state == State::Running;
            prop_assert!(standing.state == State::Suspended || may_run);
            prop_assert!(THRESHOLD <= age);
            let is_certain = blocked.doubt.is_none() && SURE_AFTER <= age;
            prop_assert_eq!(is_certain, doubt.is_none());
            prop_assert_eq!(is_certain, judgement.confidence == Confidence::Certain);
        } else if judgement.verdict == Verdict::Stuck && judgement.fact == Fact::WokenNotRun {
            let (wake, served) = (standing.wake.unwrap(), standing.served.unwrap());
            let ready = standing.since.max(wake.at.unwrap());
            for served in [served, standing.served_there.unwrap()] {
                prop_assert!(THRESHOLD <= Nanos(served.ready.0 - ready.0));
            }
            prop_assert!(!wake.close_call && standing.wakers.is_none());
            prop_assert!(!standing.keeps_permits || standing.since <= wake.at.unwrap());
        } else if judgement.verdict == Verdict::Stuck && judgement.fact == Fact::NoWaker {
            prop_assert!(standing.wakers == Some(0) && !standing.polled_by_others);
            prop_assert!(standing.runs_when_woken);
            prop_assert!(!standing.polls_untold);
            prop_assert!(!judgement.close_call && SURE_AFTER <= judgement.age);
        } else if judgement.verdict == Verdict::Stuck {
            prop_assert_eq!(judgement.fact, Fact::NotWoken);
            prop_assert!(!judgement.close_call);
            let looked = || {
                let LookStanding { first, longest_after, whole, .. } = standing.looked.unwrap();
                (first, longest_after, whole)
            };
            let (at, longest_after, whole) = standing
                .closed
                .map_or_else(looked, |it| (it.at, it.longest_after, it.whole));
            let ago = Nanos(standing.end.0 - at.0);
            prop_assert!(whole && SURE_AFTER <= ago && longest_after < ago);
            if standing.closed.is_none() {
                let looked = standing.looked.unwrap();
                prop_assert_eq!(looked.seen, Seen::Closed);
                prop_assert!(ms(100) <= looked.first.until(looked.latest));
            }
        }
        if judgement.verdict.is_stuck() {
            prop_assert!(standing.doubt.is_none() && THRESHOLD <= judgement.age);
            prop_assert!(!matches!(standing.state, State::Dead | State::Cancelled));
        }
        if judgement.fact == Fact::NotWoken {
            prop_assert!(standing.wake.is_some());
        }
    }

    #[test]
    fn a_longer_threshold_never_makes_more_stuck(standing in any_standing(), more in 0u64..9_000) {
        let longer = judge(&standing, Nanos(THRESHOLD.0 + more * MS));
        if longer.verdict.is_stuck() {
            prop_assert!(judge(&standing, THRESHOLD).verdict.is_stuck());
        }
    }
}
