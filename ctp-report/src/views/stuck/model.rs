//! Coroutines of the same verdict for the same reason at the same place, counted together.

pub mod deadlocks;
mod evidence;
mod members;
pub mod parents;
mod place;
mod ruling;
pub mod usual;

use std::collections::BTreeMap;

use ctp_trace::census::{Blocks, Closing, Coroutine};
use ctp_trace::record::{CoroutineId, SiteId};
use ctp_trace::verdict::{Fact, Judgement, Reason, Verdict};
use serde::Serialize;

use crate::config::StuckView;
use crate::config::ignore::Ignore;
use crate::evidence::Member;
use crate::evidence::busy_threads::{Busy, ThreadKeptBy};
use crate::load::Model;
use crate::names::{Names, twins};
use crate::text::{self, units};
use crate::views::stuck::model::deadlocks::Behind;

pub use evidence::Evidence;
pub use members::Members;
pub use place::Place;
pub use ruling::Ruling;

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
    pub ruling: Ruling,
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
    let judged = crate::evidence::members(&model.census, view.threshold);
    let member = |(one, judgement): Member<'m>| match is_ignored(model, names, one, &view.ignore) {
        true => (one, judgement.ignored()),
        false => (one, judgement),
    };
    judged.map(member).collect()
}

/// Coroutines in groups: the worst first, then the largest.
pub fn groups(context: &Context, all: &[Member]) -> Vec<Group> {
    let mut members: BTreeMap<Key, Vec<Member>> = BTreeMap::new();
    for (one, judgement) in all {
        let key = key(context, one, judgement);
        members.entry(key).or_default().push((*one, *judgement));
    }
    let groups = members.values().map(|members| group(context, members));
    let mut groups: Vec<Group> = groups.collect();
    tell_twins(&mut groups);
    groups.sort_by_key(Group::rank);
    groups
}

impl<'m> Context<'m> {
    /// Of all that were judged.
    pub fn of(model: &'m Model, names: &'m Names, all: &[Member]) -> Self {
        Context {
            model,
            names,
            closings: model.census.closings(),
            blocks: model.census.blocks(),
            behind: Behind::of(all),
            busy: Busy::of(all.iter().copied()),
        }
    }
}

/// Marks those that would look the same without their columns.
fn tell_twins(groups: &mut [Group]) {
    let look = |group: &Group| (group.place.at(), group.place.code.function.clone());
    twins::mark(
        groups,
        look,
        |group| group.place.code.column,
        |group| &mut group.place.code,
    );
}

fn is_ignored(model: &Model, names: &Names, one: &Coroutine, ignore: &Ignore) -> bool {
    let site = model.census.place_of(one);
    let function = names.function(site, model.census.name(one.name));
    let at = names.at(site);
    ignore.is_of(&function, at.as_deref())
}

fn key(context: &Context, one: &Coroutine, judgement: &Judgement) -> Key {
    let Context { model, names, .. } = *context;
    let site = model.census.place_of(one);
    let name = names.of_its_row(model, site, one);
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
        ruling: Ruling::of(context.model, members),
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
        matches!(self.ruling.judged.reason, Reason::Deadlock { .. })
    }

    /// Whether they may be listed only since others keep their threads: nothing but the time that
    /// they take speaks against them, and nearly all of that time it is so.
    pub fn is_kept_up(&self) -> bool {
        let keepers = &self.evidence.thread_kept_by;
        let kept: usize = keepers.iter().map(|it| it.count).sum();
        let is_long = |it: &ThreadKeptBy| self.members.oldest_ns / 10 * 9 <= it.runs_ns;
        self.ruling.is_of_time() && self.members.count == kept && keepers.iter().all(is_long)
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
        self.ruling.judged.verdict
    }

    /// The worst first, by fact where each has its own headline, then the largest. Those that are
    /// stuck behind others come after these.
    fn rank(&self) -> impl Ord + use<> {
        let Judgement { verdict, fact, .. } = self.ruling.judged;
        let apart = verdict < Verdict::Unknown;
        (
            verdict,
            !self.evidence.roots.is_empty(),
            apart.then_some((fact, self.ruling.reason)),
            std::cmp::Reverse(self.members.count),
        )
    }
}
