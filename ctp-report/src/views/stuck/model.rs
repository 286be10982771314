//! Groups of coroutines that have the same verdict for the same reason at the same place.

mod causes;
pub mod deadlocks;
mod evidence;
mod group_verdict;
mod members;
pub mod parents;
mod place;
mod relations;
mod stops;
pub mod usual;

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;

use ctp_trace::model::{Blocks, Closing, Coroutine, Levels};
use ctp_trace::record::{CoroutineId, SiteId};
use ctp_trace::verdict::{Basis, Fact, Judgement, Reason, Verdict};
use serde::Serialize;

use crate::config::StuckView;
use crate::config::filter::Filter;
use crate::evidence::Member;
use crate::evidence::busy_threads::BusyThreads;
use crate::evidence::ignored;
use crate::evidence::leaf_wait::Children;
use crate::evidence::selection::is_admitted;
use crate::evidence::thread_inspections::ThreadInspection;
use crate::load::Model;
use crate::names::call_stacks::CallStacks;
use crate::names::{Label, Names, duplicates};
use crate::text::units;
use crate::views::stuck::model::deadlocks::Behind;

pub use evidence::GroupEvidence;
pub use group_verdict::GroupVerdict;
pub use members::Members;
pub use place::GroupPlace;
pub use relations::{Relation, Relations};
use stops::{Headline, Stops};

/// Coroutines that share verdict, fact, reason and place.
#[derive(Clone, Debug, Serialize)]
pub struct Group {
    /// Where the coroutines are.
    #[serde(flatten)]
    pub place: GroupPlace,
    /// The coroutines, and what they wait for.
    #[serde(flatten)]
    pub members: Members,
    /// Their common verdict.
    #[serde(flatten)]
    pub group_verdict: GroupVerdict,
    /// What supports the verdict.
    #[serde(flatten)]
    pub evidence: GroupEvidence,
}

/// What groups and cycles are built from: the trace, and what other coroutines did that concerns
/// the members.
pub struct Context<'m> {
    model: &'m Model,
    names: &'m Names,
    closings: BTreeMap<CoroutineId, Closing>,
    blocks: Blocks,
    levels: Levels,
    behind: Behind,
    busy: BusyThreads,
    children: Children,
    /// Where the threads of busy coroutines are.
    inspections: BTreeMap<CoroutineId, ThreadInspection>,
    stacks: &'m CallStacks,
}

type Key = (
    Verdict,
    Fact,
    &'static str,
    SiteId,
    String,
    Option<(String, String)>,
);

/// Judges all live coroutines. A coroutine that the user ignores never gets a bad verdict.
pub fn members<'m>(model: &'m Model, names: &Names, view: &StuckView) -> Vec<Member<'m>> {
    ignored::members(model, names, view.threshold, &view.ignore)
}

/// The coroutines that the filter admits. Not a copy if these are all, since there may be many.
pub fn admitted<'a, 'm>(
    model: &Model,
    names: &Names,
    all: &'a [Member<'m>],
    filter: &Filter,
) -> Cow<'a, [Member<'m>]> {
    if filter.is_empty() {
        return Cow::Borrowed(all);
    }
    let members = all.iter().copied();
    let members = members.filter(|member| is_admitted(model, names, member, filter));
    Cow::Owned(members.collect())
}

/// Groups the coroutines: the worst verdict first, and causes before victims.
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
    let relations = Relations::of(&groups);
    let stops = Stops::of(&context.model.trace_model, &groups);
    groups.sort_by_key(|group| group.rank(relations.of_group(group), &stops));
    causes::put_first(&context.model.trace_model, &mut groups);
    groups
}

impl<'m> Context<'m> {
    /// Creates the context of a trace and all its judged coroutines.
    pub fn of(model: &'m Model, names: &'m Names, stacks: &'m CallStacks, all: &[Member]) -> Self {
        Context {
            model,
            names,
            closings: model.trace_model.closings(),
            blocks: model.trace_model.blocks(),
            levels: model.trace_model.levels(),
            behind: Behind::of(all),
            busy: BusyThreads::of(all.iter().copied()),
            children: Children::of(&model.trace_model),
            inspections: inspections(model, names, stacks, all),
            stacks,
        }
    }

    /// Where the thread of a busy coroutine is, if that is known.
    fn inspection_of(&self, coroutine: &Coroutine) -> Option<&ThreadInspection> {
        self.inspections.get(&coroutine.id)
    }

    /// The place in the program where a busy coroutine is, if that is known.
    fn busy_place(&self, coroutine: &Coroutine) -> Option<Label> {
        let name = self.model.trace_model.name(coroutine.name);
        self.inspection_of(coroutine)?.place(self.names, name)
    }
}

