//! The rule, case by case. Times are in milliseconds.

use ctp_trace::record::{CoroutineId, Dialect, Nanos, Seen};
use ctp_trace::verdict::{
    BlockStanding, CloseStanding, Confidence, Doubt, Fact, Judgement, LookStanding, Obstacle, Past,
    Reason, SURE_AFTER, Served, Standing, State, TurnStanding, Verdict, WakeStanding, judge,
    wakes_since,
};
use proptest::prelude::*;

const MS: u64 = 1_000_000;
const THRESHOLD: Nanos = Nanos(1000 * MS);

fn ms(ms: u64) -> Nanos {
    Nanos(ms * MS)
}

/// Suspended since +1 s in a recording of 10 s, at a site that usually waits 2 ms.
fn suspended() -> Standing {
    Standing {
        state: State::Suspended,
        since: ms(1000),
        end: ms(10_000),
        past: Past {
            waits: 8,
            p99: ms(2),
            longest: ms(3),
            queued: 8,
            longest_queued: ms(1),
        },
        served: served(9_900),
        served_there: served(9_800),
        ..Standing::default()
    }
}

/// One that became ready at this time was run a millisecond later.
fn served(ready: u64) -> Option<Served> {
    Some(Served {
        ready: ms(ready),
        ran: ms(ready + 1),
    })
}

fn not_woken() -> Standing {
    Standing {
        wake: Some(WakeStanding::default()),
        ..suspended()
    }
}

fn woken() -> Standing {
    let wake = WakeStanding {
        woken: true,
        at: Some(ms(2000)),
        close_call: false,
    };
    Standing {
        wake: Some(wake),
        ..suspended()
    }
}

fn check(standing: &Standing, fact: Fact, verdict: Verdict, reason: &str) -> Judgement {
    let judgement = judge(standing, THRESHOLD);
    let found = (judgement.fact, judgement.verdict, judgement.reason.word());
    assert_eq!(found, (fact, verdict, reason), "{standing:?}");
    judgement
}

/// CT-16, CTP-20: whoever is dead is over, however it ended and whatever is lost of it.
#[test]
fn the_dead_are_never_listed() {
    let dead = Standing {
        state: State::Dead,
        doubt: Some(3),
        ..suspended()
    };
    check(&dead, Fact::Dead, Verdict::Over, "over");
    let cancelled = Standing {
        state: State::Cancelled,
        ..dead
    };
    check(&cancelled, Fact::Cancelled, Verdict::Over, "over");
}

/// CT-24: no state is judged that may not be the last one.
#[test]
fn what_depends_on_lost_events_is_unknown() {
    for standing in [not_woken(), woken(), suspended()] {
        let doubted = Standing {
            doubt: Some(212),
            ..standing
        };
        let judgement = check(&doubted, Fact::Suspended, Verdict::Unknown, "lost");
        assert_eq!(judgement.reason, Reason::Lost(212));
        assert_eq!(judgement.confidence, Confidence::Open);
    }
}

/// CTP-21: one that runs without a suspend is reported as running.
#[test]
fn running_for_long_is_busy() {
    let running = Standing {
        state: State::Running,
        ..suspended()
    };
    assert_eq!(
        check(&running, Fact::Running, Verdict::Busy, "runs").age,
        ms(9000)
    );
    let host = Standing {
        hosts: true,
        ..running
    };
    check(&host, Fact::Running, Verdict::Waiting, "hosts");
    let left = Standing {
        thread_ended: true,
        ..running
    };
    check(&left, Fact::Running, Verdict::MaybeStuck, "thread-ended");
    let brief = Standing {
        since: ms(9001),
        ..running
    };
    check(&brief, Fact::Running, Verdict::Waiting, "young");
}

#[test]
fn never_run_is_stuck_only_if_others_were_run() {
    let born = Standing {
        state: State::Born,
        ..suspended()
    };
    check(&born, Fact::NeverRun, Verdict::MaybeStuck, "overlooked");
    let alone = Standing {
        served: None,
        ..born
    };
    check(&alone, Fact::NeverRun, Verdict::Waiting, "not-overtaken");
    let idle = Standing {
        served: served(1999),
        ..born
    };
    check(&idle, Fact::NeverRun, Verdict::Waiting, "not-overtaken");
    let young = Standing {
        since: ms(9500),
        ..born
    };
    check(&young, Fact::NeverRun, Verdict::Waiting, "young");
}

