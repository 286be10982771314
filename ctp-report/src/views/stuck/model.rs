//! Coroutines of the same verdict for the same reason at the same place, counted together.

pub mod deadlocks;
mod evidence;
mod group_verdict;
mod members;
pub mod parents;
mod place;
pub mod usual;

use std::collections::BTreeMap;

use ctp_trace::record::{CoroutineId, SiteId};
use ctp_trace::trace_model::{Blocks, Closing, Coroutine};
use ctp_trace::verdict::{Fact, Judgement, Reason, Verdict};
use serde::Serialize;

use crate::config::StuckView;
use crate::config::ignore::Ignore;
use crate::evidence::Member;
use crate::evidence::busy_threads::{Busy, ThreadKeptBy};
use crate::load::Model;
use crate::names::{Names, duplicates};
use crate::text::{self, units};
use crate::views::stuck::model::deadlocks::Behind;

pub use evidence::Evidence;
pub use group_verdict::GroupVerdict;
pub use members::Members;
pub use place::Place;

/// Coroutines that share verdict, fact, reason and place.
#[derive(Clone, Debug, Serialize)]
pub struct Group {
    /// Where they are.
    #[serde(flatten)]
    pub place: Place,
    /// Which ones, and what they wait for.
    #[serde(flatten)]
    pub members: Members,
    /// What the rule says of them.
    #[serde(flatten)]
    pub group_verdict: GroupVerdict,
    /// What else is known, and what proves it.
    #[serde(flatten)]
    pub evidence: Evidence,
}

/// Where groups and cycles are looked up: the trace, and what others did that concerns their members.
pub struct Context<'m> {
    model: &'m Model,
    names: &'m Names,
    closings: BTreeMap<CoroutineId, Closing>,
    blocks: Blocks,
    behind: Behind,
    busy: Busy,
}

type Key = (Verdict, Fact, &'static str, SiteId, String);

/// All coroutines that are not over. Of those that are to be ignored nothing bad is said.
pub fn members<'m>(model: &'m Model, names: &Names, view: &StuckView) -> Vec<Member<'m>> {
    let judged = crate::evidence::members(&model.trace_model, view.threshold);
    let member = |(coroutine, judgement): Member<'m>| match is_ignored(
        model,
        names,
        coroutine,
        &view.ignore,
    ) {
        true => (coroutine, judgement.ignored()),
        false => (coroutine, judgement),
    };
    judged.map(member).collect()
}

/// Coroutines in groups: the worst first, then the largest.
pub fn groups(context: &Context, all: &[Member]) -> Vec<Group> {
    let mut members: BTreeMap<Key, Vec<Member>> = BTreeMap::new();
    for (coroutine, judgement) in all {
        let key = key(context, coroutine, judgement);
        members
            .entry(key)
            .or_default()
            .push((*coroutine, *judgement));
    }
    let groups = members.values().map(|members| group(context, members));
    let mut groups: Vec<Group> = groups.collect();
    mark_duplicates(&mut groups);
    groups.sort_by_key(Group::rank);
    groups
}

impl<'m> Context<'m> {
    /// Of all that were judged.
    pub fn of(model: &'m Model, names: &'m Names, all: &[Member]) -> Self {
        Context {
            model,
            names,
            closings: model.trace_model.closings(),
            blocks: model.trace_model.blocks(),
            behind: Behind::of(all),
            busy: Busy::of(all.iter().copied()),
        }
    }
}

/// Marks those that would look the same without their columns.
fn mark_duplicates(groups: &mut [Group]) {
    let look = |group: &Group| (group.place.at(), group.place.code.function.clone());
    duplicates::mark(
        groups,
        look,
        |group| group.place.code.column,
        |group| &mut group.place.code,
    );
}

fn is_ignored(model: &Model, names: &Names, coroutine: &Coroutine, ignore: &Ignore) -> bool {
    let site = model.trace_model.place_of(coroutine);
    let function = names.function(site, model.trace_model.name(coroutine.name));
    let at = names.at(site);
    ignore.is_of(&function, at.as_deref())
}

fn key(context: &Context, coroutine: &Coroutine, judgement: &Judgement) -> Key {
    let Context { model, names, .. } = *context;
    let site = model.trace_model.place_of(coroutine);
    let name = names.name_of_row(model, site, coroutine);
    (
        judgement.verdict,
        judgement.fact,
        judgement.reason.word(),
        site,
        name,
    )
}

fn group(context: &Context, members: &[Member]) -> Group {
    let place = Place::of(context, members);
    Group {
        members: Members::of(context, members, &place.code.function),
        group_verdict: GroupVerdict::of(context.model, members),
        evidence: Evidence::of(context, members),
        place,
    }
}

/// Of a group, which is never empty.
fn oldest<'a>(members: &[Member<'a>]) -> Member<'a> {
    let first = members[0];
    members
        .iter()
        .skip(1)
        .fold(first, |a, b| if a.1.age < b.1.age { *b } else { a })
}

/// How many coroutines are in these groups.
pub fn coroutines(groups: &[&Group]) -> usize {
    groups.iter().map(|group| group.members.count).sum()
}

impl Group {
    /// Whether they are told cycle by cycle.
    pub fn is_of_a_cycle(&self) -> bool {
        matches!(self.group_verdict.judged.reason, Reason::Deadlock { .. })
    }

    /// Whether they may be listed only since others keep their threads: nothing but the time that
    /// they take speaks against them, and nearly all of that time it is so.
    pub fn is_kept_up(&self) -> bool {
        let blockers = &self.evidence.thread_kept_by;
        let kept: usize = blockers.iter().map(|blocker| blocker.count).sum();
        let is_long = |thread_kept_by: &ThreadKeptBy| {
            self.members.oldest_ns / 10 * 9 <= thread_kept_by.runs_ns
        };
        self.group_verdict.is_of_time()
            && self.members.count == kept
            && blockers.iter().all(is_long)
    }

    /// `3 x read_frame`: how many, and what they are called.
    pub fn title(&self) -> String {
        let count = units::grouped(self.members.count as u64);
        format!(
            "{count} x {}",
            text::cut_middle(&self.place.code.function, 40)
        )
    }

    /// The verdict.
    pub fn verdict(&self) -> Verdict {
        self.group_verdict.judged.verdict
    }

    /// The worst first, by fact where each has its own headline, then the largest. Those that are
    /// stuck behind others come after these.
    fn rank(&self) -> impl Ord + use<> {
        let Judgement { verdict, fact, .. } = self.group_verdict.judged;
        let separate = verdict < Verdict::Unknown;
        (
            verdict,
            !self.evidence.roots.is_empty(),
            separate.then_some((fact, self.group_verdict.reason)),
            std::cmp::Reverse(self.members.count),
        )
    }
}
