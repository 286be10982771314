//! Decides, from inspections, whether a task is stuck. An inspection reads the memory of a running process,
//! or a core file.
//!
//! An inspection knows no history, but it knows what can still wake a task. A verdict is certain only if
//! nothing about the task changed between two inspections, or if the inspection is of a core file. The
//! memory of a core file is from a single moment.

use super::words::{Confidence, Verdict};
use super::{MIN_OBSERVATION_GAP, SURE_AFTER};
use crate::record::{Nanos, TaskState};

/// What is known of a task at the last inspection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InspectedEvidence {
    /// What the task is doing.
    pub state: TaskState,
    /// How long nothing about the task has changed: from the end of the first such inspection to the
    /// start of the last. Zero after a single inspection.
    pub unchanged: Nanos,
    /// How long the task has been in this state at every inspection.
    pub in_state: Nanos,
    /// The whole process stood still while its memory was copied into a core file, and no thread is about to
    /// wake the task. So nothing can have changed, and a single inspection is enough.
    pub is_frozen: bool,
    /// At most this many wakers are left; `None` if unknown.
    pub wakers: Option<u32>,
    /// All wakers were found, in memory that only the task itself owns.
    pub only_own_wakers: bool,
    /// The innermost futures.
    pub leaf: LeafEvidence,
    /// The other tasks that must continue first.
    pub blocked: BlockedEvidence,
    /// How long ago the earliest of the timers that wake the task was due.
    pub overdue: Option<Nanos>,
    /// The thread that polls the task.
    pub thread: PollingThread,
    /// The workers of the process.
    pub workers: WorkerEvidence,
    /// A C++20 coroutine, which has no wakers that can be counted.
    pub has_unknown_resumer: bool,
    /// The allocator does not say that the memory of the task is in use.
    pub may_be_freed: bool,
}

/// What is known of the futures that a task waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LeafEvidence {
    /// Their types are unknown.
    #[default]
    Unknown,
    /// Each of them may be meant to wait forever.
    MayWaitForever,
    /// At least one has another known type.
    Known {
        /// One of them has a type that registers a waker whenever it waits.
        always_registers: bool,
        /// One of them is known to have no waker of the task, and no other is a timer.
        has_no_waker: bool,
        /// Whether one of the futures may or may not have a waker of the task.
        is_unsettled: bool,
        /// One of them is a lock, and no task is known to hold it.
        is_held_by_unknown: bool,
    },
}

impl LeafEvidence {
    fn is_known(self) -> bool {
        matches!(self, LeafEvidence::Known { .. })
    }

    fn always_registers(self) -> bool {
        matches!(
            self,
            LeafEvidence::Known {
                always_registers: true,
                ..
            }
        )
    }

    fn has_no_waker(self) -> bool {
        matches!(
            self,
            LeafEvidence::Known {
                has_no_waker: true,
                ..
            }
        )
    }
}

/// Whether a task can continue only after others that do not continue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BlockedEvidence {
    /// Not known to be blocked.
    #[default]
    No,
    /// In a cycle of tasks that wait for each other.
    Cycle {
        /// Each lock in the cycle has a single, known holder.
        is_exclusive: bool,
    },
    /// Waits for a task that is in a cycle, or that nothing can wake.
    Behind {
        /// Every step from this task to that task is certain.
        is_certain: bool,
    },
}

/// The thread that polls a running task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PollingThread {
    /// Not known.
    #[default]
    Unknown,
    /// Known, and not blocked.
    Runs,
    /// In a core file: in a system call that usually waits. For how long is unknown.
    InCall,
    /// Blocked in the same system call at two inspections.
    Blocked,
}

/// The workers of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WorkerEvidence {
    /// No worker is known.
    #[default]
    Unknown,
    /// All workers have been parked since the first of two inspections.
    Parked,
    /// At least one worker is blocked in a call.
    Blocked,
    /// At least one worker runs or has run, and none is blocked.
    Active,
}