/// CT-15: woken, never run again.
#[test]
fn woken_not_run_is_certain_beyond_all_queueing_while_workers_progress() {
    let stuck = check(&woken(), Fact::WokenNotRun, Verdict::Stuck, "passed-over");
    assert_eq!(stuck.confidence, Confidence::Certain);
    assert_eq!(
        stuck.reason,
        Reason::PassedOver {
            ready: ms(2000),
            served: served(9_900).unwrap_or_default()
        }
    );
}

#[test]
fn woken_not_run_is_queueing_otherwise() {
    let past = |change: fn(&mut Past)| {
        let mut standing = woken();
        change(&mut standing.past);
        standing
    };
    let few = past(|past| past.queued = 7);
    check(&few, Fact::WokenNotRun, Verdict::MaybeStuck, "passed-over");
    let slow = past(|past| past.longest_queued = ms(4000));
    check(&slow, Fact::WokenNotRun, Verdict::Waiting, "queued");
    let slowly = past(|past| past.longest_queued = ms(3999));
    check(&slowly, Fact::WokenNotRun, Verdict::Stuck, "passed-over");
    let stalled = Standing {
        served: served(2999),
        ..woken()
    };
    check(&stalled, Fact::WokenNotRun, Verdict::Waiting, "queued");
    let mut fresh = woken();
    fresh.wake = Some(WakeStanding {
        woken: true,
        at: Some(ms(9_100)),
        close_call: false,
    });
    check(&fresh, Fact::WokenNotRun, Verdict::Waiting, "queued");
}

/// A wake is counted before it is dated: at the end of a program the date may never come.
#[test]
fn one_that_was_woken_at_a_time_that_is_not_known_may_have_been_so_just_now() {
    let mut undated = woken();
    undated.wake.iter_mut().for_each(|wake| wake.at = None);
    check(&undated, Fact::WokenNotRun, Verdict::Waiting, "queued");
}

/// A wake that came when its run began may have led to that run; and where one that runs keeps the
/// thread, or it is not known to have passed it over, those that are bound to it wait for their turn.
#[test]
fn woken_not_run_is_likely_where_another_reading_is_left() {
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
    let held = Standing {
        held_since: Some(ms(9_000)),
        ..woken()
    };
    check(&held, Fact::WokenNotRun, Verdict::MaybeStuck, "passed-over");
    for there in [None, served(2_999)] {
        let elsewhere = Standing {
            served_there: there,
            ..woken()
        };
        check(
            &elsewhere,
            Fact::WokenNotRun,
            Verdict::MaybeStuck,
            "passed-over",
        );
    }
    let recent = Standing {
        end: ms(2_999),
        served: served(2_900),
        ..woken()
    };
    let judgement = judge(&recent, ms(500));
    assert_eq!(judgement.verdict, Verdict::MaybeStuck);
    let passing = Standing {
        held_since: Some(ms(9_001)),
        ..woken()
    };
    check(&passing, Fact::WokenNotRun, Verdict::Stuck, "passed-over");
}

/// A wake during the run cannot be followed before that run has ended.
#[test]
fn queueing_begins_with_the_suspend() {
    let mut standing = woken();
    standing.wake = Some(WakeStanding {
        woken: true,
        at: Some(ms(10)),
        close_call: false,
    });
    let Reason::PassedOver { ready, .. } = judge(&standing, THRESHOLD).reason else {
        panic!()
    };
    assert_eq!(ready, standing.since);
}

/// Its descriptor was closed at +2 s, 8 s before the end.
fn closed() -> Standing {
    let closed = CloseStanding {
        at: ms(2000),
        longest_after: Nanos(0),
        whole: true,
    };
    Standing {
        closed: Some(closed),
        ..not_woken()
    }
}

fn closed_but(change: fn(&mut CloseStanding)) -> Standing {
    let mut standing = closed();
    standing.closed.iter_mut().for_each(change);
    standing
}

/// CT-14, CT-15: a lost wakeup is one that was not woken though its event happened.
#[test]
fn closed_and_not_woken_is_certain() {
    let stuck = check(&closed(), Fact::NotWoken, Verdict::Stuck, "closed");
    assert_eq!(stuck.confidence, Confidence::Certain);
    let mut new_site = closed();
    new_site.past = Past::default();
    check(&new_site, Fact::NotWoken, Verdict::Stuck, "closed");
}

