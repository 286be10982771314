//! Fewer facts never make a verdict more certain.

use ctp_trace::record::{Nanos, TaskState};
use ctp_trace::verdict::inspected::*;
use ctp_trace::verdict::{Confidence, THRESHOLD, Verdict};
use proptest::prelude::*;
use proptest::sample::select;

/// How much the verdict claims.
fn claim(evidence: &InspectedEvidence) -> u32 {
    let judgement = judge_inspected(evidence, THRESHOLD);
    match (judgement.verdict, judgement.confidence) {
        (Verdict::Waiting, _) => 0,
        (_, Confidence::Certain) => 2,
        _ => 1,
    }
}

fn leaf() -> impl Strategy<Value = LeafEvidence> {
    let known = any::<(bool, bool, bool, bool)>().prop_map(
        |(always_registers, has_no_waker, is_unsettled, is_held_by_unknown)| LeafEvidence::Known {
            always_registers,
            has_no_waker,
            is_unsettled,
            is_held_by_unknown,
        },
    );
    prop_oneof![
        Just(LeafEvidence::Unknown),
        Just(LeafEvidence::MayWaitForever),
        known
    ]
    .boxed()
}

fn blocked() -> impl Strategy<Value = BlockedEvidence> {
    prop_oneof![
        Just(BlockedEvidence::No),
        any::<bool>().prop_map(|is_exclusive| BlockedEvidence::Cycle { is_exclusive }),
        any::<bool>().prop_map(|is_certain| BlockedEvidence::Behind { is_certain }),
    ]
    .boxed()
}

fn evidence() -> impl Strategy<Value = InspectedEvidence> {
    let state = select(vec![
        TaskState::Idle,
        TaskState::Running,
        TaskState::Notified,
        TaskState::Cancelled,
    ]);
    let overdue = proptest::option::of(0..3u64);
    let times = (0..3u64, 0..3u64, overdue, any::<bool>());
    let thread = select(vec![
        PollingThread::Unknown,
        PollingThread::Runs,
        PollingThread::InCall,
        PollingThread::Blocked,
    ]);
    let workers = select(vec![
        WorkerEvidence::Unknown,
        WorkerEvidence::Parked,
        WorkerEvidence::Blocked,
        WorkerEvidence::Active,
    ]);
    let wakers = (proptest::option::of(0..3u32), any::<bool>());
    let nanos = |half_seconds: u64| Nanos(half_seconds * 500_000_000);
    (state, times, wakers, leaf(), blocked(), (thread, workers)).prop_map(
        move |(state, times, (wakers, only_own_wakers), leaf, blocked, (thread, workers))| {
            InspectedEvidence {
                state,
                unchanged: nanos(times.0),
                in_state: nanos(times.1),
                is_frozen: times.3,
                wakers,
                only_own_wakers,
                leaf,
                blocked,
                overdue: times.2.map(nanos),
                thread,
                workers,
                ..InspectedEvidence::default()
            }
        },
    )
}

/// The same evidence, each time without one of its facts.
fn with_less(evidence: &InspectedEvidence) -> Vec<InspectedEvidence> {
    let all = *evidence;
    let mut less = vec![
        InspectedEvidence {
            leaf: without_registration(all.leaf),
            ..all
        },
        InspectedEvidence {
            leaf: LeafEvidence::Unknown,
            ..all
        },
        InspectedEvidence {
            blocked: doubtful(all.blocked),
            ..all
        },
        InspectedEvidence {
            blocked: BlockedEvidence::No,
            ..all
        },
        InspectedEvidence {
            thread: PollingThread::Unknown,
            ..all
        },
        InspectedEvidence {
            workers: WorkerEvidence::Unknown,
            ..all
        },
    ];
    less.extend(with_less_time(all));
    less.extend(with_fewer_wakers(all));
    less
}

fn with_less_time(all: InspectedEvidence) -> [InspectedEvidence; 4] {
    [
        InspectedEvidence {
            unchanged: Nanos(0),
            ..all
        },
        InspectedEvidence {
            in_state: Nanos(0),
            ..all
        },
        InspectedEvidence {
            is_frozen: false,
            ..all
        },
        InspectedEvidence {
            overdue: None,
            ..all
        },
    ]
}

fn with_fewer_wakers(all: InspectedEvidence) -> [InspectedEvidence; 2] {
    [
        InspectedEvidence {
            wakers: None,
            ..all
        },
        InspectedEvidence {
            only_own_wakers: false,
            ..all
        },
    ]
}

fn doubtful(blocked: BlockedEvidence) -> BlockedEvidence {
    match blocked {
        BlockedEvidence::Cycle { .. } => BlockedEvidence::Cycle {
            is_exclusive: false,
        },
        BlockedEvidence::Behind { .. } => BlockedEvidence::Behind { is_certain: false },
        BlockedEvidence::No => BlockedEvidence::No,
    }
}

fn without_registration(leaf: LeafEvidence) -> LeafEvidence {
    match leaf {
        LeafEvidence::Known {
            has_no_waker,
            is_unsettled,
            is_held_by_unknown,
            ..
        } => LeafEvidence::Known {
            always_registers: false,
            has_no_waker,
            is_unsettled,
            is_held_by_unknown,
        },
        leaf => leaf,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn fewer_facts_claim_no_more(evidence in evidence()) {
        for less in with_less(&evidence) {
            prop_assert!(claim(&less) <= claim(&evidence), "{less:?}");
        }
    }

    #[test]
    fn certain_needs_an_unchanged_task(evidence in evidence()) {
        let judgement = judge_inspected(&evidence, THRESHOLD);
        let is_stuck = judgement.verdict.is_stuck();
        let is_steady = evidence.is_frozen || Nanos(100_000_000) <= evidence.unchanged;
        prop_assert!(!is_stuck || is_steady);
    }
}
