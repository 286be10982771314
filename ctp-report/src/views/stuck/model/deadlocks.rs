//! Deadlock cycles: coroutines of which each waits for the next, and the proof.

use std::collections::{BTreeMap, BTreeSet};

use ctp_trace::model::{Blocker, Blocks, Coroutine};
use ctp_trace::record::{CoroutineId, Nanos, Wake};
use ctp_trace::verdict::{Caveat, Judgement, Reason};
use serde::Serialize;

use super::Context;
use crate::evidence::blockers::{self, ShownBlocker};
use crate::evidence::proof::{self, ProofStep};
use crate::evidence::{Member, resource};
use crate::load::Model;
use crate::names::{Label, Names};

/// A deadlock cycle.
#[derive(Clone, Debug, Serialize)]
pub struct Deadlock {
    /// The verdict, as a word.
    pub verdict: &'static str,
    /// The confidence of the verdict, as a word.
    pub confidence: &'static str,
    /// Why the verdict is not certain, as a word.
    pub caveat: Option<&'static str>,
    /// How long ago the last coroutine of the cycle began to wait.
    pub since_ns: u64,
    /// The coroutines. Each waits for the next, and the last waits for the first.
    pub cycle: Vec<CycleMember>,
    /// Ids of other coroutines that wait for the cycle, directly or through others.
    pub blocks: Vec<u32>,
    /// The records that prove the cycle, by time.
    pub proof: Vec<ProofStep>,
    /// The judgement of the first coroutine.
    #[serde(skip)]
    pub judged: Judgement,
    /// Why the verdict is not certain.
    #[serde(skip)]
    pub doubted: Option<Caveat>,
}

/// A coroutine of a cycle.
#[derive(Clone, Debug, Serialize)]
pub struct CycleMember {
    /// The coroutine's id.
    pub id: u32,
    /// The coroutine's name.
    pub name: String,
    /// The function in which the coroutine waits.
    pub function: Option<String>,
    /// The file and line of the wait, or the best known substitute.
    pub at: Option<String>,
    /// The resource that the coroutine waits for.
    pub waits_for: String,
    /// How long the coroutine has waited.
    pub waits_ns: u64,
    /// How long ago the coroutine was woken, if the next coroutine has to poll this coroutine and
    /// has not done so since.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub woken_ns: Option<u64>,
    /// The coroutines that block this coroutine, among them the next of the cycle.
    pub blockers: Vec<ShownBlocker>,
    /// The site of the wait, for the source excerpt.
    #[serde(skip)]
    pub site: ctp_trace::record::SiteId,
}

/// The cycles to which any of these coroutines belongs.
pub fn of_members(mut deadlocks: Vec<Deadlock>, members: &[Member]) -> Vec<Deadlock> {
    let ids: BTreeSet<u32> = members
        .iter()
        .map(|(coroutine, _)| coroutine.id.0)
        .collect();
    deadlocks.retain(|deadlock| deadlock.cycle.iter().any(|link| ids.contains(&link.id)));
    deadlocks
}

/// Returns the cycles that are not ignored, certain cycles first.
pub fn deadlocks(context: &Context, members: &[Member]) -> Vec<Deadlock> {
    let judged: BTreeMap<CoroutineId, Judgement> = members
        .iter()
        .map(|(coroutine, judgement)| (coroutine.id, *judgement))
        .collect();
    let cycles = context.blocks.cycles().iter();
    let mut all: Vec<Deadlock> = cycles
        .filter_map(|cycle| deadlock(context, cycle, &judged))
        .collect();
    all.sort_by_key(|deadlock| (deadlock.judged.verdict, deadlock.cycle[0].id));
    all
}

fn deadlock(
    context: &Context,
    cycle: &[CoroutineId],
    judged: &BTreeMap<CoroutineId, Judgement>,
) -> Option<Deadlock> {
    let judgements = cycle.iter().filter_map(|id| judged.get(id));
    let (judgement, caveat) = judgements
        .clone()
        .find_map(|judgement| match judgement.reason {
            Reason::Deadlock { caveat } => Some((*judgement, caveat)),
            _ => None,
        })?;
    let members = cycle
        .iter()
        .filter_map(|id| context.model.trace_model.get(*id));
    let members: Vec<&Coroutine> = members.collect();
    Some(Deadlock {
        verdict: judgement.verdict.word(),
        confidence: judgement.confidence.word(),
        caveat: caveat.map(Caveat::word),
        since_ns: judgements
            .map(|judgement| judgement.age.0)
            .min()
            .unwrap_or_default(),
        cycle: members.iter().map(|member| link(context, member)).collect(),
        blocks: context.behind.of_roots(cycle.iter().copied()),
        proof: proof(context, &members, caveat),
        judged: judgement,
        doubted: caveat,
    })
}

