//! Cycles of coroutines of which each waits for the next one: all of a cycle, and what proves it.

use std::collections::{BTreeMap, BTreeSet};

use ctp_trace::record::{CoroutineId, Nanos, Wake};
use ctp_trace::trace_model::{Blocker, Blocks, Coroutine};
use ctp_trace::verdict::{Caveat, Judgement, Reason};
use serde::Serialize;

use super::Context;
use crate::evidence::blockers::{self, KeptBy};
use crate::evidence::proof::{self, Step};
use crate::evidence::{Member, resource};
use crate::load::Model;
use crate::names::{Label, Names};

/// One cycle.
#[derive(Clone, Debug, Serialize)]
pub struct Deadlock {
    /// The verdict, as a word.
    pub verdict: &'static str,
    /// How sure it is, as a word.
    pub confidence: &'static str,
    /// Why it is not certain, as a word.
    pub caveat: Option<&'static str>,
    /// How long ago the last of them began to wait.
    pub since_ns: u64,
    /// Each waits for the next one, and the last for the first.
    pub cycle: Vec<Link>,
    /// Those that wait for one of them, or for one that does.
    pub behind: Vec<u32>,
    /// The records that prove it, in the order of time.
    pub proof: Vec<Step>,
    /// What was judged, of the first of them.
    #[serde(skip)]
    pub judged: Judgement,
    /// Why it is not certain.
    #[serde(skip)]
    pub doubted: Option<Caveat>,
}

/// One of a cycle.
#[derive(Clone, Debug, Serialize)]
pub struct Link {
    /// Which coroutine.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// The function where it waits.
    pub function: Option<String>,
    /// File and line where it waits, or what is known instead.
    pub at: Option<String>,
    /// What it waits for.
    pub waits_for: String,
    /// For how long.
    pub waits_ns: u64,
    /// How long ago it was woken, if the next one would have to poll it since.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub woken_ns: Option<u64>,
    /// Who keeps it: the next one.
    pub kept_by: Vec<KeptBy>,
    /// The place, to look up more.
    #[serde(skip)]
    pub site: ctp_trace::record::SiteId,
}

/// Those that nobody asked not to be told of, what is certain first.
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
    let of_it = cycle.iter().filter_map(|id| judged.get(id));
    let (judgement, caveat) = of_it.clone().find_map(|judgement| match judgement.reason {
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
        since_ns: of_it
            .map(|other_judgement| other_judgement.age.0)
            .min()
            .unwrap_or_default(),
        cycle: members.iter().map(|member| link(context, member)).collect(),
        behind: context.behind.those(cycle.iter().copied()),
        proof: proof(context, &members, caveat),
        judged: judgement,
        doubted: caveat,
    })
}

fn link(context: &Context, coroutine: &Coroutine) -> Link {
    let Context {
        model,
        names,
        blocks,
        ..
    } = context;
    let wait = coroutine.suspend().copied().unwrap_or_default();
    let label = names.of(wait.site);
    let end = model.trace_model.end_of(coroutine.process);
    Link {
        id: coroutine.id.0,
        name: blockers::name(model, names, coroutine.id, None),
        function: label.and_then(|label| label.function.clone()),
        at: label.and_then(Label::at),
        waits_for: match coroutine.suspend() {
            Some(wait) => resource::of(model, wait),
            None => "nothing: it keeps its thread".to_owned(),
        },
        waits_ns: coroutine
            .waits
            .wants_since
            .max(coroutine.runs_since().unwrap_or_default())
            .until(end)
            .0,
        woken_ns: unpolled(blocks, coroutine).map(|wake| coroutine.wakes.at(&wake).until(end).0),
        kept_by: blockers::of(model, names, blocks, coroutine),
        site: wait.site,
    }
}

/// The wake since which its host has not polled it.
fn unpolled(blocks: &Blocks, coroutine: &Coroutine) -> Option<Wake> {
    let by = &blocks.of(coroutine.id)?.by;
    let is_hosted = matches!(by[..], [Blocker::Host(_)]);
    coroutine.wakes.word.filter(|_| is_hosted)
}

/// Of each that others wait for in the end: those.
pub struct Behind(BTreeMap<CoroutineId, Vec<u32>>);

impl Behind {
    /// As all were judged.
    pub fn of(members: &[Member]) -> Self {
        let mut behind = BTreeMap::<_, Vec<u32>>::new();
        for (coroutine, judged) in members {
            if let Reason::Behind { root, .. } = judged.reason {
                behind.entry(root).or_default().push(coroutine.id.0);
            }
        }
        Behind(behind)
    }

    /// Those that wait for one of these.
    pub fn those(&self, roots: impl Iterator<Item = CoroutineId>) -> Vec<u32> {
        let waits = roots.filter_map(|root| self.0.get(&root));
        let all: BTreeSet<u32> = waits.flatten().copied().collect();
        all.into_iter().collect()
    }
}

/// What each took and did not give back, what each waits for since then, and the end.
fn proof(context: &Context, members: &[&Coroutine], caveat: Option<Caveat>) -> Vec<Step> {
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
        steps.extend(wait.map(|step| Step { by, ..step }));
        steps.extend(
            unpolled(&context.blocks, coroutine).and_then(|_| woken(model, names, coroutine)),
        );
    }
    steps.sort_by_key(|step| step.at_ns);
    let since = steps.first().map_or(Nanos(0), |step| Nanos(step.at_ns));
    steps.extend(end(context, members, since, caveat));
    steps
}

fn woken(model: &Model, names: &Names, coroutine: &Coroutine) -> Option<Step> {
    let step = proof::wake(model, names, coroutine)?;
    let what = format!("{}, of id {}", step.what, coroutine.id.0);
    Some(Step { what, ..step })
}

fn taken(model: &Model, names: &Names, coroutine: &Coroutine, blocker: &Blocker) -> Option<Step> {
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
) -> Option<Step> {
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
    let wake = match members
        .iter()
        .any(|member| unpolled(&context.blocks, member).is_some())
    {
        true => "",
        false => "no wake, ",
    };
    let what = format!("{wake}no run, nothing given back since; {losses}");
    Some(proof::at_the_end(context.model, worst, what))
}