/// CT-14, CT-24: whatever may hide a wake leaves it likely.
#[test]
fn closed_is_likely_where_a_wake_may_be_hidden() {
    let mut close_call = closed();
    close_call
        .wake
        .iter_mut()
        .for_each(|wake| wake.close_call = true);
    let untold = Standing {
        wake: None,
        ..closed()
    };
    let one_of_several = Standing {
        one_of_several: true,
        ..closed()
    };
    let with_a_timeout = Standing {
        wakers: Some(2),
        ..closed()
    };
    let recent = Standing {
        since: ms(9_000),
        end: ms(9_900),
        ..closed_but(|it| it.at = ms(9_001))
    };
    for (standing, why) in [
        (untold, Doubt::WakesNotTold),
        (close_call, Doubt::CloseCall),
        (closed_but(|it| it.whole = false), Doubt::Incomplete),
        (one_of_several, Doubt::OneOfSeveral),
        (with_a_timeout, Doubt::SeveralWakers),
        (recent, Doubt::Recent),
    ] {
        let judgement = judge(&standing, ms(500));
        assert_eq!(judgement.verdict, Verdict::MaybeStuck, "{why:?}");
        let Reason::Closed { doubt, .. } = judgement.reason else {
            panic!("{judgement:?}")
        };
        assert_eq!(doubt, Some(why));
    }
}

/// CT-14, CT-15: a program that closes first and resumes later is not accused before its time.
#[test]
fn closed_proves_nothing_while_others_were_resumed_as_late() {
    let slow = closed_but(|it| it.longest_after = ms(4000));
    check(&slow, Fact::NotWoken, Verdict::MaybeStuck, "far-beyond");
    let quicker = closed_but(|it| it.longest_after = ms(3999));
    check(&quicker, Fact::NotWoken, Verdict::Stuck, "closed");
    let mut just = closed_but(|it| it.at = ms(9_001));
    just.past = Past::default();
    check(&just, Fact::NotWoken, Verdict::Waiting, "no-past");
    let mut woken = closed();
    woken.wake = self::woken().wake;
    check(&woken, Fact::WokenNotRun, Verdict::Stuck, "passed-over");
}

/// CT-14, CT-15: never woken is stuck only far beyond what is usual there, and so not for certain.
#[test]
fn not_woken_is_judged_by_the_past_of_its_site() {
    for (standing, fact) in [
        (not_woken(), Fact::NotWoken),
        (suspended(), Fact::Suspended),
    ] {
        let stuck = check(&standing, fact, Verdict::MaybeStuck, "far-beyond");
        assert_eq!(stuck.confidence, Confidence::Likely);
        let mut listener = standing;
        listener.past.waits = 7;
        check(&listener, fact, Verdict::Waiting, "no-past");
        let mut slow = standing;
        slow.past.p99 = ms(901);
        check(&slow, fact, Verdict::Waiting, "usual");
        let mut once = standing;
        once.past.longest = ms(9000);
        check(&once, fact, Verdict::Waiting, "usual");
        let mut record = standing;
        record.past.longest = ms(4501); // not quite half of what this one waits
        check(&record, fact, Verdict::Waiting, "usual");
        let young = Standing {
            since: ms(9001),
            ..standing
        };
        check(&young, fact, Verdict::Waiting, "young");
    }
}

#[test]
fn a_wait_that_is_meant_to_be_long_is_none_too_long_but_may_be_lost() {
    let idle = Standing {
        idle: true,
        ..not_woken()
    };
    check(&idle, Fact::NotWoken, Verdict::Waiting, "idle");
    let closed = Standing {
        idle: true,
        ..closed()
    };
    check(&closed, Fact::NotWoken, Verdict::Stuck, "closed");
}

#[test]
fn what_is_ignored_is_no_failure_and_says_what_it_was() {
    let stuck = judge(&closed(), THRESHOLD).ignored();
    assert_eq!(stuck.reason, Reason::Ignored(Verdict::Stuck));
    assert_eq!(stuck.verdict, Verdict::Waiting);
    let mut past = not_woken();
    past.past.waits = 7;
    let waiting = judge(&past, THRESHOLD);
    assert_eq!(waiting.ignored(), waiting);
}

// CT-15
#[test]
fn one_that_nobody_can_wake_is_stuck() {
    let abandoned = Standing {
        wakers: Some(0),
        runs_when_woken: true,
        ..not_woken()
    };
    check(&abandoned, Fact::NoWaker, Verdict::Stuck, "abandoned");
    let never_woken = Standing {
        runs_when_woken: false,
        ..abandoned
    };
    check(
        &never_woken,
        Fact::NoWaker,
        Verdict::MaybeStuck,
        "abandoned",
    );
    let polled = Standing {
        polled_by_others: true,
        past: Past::default(),
        ..abandoned
    };
    check(&polled, Fact::NoWaker, Verdict::Waiting, "no-past");
    let close = Standing {
        wake: Some(WakeStanding {
            close_call: true,
            ..WakeStanding::default()
        }),
        ..abandoned
    };
    check(&close, Fact::NoWaker, Verdict::MaybeStuck, "abandoned");
    let untold = Standing {
        polls_untold: true,
        ..abandoned
    };
    check(&untold, Fact::NoWaker, Verdict::MaybeStuck, "abandoned");
    let one_left = Standing {
        wakers: Some(1),
        past: Past::default(),
        ..abandoned
    };
    check(&one_left, Fact::NotWoken, Verdict::Waiting, "no-past");
    let woken = Standing {
        wakers: Some(0),
        ..woken()
    };
    check(
        &woken,
        Fact::WokenNotRun,
        Verdict::MaybeStuck,
        "passed-over",
    );
}

