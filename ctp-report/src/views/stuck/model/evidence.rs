//! What there is beside a verdict: what is usual, what others did, and what proves it.

use std::collections::BTreeSet;

use ctp_trace::verdict::Reason;
use serde::Serialize;

use super::{Context, oldest};
use crate::evidence::blockers::{self, KeptBy};
use crate::evidence::busy_threads::ThreadKeptBy;
use crate::evidence::last_waker::{self, LastWaker};
use crate::evidence::missing_wakes::{self, ClosedBy, Losses, LostRecords, UsualWaker};
use crate::evidence::proof::{self, Proof};
use crate::evidence::{Member, is_default};
use crate::views::stuck::model::usual::{self, Usual};

/// What is known of those around the coroutines of a group, and of what they did before.
#[derive(Clone, Debug, Serialize)]
pub struct Evidence {
    /// What is usual where they wait.
    pub usual: Option<Usual>,
    /// Where what they wait for was closed, as far as that was told.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub closed_by: Vec<ClosedBy>,
    /// Who keeps the oldest of them, as far as that was told.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kept_by: Vec<KeptBy>,
    /// How many others keep the rest of them.
    #[serde(skip_serializing_if = "is_default")]
    pub kept_by_others: usize,
    /// Who keeps the threads on which they were last seen.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub thread_kept_by: Vec<ThreadKeptBy>,
    /// Those that are stuck, and after which these go on only.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub roots: Vec<u32>,
    /// Those that go on only after one of these, which is stuck.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub behind: Vec<u32>,
    /// Who usually wakes those that wait there, as far as that was told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usual_waker: Option<UsualWaker>,
    /// The coroutine that woke the oldest of them the last time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_waker: Option<LastWaker>,
    /// How many other coroutines did that of the rest of them.
    #[serde(skip_serializing_if = "is_default")]
    pub other_last_wakers: usize,
    /// Records that threads lost while these waited, where that is why nothing can be said.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lost_records: Vec<LostRecords>,
    /// How many they were in all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost_meanwhile: Option<Losses>,
    /// The longest that one of them has been ready without being run, if they were woken and it is
    /// known when, of each.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready_ns: Option<u64>,
    /// The records that prove it of the oldest of them.
    pub proof: Proof,
}

impl Evidence {
    /// Of these, which all have one verdict.
    pub(super) fn of(context: &Context, members: &[Member]) -> Self {
        let Context { model, names, .. } = *context;
        let all = || members.iter().map(|(coroutine, _)| *coroutine);
        let (oldest, judged) = oldest(members);
        let lost = missing_wakes::lost_meanwhile(model, oldest, judged.verdict);
        let (lost_meanwhile, lost_records) = lost.unzip();
        let lost_records = lost_records.unwrap_or_default();
        Evidence {
            usual: usual::usual(model, oldest),
            closed_by: missing_wakes::closed_by(model, names, &context.closings, all()),
            kept_by: blockers::of(model, names, &context.blocks, oldest),
            kept_by_others: blockers::others(&context.blocks, oldest, all()),
            thread_kept_by: context.busy.thread_blockers(model, names, all()),
            roots: roots(members),
            behind: context.behind.those(all().map(|coroutine| coroutine.id)),
            usual_waker: missing_wakes::usual_waker(model, names, oldest),
            last_waker: last_waker::of(model, names, oldest),
            other_last_wakers: last_waker::others(oldest, all()),
            lost_records,
            lost_meanwhile,
            ready_ns: proof::ready_ns(model, members),
            proof: proof(context, members),
        }
    }
}

fn proof(context: &Context, members: &[Member]) -> Proof {
    let (oldest, judgement) = oldest(members);
    proof::of(
        context.model,
        context.names,
        oldest,
        &judgement,
        context.closings.get(&oldest.id),
        context.blocks.of(oldest.id),
    )
}

fn roots(members: &[Member]) -> Vec<u32> {
    let root = |(_, judgement): &Member| match judgement.reason {
        Reason::Behind { root, .. } => Some(root.0),
        _ => None,
    };
    let roots: BTreeSet<u32> = members.iter().filter_map(root).collect();
    roots.into_iter().collect()
}
