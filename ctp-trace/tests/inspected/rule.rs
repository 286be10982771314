//! Each line of the table of reasons, as evidence and verdict.

use ctp_trace::record::{Nanos, TaskState};
use ctp_trace::verdict::inspected::*;
use ctp_trace::verdict::{Confidence, THRESHOLD, Verdict};

const SECOND: Nanos = Nanos(1_000_000_000);

fn steady() -> InspectedEvidence {
    InspectedEvidence {
        unchanged: SECOND,
        in_state: SECOND,
        ..InspectedEvidence::default()
    }
}

fn known(always_registers: bool, has_no_waker: bool) -> LeafEvidence {
    LeafEvidence::Known {
        always_registers,
        has_no_waker,
        is_unsettled: false,
        is_held_by_unknown: false,
    }
}

fn judged(evidence: &InspectedEvidence) -> (Verdict, InspectedReason) {
    let judgement = judge_inspected(evidence, THRESHOLD);
    assert_eq!(judgement.confidence, judgement.verdict.confidence());
    (judgement.verdict, judgement.reason)
}

// CT-14
#[test]
fn no_waker_depends_on_the_leaf() {
    let of = |leaf| {
        judged(&InspectedEvidence {
            wakers: Some(0),
            leaf,
            ..steady()
        })
    };
    let reason = InspectedReason::NoWaker;
    assert_eq!(of(known(true, false)), (Verdict::Stuck, reason));
    assert_eq!(of(known(false, false)), (Verdict::MaybeStuck, reason));
    let meant = (Verdict::Waiting, InspectedReason::Unregistered);
    assert_eq!(of(LeafEvidence::MayWaitForever), meant);
    let unknown = (Verdict::Waiting, InspectedReason::Unwakeable);
    assert_eq!(of(LeafEvidence::Unknown), unknown);
    assert!(unknown.1.is_gap() && !meant.1.is_gap());
}

#[test]
fn wakers_elsewhere_do_not_help_the_leaf() {
    let evidence = InspectedEvidence {
        wakers: Some(1),
        leaf: known(true, true),
        ..steady()
    };
    let likely = (Verdict::MaybeStuck, InspectedReason::LeafWithoutWaker);
    assert_eq!(judged(&evidence), likely);
    let uncounted = InspectedEvidence {
        wakers: None,
        ..evidence
    };
    assert_eq!(judged(&uncounted).0, Verdict::Waiting);
    let own = InspectedEvidence {
        only_own_wakers: true,
        leaf: known(true, false),
        ..evidence
    };
    let likely = (Verdict::MaybeStuck, InspectedReason::OwnWaker);
    assert_eq!(judged(&own), likely);
}

#[test]
fn cycles_are_certain_if_locks_are_exclusive() {
    let of = |blocked| {
        judged(&InspectedEvidence {
            blocked,
            wakers: Some(1),
            leaf: known(true, false),
            ..steady()
        })
    };
    let cycle = |is_exclusive| of(BlockedEvidence::Cycle { is_exclusive });
    assert_eq!(cycle(true), (Verdict::Deadlock, InspectedReason::Deadlock));
    assert_eq!(
        cycle(false),
        (Verdict::MaybeStuck, InspectedReason::Deadlock)
    );
    let behind = |is_certain| of(BlockedEvidence::Behind { is_certain });
    assert_eq!(behind(true), (Verdict::Stuck, InspectedReason::Behind));
    assert_eq!(
        behind(false),
        (Verdict::MaybeStuck, InspectedReason::Behind)
    );
}

#[test]
fn a_single_inspection_proves_nothing() {
    let evidence = InspectedEvidence {
        wakers: Some(0),
        leaf: known(true, false),
        unchanged: Nanos(99_999_999),
        ..steady()
    };
    let once = (Verdict::Waiting, InspectedReason::SeenOnce);
    assert_eq!(judged(&evidence), once);
    assert!(once.1.is_gap());
}

// CT-18
#[test]
fn a_single_moment_is_enough_if_all_stood_still() {
    let of = |wakers, leaf, blocked| {
        judged(&InspectedEvidence {
            is_frozen: true,
            wakers: Some(wakers),
            leaf,
            blocked,
            ..InspectedEvidence::default()
        })
    };
    let no = BlockedEvidence::No;
    let lost = (Verdict::Stuck, InspectedReason::NoWaker);
    assert_eq!(of(0, known(true, false), no), lost);
    let cycle = BlockedEvidence::Cycle { is_exclusive: true };
    let deadlock = (Verdict::Deadlock, InspectedReason::Deadlock);
    assert_eq!(of(1, known(true, false), cycle), deadlock);
    let likely = (Verdict::MaybeStuck, InspectedReason::LeafWithoutWaker);
    assert_eq!(of(1, known(true, true), no), likely);
    assert_eq!(of(1, known(true, false), no).1, InspectedReason::Waits);
}