/// The rule's conclusion about a task or thread of an inspection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InspectedJudgement {
    /// The conclusion.
    pub verdict: Verdict,
    /// How certain the conclusion is.
    pub confidence: Confidence,
    /// Why that is the verdict.
    pub reason: InspectedReason,
}

/// Declares the reasons with their verdicts, words and descriptions.
macro_rules! reasons {
    ($($reason:ident: $verdict:ident, $word:literal, $when:literal;)*) => {
        /// The reason for a verdict on a task of an inspection.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum InspectedReason {
            $(#[doc = $when] $reason,)*
        }

        /// All reasons, in the order of the documentation.
        pub const INSPECTED_REASONS: &[InspectedReason] = &[$(InspectedReason::$reason),*];

        impl InspectedReason {
            /// The word for the reason, as printed.
            pub fn word(self) -> &'static str {
                match self {
                    $(InspectedReason::$reason => $word,)*
                }
            }

            /// The worst verdict that this reason can have.
            pub fn worst_verdict(self) -> Verdict {
                match self {
                    $(InspectedReason::$reason => Verdict::$verdict,)*
                }
            }

            /// When the reason applies.
            pub fn when(self) -> &'static str {
                match self {
                    $(InspectedReason::$reason => $when,)*
                }
            }
        }
    };
}

reasons! {
    Deadlock: Deadlock, "deadlock", "in a cycle of tasks, each of which waits for a lock that the next holds, for its end, or for room in its channel; STUCK? if a lock has several holders, if a future inside a task waits, or for room";
    NoWaker: Stuck, "no-waker", "no waker is left, and the innermost future is of a type that always registers a waker; STUCK? for other known types";
    Behind: Stuck, "behind", "can continue only after a task that is STUCK or in a DEADLOCK; STUCK? if that or a lock is doubtful";
    LeafWithoutWaker: MaybeStuck, "leaf-without-waker", "an innermost future has no waker of the task, though wakers exist elsewhere";
    OwnWaker: MaybeStuck, "self-waker", "all wakers are in memory that only the task itself owns";
    Overdue: MaybeStuck, "overdue", "the timer was due before the first inspection, and no worker is blocked";
    NotRun: MaybeStuck, "not-run", "woken, and not run between two inspections while all workers were parked";
    InCall: Busy, "in-call", "its thread is blocked in the same system call at both inspections; LIKELY for a core file: its thread is in a system call that usually waits";
    Unregistered: Waiting, "unregistered", "no waker is left, and the innermost future may be meant to wait forever";
    Unwakeable: Waiting, "unwakeable", "no waker is left, and the type of the innermost future is unknown";
    SeenOnce: Waiting, "seen-once", "a single inspection, or two that are too close, cannot show that nothing changes";
    HolderUnknown: Waiting, "holder-unknown", "waits for a lock, and no task is known to hold it";
    BehindBusy: Waiting, "behind-busy", "ready or due, and a worker is blocked in a call";
    OverdueUnseen: Waiting, "overdue-unseen", "the timer is due, and no worker is known";
    Cancelled: Waiting, "cancelled", "cancelled, and not dropped yet";
    Queued: Waiting, "queued", "woken, and may be about to run";
    QueuedUnseen: Waiting, "queued-unseen", "woken, not run between two inspections, and no worker is known";
    Runs: Waiting, "runs", "polled by a known thread that is not blocked, or not at every inspection";
    RunsUnseen: Waiting, "runs-unseen", "polled at every inspection, and the thread is unknown";
    LeafUnknown: Waiting, "leaf-unknown", "it is unknown whether an innermost future has a waker, and wakers may be left";
    StackUnknown: Waiting, "stack-unknown", "what it waits for is unknown, and wakers may be left";
    ResumerUnknown: Waiting, "resumer-unknown", "a C++20 coroutine, and what can resume it is not known";
    Finished: Waiting, "finished", "a C++20 coroutine or a boxed future that has run to its end, and was not destroyed";
    NotStarted: Waiting, "not-started", "a boxed future that was never polled";
    MayBeFreed: Waiting, "may-be-freed", "a C++20 coroutine or a boxed future, and the allocator does not say that its memory is in use";
    Ignored: Waiting, "ignored", "the verdict would be worse, but `--ignore` hides it";
    Waits: Waiting, "waits", "nothing shows that it cannot be woken";
}