fn link(context: &Context, coroutine: &Coroutine) -> CycleMember {
    let Context {
        model,
        names,
        blocks,
        ..
    } = context;
    let wait = coroutine.suspend().copied().unwrap_or_default();
    let label = names.of(wait.site);
    let end = model.trace_model.end_of(coroutine.process);
    CycleMember {
        id: coroutine.id.0,
        name: blockers::name(model, names, coroutine.id, None),
        function: label.and_then(|label| label.function.clone()),
        at: label.and_then(Label::at),
        waits_for: match coroutine.suspend() {
            Some(wait) => resource::of(model, wait),
            None => "nothing: it blocks its thread".to_owned(),
        },
        waits_ns: coroutine
            .waits
            .wants_since
            .max(coroutine.runs_since().unwrap_or_default())
            .until(end)
            .0,
        woken_ns: unpolled(blocks, coroutine).map(|wake| coroutine.wakes.at(&wake).until(end).0),
        blockers: blockers::of(model, names, blocks, coroutine),
        site: wait.site,
    }
}

/// Returns the last wake of a nested coroutine that its host has not polled since that wake.
fn unpolled(blocks: &Blocks, coroutine: &Coroutine) -> Option<Wake> {
    let by = &blocks.of(coroutine.id)?.by;
    let is_hosted = matches!(by[..], [Blocker::Host(_)]);
    coroutine.wakes.word.filter(|_| is_hosted)
}

/// By stuck coroutine: the ids of the coroutines that wait for it, directly or through others.
pub struct Behind(BTreeMap<CoroutineId, Vec<u32>>);

impl Behind {
    /// Collects the waiting coroutines from all judgements.
    pub fn of(members: &[Member]) -> Self {
        let mut behind = BTreeMap::<_, Vec<u32>>::new();
        for (coroutine, judged) in members {
            if let Reason::Behind { root, .. } = judged.reason {
                behind.entry(root).or_default().push(coroutine.id.0);
            }
        }
        Behind(behind)
    }

    /// Returns the ids of all coroutines that wait for one of `roots`, sorted.
    pub fn of_roots(&self, roots: impl Iterator<Item = CoroutineId>) -> Vec<u32> {
        let waits = roots.filter_map(|root| self.0.get(&root));
        let all: BTreeSet<u32> = waits.flatten().copied().collect();
        all.into_iter().collect()
    }
}

/// Collects the proof: each lock that was acquired and not released, each wait since then, and the end.
fn proof(context: &Context, members: &[&Coroutine], caveat: Option<Caveat>) -> Vec<ProofStep> {
    let Context { model, names, .. } = *context;
    let mut steps = Vec::new();
    for coroutine in members {
        let block = context.blocks.of(coroutine.id);
        let blockers_of = block.into_iter().flat_map(|block| &block.by);
        steps.extend(blockers_of.filter_map(|blocker| taken(model, names, coroutine, blocker)));
        let wait = coroutine
            .suspend()
            .map(|wait| proof::event(model, names, wait));
        let by = format!("id {}", coroutine.id.0);
        steps.extend(wait.map(|step| ProofStep { by, ..step }));
        steps.extend(
            unpolled(&context.blocks, coroutine).and_then(|_| woken(model, names, coroutine)),
        );
    }
    steps.sort_by_key(|step| step.at_ns);
    let since = steps.first().map_or(Nanos(0), |step| Nanos(step.at_ns));
    steps.extend(end(context, members, since, caveat));
    steps
}

fn woken(model: &Model, names: &Names, coroutine: &Coroutine) -> Option<ProofStep> {
    let step = proof::wake(model, names, coroutine)?;
    let what = format!("{}, of id {}", step.what, coroutine.id.0);
    Some(ProofStep { what, ..step })
}

fn taken(
    model: &Model,
    names: &Names,
    coroutine: &Coroutine,
    blocker: &Blocker,
) -> Option<ProofStep> {
    let Blocker::Holder(holding) = blocker else {
        return None;
    };
    Some(proof::hold(model, names, coroutine, holding, "acquire"))
}

fn end(
    context: &Context,
    members: &[&Coroutine],
    since: Nanos,
    caveat: Option<Caveat>,
) -> Option<ProofStep> {
    let worst = members.iter().max_by_key(|member| {
        (
            member.account.uncertain,
            member.account.inexact,
            member.account.lost(),
        )
    })?;
    let losses = match caveat {
        Some(Caveat::Incomplete) => proof::missing(context.model, worst, since),
        _ => proof::losses(context.model, worst),
    };
    let wake = if members
        .iter()
        .any(|member| unpolled(&context.blocks, member).is_some())
    {
        ""
    } else {
        "no wake, "
    };
    let what = format!("{wake}no run, no release since; {losses}");
    Some(proof::at_the_end(context.model, worst, what))
}
