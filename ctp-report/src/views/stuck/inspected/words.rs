//! The sentences that explain verdicts on inspected tasks.

use ctp_trace::verdict::Verdict;
use ctp_trace::verdict::inspected::{InspectedJudgement, InspectedReason};

/// Why the tasks have their verdict. A core file is a single inspection.
pub fn why(judgement: InspectedJudgement, is_core_file: bool) -> String {
    let idle = if is_core_file {
        "idle"
    } else {
        "idle in every inspection"
    };
    let lost = "nothing can wake them: no waker is left (the runtime's own count, exact)";
    match (judgement.reason, judgement.verdict) {
        (InspectedReason::NoWaker, Verdict::Stuck) => format!(
            "{lost}, {idle}; the future they await always registers a waker, so it was lost"
        ),
        (InspectedReason::NoWaker, _) => {
            format!("{lost}, {idle}; the future they await keeps none")
        }
        (InspectedReason::Behind, _) => {
            "they can continue only after tasks that are stuck: see \"behind\"".to_owned()
        }
        (InspectedReason::LeafWithoutWaker, _) => format!(
            "the future they await has no waker of theirs, {idle}; only what is named below can still \
             wake them"
        ),
        (InspectedReason::OwnWaker, _) => {
            format!("all of their wakers are in memory that only the tasks themselves own, {idle}")
        }
        (InspectedReason::Overdue, _) => {
            "their timers were due before the first inspection and have not fired; no worker is blocked"
                .to_owned()
        }
        (InspectedReason::NotRun, _) => {
            "they were woken and are not run, though all workers are parked".to_owned()
        }
        _ => "nothing about them changed between the inspections".to_owned(),
    }
}

/// Why waiting tasks with this reason are listed separately. `None` if they wait as usual.
pub fn waiting(reason: InspectedReason) -> Option<&'static str> {
    Some(match reason {
        InspectedReason::Unregistered => {
            "nothing can wake them; the future they await may be meant to wait forever"
        }
        InspectedReason::Unwakeable => {
            "nothing can wake them; build with debug = 2 to see whether that is meant"
        }
        InspectedReason::SeenOnce => "they look stuck, but a second look is needed to say",
        InspectedReason::HolderUnknown => "the holder of the lock they wait for is not known",
        InspectedReason::BehindBusy => "they are ready or due, and a worker is blocked: see BUSY",
        InspectedReason::OverdueUnseen => {
            "their timers are due and have not fired; no worker of theirs is known"
        }
        InspectedReason::Cancelled => "cancelled, and not dropped yet",
        InspectedReason::Queued => "woken, about to run",
        InspectedReason::QueuedUnseen => "woken, and not run; no worker of theirs is known",
        InspectedReason::Runs => "running",
        InspectedReason::RunsUnseen => "running in every inspection; the thread is not known",
        InspectedReason::StackUnknown => {
            "what they wait for is not known; build with debug = 2, or inspect with ctp-record --debug-dir"
        }
        InspectedReason::ResumerUnknown => "nothing is known about what can resume them",
        InspectedReason::Finished => "they have run to their end, and nothing has dropped them yet",
        InspectedReason::NotStarted => "they were never polled",
        InspectedReason::MayBeFreed => {
            "they may be freed: the allocator does not say that their memory is in use"
        }
        InspectedReason::Ignored => "ignored by --ignore",
        _ => return None,
    })
}
