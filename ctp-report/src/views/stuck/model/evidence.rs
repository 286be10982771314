//! What supports the verdict of a group: usual waits, what other coroutines did, and the proof.

use std::collections::BTreeSet;

use ctp_trace::verdict::Reason;
use serde::Serialize;

use super::{Context, oldest};
use crate::evidence::blockers::{self, ShownBlocker};
use crate::evidence::busy_threads::ThreadBlocker;
use crate::evidence::coroutine_stacks::{self, WaitCalls};
use crate::evidence::joiners;
use crate::evidence::last_waker::{self, LastWaker};
use crate::evidence::missing_wakes::{self, ClosedBy, Losses, LostThreadRecords};
use crate::evidence::proof::{self, Proof};
use crate::evidence::thread_inspections::ThreadInspection;
use crate::evidence::usual_waker::{self, UsualWaker};
use crate::evidence::{Member, is_default};
use crate::load::Model;
use crate::views::stuck::model::usual::{self, Usual};

/// What is known of the coroutines around a group, and of the members' past.
#[derive(Clone, Debug, Serialize)]
pub struct GroupEvidence {
    /// The usual waits at the place of the group.
    pub usual: Option<Usual>,
    /// Where the resources that the members wait for were closed, if recorded.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub closed_by: Vec<ClosedBy>,
    /// The coroutines that block the oldest member, if recorded.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub blockers: Vec<ShownBlocker>,
    /// How many other coroutines block the other members.
    #[serde(skip_serializing_if = "is_default")]
    pub other_blockers: usize,
    /// The busy coroutines on the threads where members last ran.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub thread_blockers: Vec<ThreadBlocker>,
    /// Where the thread of the oldest member is, by inspections.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<ThreadInspection>,
    /// Where the oldest member waits, if it waits on a stack of its own that was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stack: Option<WaitCalls>,
    /// Ids of the stuck coroutines that the members wait for, directly or through others.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub roots: Vec<u32>,
    /// Ids of the coroutines that wait for a member, directly or through others.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub blocks: Vec<u32>,
    /// Ids of coroutines that spawned stuck members and wait for the end of a task, probably of a
    /// member.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub joined_by: Vec<u32>,
    /// The usual waker at the place of the group, if recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usual_waker: Option<UsualWaker>,
    /// Whether the wait is quiet, and all coroutines that ended such waits have ended.
    #[serde(skip_serializing_if = "is_default")]
    pub wakers_ended: bool,
    /// The coroutine that last woke the oldest member.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_waker: Option<LastWaker>,
    /// How many other coroutines last woke the other members.
    #[serde(skip_serializing_if = "is_default")]
    pub other_last_wakers: usize,
    /// The records that threads lost during the wait, if these losses make the verdict UNKNOWN.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lost_records: Vec<LostThreadRecords>,
    /// The sum of these lost records.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost_meanwhile: Option<Losses>,
    /// The longest time that a member has been ready without running. Set only if the time of the
    /// wake is known for every member.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready_ns: Option<u64>,
    /// The records that prove the verdict of the oldest member.
    pub proof: Proof,
}

impl GroupEvidence {
    /// Collects the evidence of `members`, which share a verdict.
    pub(super) fn of(context: &Context, members: &[Member]) -> Self {
        let Context { model, names, .. } = *context;
        let all = || members.iter().map(|(coroutine, _)| *coroutine);
        let (oldest, judged) = oldest(members);
        let lost = missing_wakes::lost_meanwhile(model, oldest, judged.verdict);
        let (lost_meanwhile, lost_records) = lost.unzip();
        let lost_records = lost_records.unwrap_or_default();
        GroupEvidence {
            usual: usual::usual(model, &context.levels, oldest),
            closed_by: missing_wakes::closed_by(model, names, &context.closings, all()),
            blockers: blockers::of(model, names, &context.blocks, oldest),
            other_blockers: blockers::others(&context.blocks, oldest, all()),
            thread_blockers: context.busy.thread_blockers(model, names, all()),
            thread: context.inspection_of(oldest).cloned(),
            stack: coroutine_stacks::calls(model, names, context.stacks, (oldest, judged)),
            roots: roots(members),
            blocks: context.behind.of_roots(all().map(|coroutine| coroutine.id)),
            joined_by: joined_by(model, members),
            usual_waker: usual_waker::of(model, names, oldest),
            wakers_ended: matches!(judged.reason, Reason::Quiet(_))
                && model.trace_model.have_wakers_ended(oldest, &context.levels),
            last_waker: last_waker::of(model, names, oldest),
            other_last_wakers: last_waker::others(oldest, all()),
            lost_records,
            lost_meanwhile,
            ready_ns: proof::ready_ns(model, members),
            proof: context.proof(super::oldest(members)),
        }
    }
}

impl Context<'_> {
    /// The proof of the verdict on a coroutine.
    pub fn proof(&self, (coroutine, judgement): Member) -> Proof {
        proof::of(
            self.model,
            self.names,
            coroutine,
            &judgement,
            self.closings.get(&coroutine.id),
            self.blocks.of(coroutine.id),
            self.inspection_of(coroutine),
        )
    }
}

fn joined_by(model: &Model, members: &[Member]) -> Vec<u32> {
    let stuck = members
        .iter()
        .filter(|(_, judgement)| judgement.verdict.is_stuck());
    joiners::of(&model.trace_model, stuck.map(|(coroutine, _)| *coroutine))
}

fn roots(members: &[Member]) -> Vec<u32> {
    let roots: BTreeSet<u32> = members
        .iter()
        .filter_map(|(_, judgement)| match judgement.reason {
            Reason::Behind { root, .. } => Some(root.0),
            _ => None,
        })
        .collect();
    roots.into_iter().collect()
}