impl InspectedJudgement {
    /// The judgement of a task that the user ignores.
    pub fn ignored(self) -> Self {
        if !self.verdict.is_stuck() && self.verdict != Verdict::Busy {
            return self;
        }
        InspectedJudgement {
            verdict: Verdict::Waiting,
            confidence: Confidence::Open,
            reason: InspectedReason::Ignored,
        }
    }
}

impl InspectedReason {
    /// Whether a hang could look the same, so that a check cannot succeed.
    pub fn is_gap(self) -> bool {
        matches!(
            self,
            InspectedReason::Unwakeable
                | InspectedReason::SeenOnce
                | InspectedReason::HolderUnknown
                | InspectedReason::BehindBusy
                | InspectedReason::OverdueUnseen
                | InspectedReason::QueuedUnseen
                | InspectedReason::RunsUnseen
                | InspectedReason::LeafUnknown
                | InspectedReason::StackUnknown
                | InspectedReason::ResumerUnknown
                | InspectedReason::MayBeFreed
        )
    }
}

/// Applies the rule to a task. `threshold` is how long a timer must be overdue, and how long a lock must
/// be awaited without a known holder, before that counts.
pub fn judge_inspected(evidence: &InspectedEvidence, threshold: Nanos) -> InspectedJudgement {
    let (verdict, reason) = decide(evidence, threshold);
    let confidence = match evidence.thread {
        PollingThread::InCall if verdict == Verdict::Busy => Confidence::Likely,
        _ => verdict.confidence(),
    };
    InspectedJudgement {
        verdict,
        confidence,
        reason,
    }
}

type Decision = (Verdict, InspectedReason);

fn decide(evidence: &InspectedEvidence, threshold: Nanos) -> Decision {
    if evidence.may_be_freed {
        return (Verdict::Waiting, InspectedReason::MayBeFreed);
    }
    match evidence.state {
        TaskState::Finished => (Verdict::Waiting, InspectedReason::Finished),
        TaskState::NotStarted => (Verdict::Waiting, InspectedReason::NotStarted),
        TaskState::Cancelled => (Verdict::Waiting, InspectedReason::Cancelled),
        TaskState::Idle if evidence.has_unknown_resumer => {
            (Verdict::Waiting, InspectedReason::ResumerUnknown)
        }
        TaskState::Idle => idle(evidence, threshold),
        TaskState::Notified => notified(evidence),
        TaskState::Running => running(evidence),
    }
}

fn idle(evidence: &InspectedEvidence, threshold: Nanos) -> Decision {
    let is_steady = evidence.is_frozen || MIN_OBSERVATION_GAP <= evidence.unchanged;
    let suspicion = certain(evidence)
        .or_else(|| likely(evidence))
        .or_else(|| overdue(evidence, threshold));
    match suspicion {
        Some(decision) if is_steady => decision,
        Some(_) => (Verdict::Waiting, InspectedReason::SeenOnce),
        None => (Verdict::Waiting, waiting_reason(evidence, threshold)),
    }
}

/// What proves that an unchanged task is stuck.
fn certain(evidence: &InspectedEvidence) -> Option<Decision> {
    if evidence.blocked == (BlockedEvidence::Cycle { is_exclusive: true }) {
        return Some((Verdict::Deadlock, InspectedReason::Deadlock));
    }
    if evidence.wakers == Some(0) && evidence.leaf.always_registers() {
        return Some((Verdict::Stuck, InspectedReason::NoWaker));
    }
    if evidence.blocked == (BlockedEvidence::Behind { is_certain: true }) {
        return Some((Verdict::Stuck, InspectedReason::Behind));
    }
    None
}