fn inspections(
    model: &Model,
    names: &Names,
    stacks: &CallStacks,
    all: &[Member],
) -> BTreeMap<CoroutineId, ThreadInspection> {
    let busy = all
        .iter()
        .filter(|(_, judgement)| judgement.verdict == Verdict::Busy);
    busy.filter_map(|(coroutine, _)| {
        let inspection = ThreadInspection::of(model, names, stacks, coroutine)?;
        Some((coroutine.id, inspection))
    })
    .collect()
}

/// Marks groups that differ only in their source column, so that the page shows the column.
fn mark_duplicates(groups: &mut [Group]) {
    duplicates::mark(
        groups,
        |group| (group.place.at(), group.place.code.function.clone()),
        |group| group.place.code.column,
        |group| &mut group.place.code,
    );
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
        busy_key(context, coroutine),
    )
}

/// What distinguishes busy coroutines: where their threads are, and what the threads do.
fn busy_key(context: &Context, coroutine: &Coroutine) -> Option<(String, String)> {
    let inspection = context.inspection_of(coroutine)?;
    let place = context.busy_place(coroutine);
    let at = place.and_then(|label| label.at()).unwrap_or_default();
    Some((inspection.describe(), at))
}

fn group(context: &Context, members: &[Member]) -> Group {
    let place = GroupPlace::of(context, members);
    Group {
        members: Members::of(context, members, &place.code.function),
        group_verdict: GroupVerdict::of(context.model, members),
        evidence: GroupEvidence::of(context, members),
        place,
    }
}

/// Returns the member that has waited longest. A group is never empty.
fn oldest<'a>(members: &[Member<'a>]) -> Member<'a> {
    let first = members[0];
    members
        .iter()
        .skip(1)
        .fold(first, |a, b| if a.1.age < b.1.age { *b } else { a })
}

/// Counts the coroutines of several groups.
pub fn count(groups: &[&Group]) -> usize {
    groups.iter().map(|group| group.members.count).sum()
}

impl Group {
    /// Whether the coroutines belong to a deadlock cycle, which has its own section.
    pub fn is_of_a_cycle(&self) -> bool {
        matches!(self.group_verdict.judged.reason, Reason::Deadlock { .. })
    }

    /// Whether busy threads alone may explain the verdict: the verdict rests only on elapsed time,
    /// and other coroutines blocked the threads for at least 90 % of that time.
    pub fn is_delayed_by_busy_threads(&self) -> bool {
        let blockers = &self.evidence.thread_blockers;
        let delayed: usize = blockers.iter().map(|blocker| blocker.count).sum();
        self.group_verdict.is_by_time()
            && self.members.count == delayed
            && blockers
                .iter()
                .all(|blocker| self.members.oldest_ns / 10 * 9 <= blocker.runs_ns)
    }

    /// Whether a busy thread may be the cause: as above, or because nothing in the process continues while the
    /// thread is blocked.
    pub fn is_explained_by_busy_threads(&self) -> bool {
        let is_general = matches!(self.group_verdict.judged.reason, Reason::NoProgress(_));
        is_general && !self.evidence.thread_blockers.is_empty() || self.is_delayed_by_busy_threads()
    }

    /// The count and the function: `3 x read_frame`.
    pub fn title(&self) -> String {
        let count = units::grouped(self.members.count as u64);
        format!("{count} x {}", self.place.code.function)
    }

    /// The verdict of all members.
    pub fn verdict(&self) -> Verdict {
        self.group_verdict.judged.verdict
    }

    /// The sort key: the worst verdict first. Groups that are stuck by themselves come before groups that
    /// wait for a stuck coroutine, and before groups of which only the length of the wait is known.
    /// Verdicts with a headline for each fact and reason are sorted by headlines too. Of stuck groups,
    /// and of headlines that rest on elimination, those that stopped growing first come first: what caused a stop no
    /// longer changes, while its victims still accumulate. Other groups are sorted by their relation to the
    /// stuck groups, then by size.
    fn rank(&self, relation: Relation, stops: &Stops) -> impl Ord + use<> {
        let verdict = self.verdict();
        let separate = verdict < Verdict::Unknown;
        let is_by_elimination = self.is_by_elimination();
        let is_behind = !self.evidence.roots.is_empty() && !stops.is_holder(self);
        let is_judged_by_length = is_by_elimination && verdict.is_stuck();
        (
            (verdict, is_behind, is_by_elimination),
            is_judged_by_length.then(|| stops.of_headline(self)),
            separate.then_some(self.headline()),
            verdict.is_stuck().then(|| stops.of_group(self)),
            relation,
            Reverse(self.members.count),
        )
    }

    /// Whether the verdict rests on what usually happens, or on the silence of the whole process.
    fn is_by_elimination(&self) -> bool {
        let reason = self.group_verdict.judged.reason;
        reason.describe().basis == Basis::Length || matches!(reason, Reason::NoProgress(_))
    }

    /// What groups below one headline have in common.
    fn headline(&self) -> Headline {
        (self.group_verdict.judged.fact, self.group_verdict.reason)
    }
}