// CT-15
#[test]
fn a_wake_that_came_while_it_ran_may_be_used_up_where_there_are_permits() {
    let early = Standing {
        wake: Some(WakeStanding {
            woken: true,
            at: Some(ms(900)),
            close_call: false,
        }),
        ..woken()
    };
    check(&early, Fact::WokenNotRun, Verdict::Stuck, "passed-over");
    let permit = |standing| Standing {
        keeps_permits: true,
        ..standing
    };
    let likely = Verdict::MaybeStuck;
    check(&permit(early), Fact::WokenNotRun, likely, "passed-over");
    check(
        &permit(woken()),
        Fact::WokenNotRun,
        Verdict::Stuck,
        "passed-over",
    );
}

#[test]
fn a_close_call_is_named() {
    let mut standing = not_woken();
    standing.wake = Some(WakeStanding {
        woken: false,
        at: Some(ms(999)),
        close_call: true,
    });
    assert!(check(&standing, Fact::NotWoken, Verdict::MaybeStuck, "far-beyond").close_call);
    standing.wake = Some(WakeStanding {
        woken: true,
        at: Some(ms(999)),
        close_call: true,
    });
    assert!(!judge(&standing, THRESHOLD).close_call);
}

/// CT-15: a pending timer waits, whatever its site usually waits.
#[test]
fn a_timer_is_judged_by_its_deadline() {
    let pending = Standing {
        deadline: Some(ms(12_000)),
        ..not_woken()
    };
    check(&pending, Fact::NotWoken, Verdict::Waiting, "timer");
    let just = Standing {
        deadline: Some(ms(9_001)),
        ..pending
    };
    check(&just, Fact::NotWoken, Verdict::Waiting, "timer");
    let overdue = Standing {
        deadline: Some(ms(9_000)),
        ..pending
    };
    check(&overdue, Fact::NotWoken, Verdict::MaybeStuck, "overdue");
    assert_eq!(
        judge(&pending, Nanos(0)).reason.word(),
        "timer",
        "due only later"
    );
}

#[test]
fn a_plain_v1_coroutine_is_likely_stuck_when_suspended_to_the_end() {
    for dialect in [Dialect::V1PerSlot, Dialect::V1PerStation] {
        let peer = Standing {
            dialect,
            past: Past::default(),
            ..suspended()
        };
        check(&peer, Fact::Suspended, Verdict::MaybeStuck, "silent");
        let young = Standing {
            since: ms(9_500),
            ..peer
        };
        check(&young, Fact::Suspended, Verdict::Waiting, "young");
    }
}

#[test]
fn wake_counts_wrap() {
    assert_eq!(wakes_since(0, 0), Some(0));
    assert_eq!(wakes_since(0x1_0001, 0xfffe), Some(3));
    assert_eq!(wakes_since(4, 5), None);
}

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
        blocked in prop::option::of((0u8..3, 0u64..20_000, any::<bool>())),
    ) -> Standing {
        Standing {
            state,
            since: ms(times[0]),
            end: ms(times[0].max(times[1])),
            dialect: if v1 { Dialect::V1PerSlot } else { Dialect::Extended },
            doubt,
        filtered: 0,
            wake: wake.map(|(woken, close_call)| WakeStanding { woken, at: dated.then(|| ms(times[2])), close_call }),
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
                    _ => Obstacle::Behind(CoroutineId(7)),
                },
                since: ms(since),
                doubt: is_doubtful.then_some(Doubt::Moved),
            }),
        }
    }
}

proptest! {
    #[test]
    fn certain_is_only_what_was_passed_over_or_lost_what_it_waits_for(standing in any_standing()) {
        let judgement = judge(&standing, THRESHOLD);
        if let Reason::Deadlock { doubt } | Reason::NeverGivenBack { doubt, .. }
            | Reason::Behind { doubt, .. } = judgement.reason
        {
            let blocked = standing.blocked.unwrap();
            let age = Nanos(standing.end.0 - standing.since.0.max(blocked.since.0));
            prop_assert!(standing.state == State::Suspended && THRESHOLD <= age);
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