/// What makes it likely that an unchanged task is stuck.
fn likely(evidence: &InspectedEvidence) -> Option<Decision> {
    let has_wakers = evidence.wakers.is_some_and(|wakers| 0 < wakers);
    let reason = if matches!(evidence.blocked, BlockedEvidence::Cycle { .. }) {
        InspectedReason::Deadlock
    } else if evidence.wakers == Some(0) && evidence.leaf.is_known() {
        InspectedReason::NoWaker
    } else if matches!(evidence.blocked, BlockedEvidence::Behind { .. }) {
        InspectedReason::Behind
    } else if has_wakers && evidence.leaf.has_no_waker() {
        InspectedReason::LeafWithoutWaker
    } else if has_wakers && evidence.only_own_wakers {
        InspectedReason::OwnWaker
    } else {
        return None;
    };
    Some((Verdict::MaybeStuck, reason))
}

/// A timer that was due and did not fire. A blocked worker delays timers.
fn overdue(evidence: &InspectedEvidence, threshold: Nanos) -> Option<Decision> {
    let is_overdue = threshold <= evidence.overdue?;
    let is_free = matches!(
        evidence.workers,
        WorkerEvidence::Parked | WorkerEvidence::Active
    );
    (is_overdue && is_free).then_some((Verdict::MaybeStuck, InspectedReason::Overdue))
}

/// Why an idle task gets no bad verdict.
fn waiting_reason(evidence: &InspectedEvidence, threshold: Nanos) -> InspectedReason {
    let is_overdue = evidence.overdue.is_some_and(|overdue| threshold <= overdue);
    match (evidence.wakers, evidence.leaf) {
        (Some(0), LeafEvidence::MayWaitForever) => InspectedReason::Unregistered,
        (Some(0), _) => InspectedReason::Unwakeable,
        (None, LeafEvidence::MayWaitForever) => InspectedReason::Waits,
        (_, LeafEvidence::Unknown) => InspectedReason::StackUnknown,
        _ if is_overdue && evidence.workers == WorkerEvidence::Blocked => {
            InspectedReason::BehindBusy
        }
        _ if is_overdue => InspectedReason::OverdueUnseen,
        (
            _,
            LeafEvidence::Known {
                is_held_by_unknown: true,
                ..
            },
        ) if evidence.is_frozen || threshold.min(SURE_AFTER) <= evidence.unchanged => {
            InspectedReason::HolderUnknown
        }
        (
            _,
            LeafEvidence::Known {
                is_unsettled: true, ..
            },
        ) => InspectedReason::LeafUnknown,
        _ => InspectedReason::Waits,
    }
}

fn notified(evidence: &InspectedEvidence) -> Decision {
    let is_steady = MIN_OBSERVATION_GAP <= evidence.unchanged;
    match evidence.workers {
        WorkerEvidence::Parked if is_steady => (Verdict::MaybeStuck, InspectedReason::NotRun),
        WorkerEvidence::Blocked => (Verdict::Waiting, InspectedReason::BehindBusy),
        WorkerEvidence::Unknown if is_steady => (Verdict::Waiting, InspectedReason::QueuedUnseen),
        _ => (Verdict::Waiting, InspectedReason::Queued),
    }
}

fn running(evidence: &InspectedEvidence) -> Decision {
    let is_running_throughout = MIN_OBSERVATION_GAP <= evidence.in_state;
    match evidence.thread {
        PollingThread::Blocked | PollingThread::InCall => (Verdict::Busy, InspectedReason::InCall),
        PollingThread::Unknown if is_running_throughout => {
            (Verdict::Waiting, InspectedReason::RunsUnseen)
        }
        _ => (Verdict::Waiting, InspectedReason::Runs),
    }
}