#[test]
fn a_single_moment_does_not_prove_that_a_call_lasts() {
    let evidence = InspectedEvidence {
        is_frozen: true,
        state: TaskState::Running,
        thread: PollingThread::InCall,
        ..InspectedEvidence::default()
    };
    let judgement = judge_inspected(&evidence, THRESHOLD);
    let found = (judgement.verdict, judgement.confidence);
    assert_eq!(found, (Verdict::Busy, Confidence::Likely));
    let notified = InspectedEvidence {
        state: TaskState::Notified,
        workers: WorkerEvidence::Parked,
        ..evidence
    };
    let queued = (Verdict::Waiting, InspectedReason::Queued);
    assert_eq!(judged(&notified), queued);
}

#[test]
fn a_blocked_worker_explains_delays() {
    let of = |state, workers, overdue| {
        judged(&InspectedEvidence {
            state,
            workers,
            overdue,
            wakers: Some(1),
            leaf: known(true, false),
            ..steady()
        })
    };
    let notified = |workers| of(TaskState::Notified, workers, None);
    let likely = (Verdict::MaybeStuck, InspectedReason::NotRun);
    let behind = (Verdict::Waiting, InspectedReason::BehindBusy);
    assert_eq!(notified(WorkerEvidence::Parked), likely);
    assert_eq!(notified(WorkerEvidence::Blocked), behind);
    assert_eq!(notified(WorkerEvidence::Active).1, InspectedReason::Queued);
    let unseen = InspectedReason::QueuedUnseen;
    assert_eq!(notified(WorkerEvidence::Unknown).1, unseen);
    let timer = |workers| of(TaskState::Idle, workers, Some(SECOND));
    let late = (Verdict::MaybeStuck, InspectedReason::Overdue);
    assert_eq!(timer(WorkerEvidence::Active), late);
    assert_eq!(timer(WorkerEvidence::Blocked), behind);
    let unseen = (Verdict::Waiting, InspectedReason::OverdueUnseen);
    assert_eq!(timer(WorkerEvidence::Unknown), unseen);
    assert!(unseen.1.is_gap());
}

#[test]
fn a_cancelled_task_is_not_about_to_run() {
    let evidence = InspectedEvidence {
        state: TaskState::Cancelled,
        ..steady()
    };
    let cancelled = (Verdict::Waiting, InspectedReason::Cancelled);
    assert_eq!(judged(&evidence), cancelled);
    assert!(!cancelled.1.is_gap());
}

#[test]
fn a_running_task_is_busy_only_in_a_call() {
    let of = |thread| {
        judged(&InspectedEvidence {
            state: TaskState::Running,
            thread,
            ..steady()
        })
    };
    let busy = (Verdict::Busy, InspectedReason::InCall);
    assert_eq!(of(PollingThread::Blocked), busy);
    assert_eq!(of(PollingThread::Runs).1, InspectedReason::Runs);
    assert_eq!(of(PollingThread::Unknown).1, InspectedReason::RunsUnseen);
    assert!(InspectedReason::RunsUnseen.is_gap());
}

#[test]
fn unknown_waits_are_gaps() {
    let unknown = InspectedEvidence {
        wakers: Some(1),
        ..steady()
    };
    assert_eq!(judged(&unknown).1, InspectedReason::StackUnknown);
    let held = LeafEvidence::Known {
        always_registers: true,
        has_no_waker: false,
        is_unsettled: false,
        is_held_by_unknown: true,
    };
    let held = InspectedEvidence {
        leaf: held,
        ..unknown
    };
    assert_eq!(judged(&held).1, InspectedReason::HolderUnknown);
    let healthy = InspectedEvidence {
        leaf: known(true, false),
        ..unknown
    };
    assert_eq!(judged(&healthy).1, InspectedReason::Waits);
    assert!(!InspectedReason::Waits.is_gap());
}

#[test]
fn coroutines_of_cpp_are_never_stuck() {
    let of = |state, may_be_freed| {
        let evidence = InspectedEvidence {
            state,
            may_be_freed,
            has_unknown_resumer: true,
            ..steady()
        };
        judged(&evidence)
    };
    let idle = of(TaskState::Idle, false);
    assert_eq!(idle, (Verdict::Waiting, InspectedReason::ResumerUnknown));
    let finished = of(TaskState::Finished, false);
    assert_eq!(finished, (Verdict::Waiting, InspectedReason::Finished));
    for state in [TaskState::Idle, TaskState::Finished] {
        let uncertain = of(state, true);
        assert_eq!(uncertain, (Verdict::Waiting, InspectedReason::MayBeFreed));
    }
    assert!(idle.1.is_gap() && !finished.1.is_gap());
}

#[test]
fn a_future_that_was_never_polled_waits() {
    let evidence = InspectedEvidence {
        state: TaskState::NotStarted,
        ..InspectedEvidence::default()
    };
    let judged = judge_inspected(&evidence, THRESHOLD);
    assert_eq!(
        (judged.verdict, judged.reason),
        (Verdict::Waiting, InspectedReason::NotStarted)
    );
    assert!(!judged.reason.is_gap());
}
