//! Coroutines of the same verdict for the same reason at the same place, counted together.

use std::collections::{BTreeMap, BTreeSet};

use ctp_trace::census::{Blocks, Closing, Coroutine};
use ctp_trace::record::{CoroutineId, SiteId};
use ctp_trace::verdict::{Doubt, Fact, Judgement, Reason, Verdict};
use serde::Serialize;

use crate::config::StuckView;
use crate::config::ignore::Ignore;
use crate::figures::busy::{Busy, ThreadKeptBy};
use crate::figures::culprits::{self, ClosedBy, Losses, LostRecords, UsualWaker};
use crate::figures::deadlocks::Behind;
use crate::figures::keepers::{self, KeptBy};
use crate::figures::last_waker::{self, LastWaker};
use crate::figures::parents::{self, Spawner};
use crate::figures::proof::{self, Proof};
use crate::figures::usual::{self, Usual};
use crate::figures::waits::{self, WaitsFor};
use crate::model::Model;
use crate::names::Names;
use crate::names::label::{self, Label};
use crate::names::twins;

/// Coroutines that share verdict, fact, reason and place.
#[derive(Clone, Debug, Serialize)]
pub struct Group {
    /// The function where they are, else their name: `conn-*` of several that are numbered.
    pub function: String,
    /// Its source file.
    pub file: Option<String>,
    /// Line in that file.
    pub line: Option<u32>,
    /// That is where the function begins; where in it is not known.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub in_function: bool,
    /// Column in that line.
    pub column: Option<u32>,
    /// Module and offset, where there is no source position.
    pub module: Option<String>,
    /// The function of a library in which it waits there, as far as that was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
    /// Who awaits what waits there, as far as that was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub awaited_by: Option<AwaitedBy>,
    /// Where they were spawned.
    pub spawned: Option<Spawned>,
    /// Who spawned them, as far as those were coroutines and are known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub spawned_by: Vec<Spawner>,
    /// How many.
    pub count: usize,
    /// The fact, as a word.
    pub state: &'static str,
    /// The verdict, as a word.
    pub verdict: &'static str,
    /// How sure it is, as a word.
    pub confidence: &'static str,
    /// The reason, as a word.
    pub reason: &'static str,
    /// Why it is not certain though what the oldest of them waits for was closed, as a word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub doubt: Option<&'static str>,
    /// The longest that one of them has been in this state.
    pub oldest_ns: u64,
    /// The shortest.
    pub youngest_ns: u64,
    /// Their ids.
    pub ids: Vec<u32>,
    /// Names that the program gave them, each once, unless they are called so in any case.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// What they wait for.
    pub waits_for: Vec<WaitsFor>,
    /// The oldest of them may wait for something else too, of which nothing is told.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub one_of_several: bool,
    /// On which threads they were last seen.
    pub threads: Vec<u64>,
    /// Events of theirs that are lost.
    pub lost: u64,
    /// The last wake of one of them came within a millisecond of the start of its last run.
    pub close_call: bool,
    /// That they were not woken rests on counts that can be trusted.
    #[serde(skip)]
    pub wakes_exact: bool,
    /// What is usual where they wait.
    pub usual: Option<Usual>,
    /// Where what they wait for was closed, as far as that was told.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub closed_by: Vec<ClosedBy>,
    /// Who keeps the oldest of them, as far as that was told.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kept_by: Vec<KeptBy>,
    /// How many others keep the rest of them.
    #[serde(skip_serializing_if = "is_zero")]
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
    #[serde(skip_serializing_if = "is_zero")]
    pub last_wakers_besides: usize,
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
    /// Another group would look the same without its column.
    #[serde(skip)]
    pub is_twin: bool,
    /// The place, to look up more.
    #[serde(skip)]
    pub site: SiteId,
    /// Verdict, fact and what was judged, of the oldest of them.
    #[serde(skip)]
    pub judged: (Verdict, Fact, Judgement),
}

/// The functions that await each other, the innermost first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AwaitedBy {
    /// Each awaits the one before, the first what waits.
    pub functions: Vec<Awaiter>,
    /// The last of them is what was spawned; else there are more.
    pub whole: bool,
    /// What was spawned, behind those that are not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spawned: Option<Awaiter>,
    /// The same in words.
    #[serde(skip)]
    pub words: Vec<String>,
}

/// A function that awaits another one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Awaiter {
    /// What it is called, if known.
    pub function: Option<String>,
    /// Its source file.
    pub file: Option<String>,
    /// Where it awaits.
    pub line: Option<u32>,
    /// Column in that line.
    pub column: Option<u32>,
}

/// Where coroutines were spawned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Spawned {
    /// The function that spawned them, if known.
    pub function: Option<String>,
    /// Its file and line, or what is known instead.
    pub at: String,
}

/// A coroutine that is not over, and what the rule says of it.
pub type Member<'a> = (&'a Coroutine, Judgement);

/// What others did that concerns members of a group.
struct Others {
    closings: BTreeMap<CoroutineId, Closing>,
    blocks: Blocks,
    behind: Behind,
    busy: Busy,
}

type Key = (Verdict, Fact, &'static str, SiteId, String);

/// All coroutines that are not over. Of those that are to be ignored nothing bad is said.
pub fn members<'m>(model: &'m Model, names: &Names, view: &StuckView) -> Vec<Member<'m>> {
    let judged = model.census.judge(view.threshold).into_iter();
    let member = |(id, judgement): (CoroutineId, Judgement)| {
        let one = model.census.get(id)?;
        let judgement = match is_ignored(model, names, one, &view.ignore) {
            true => judgement.ignored(),
            false => judgement,
        };
        Some((one, judgement))
    };
    judged.filter_map(member).collect()
}

/// The same, grouped: the worst first, then the largest.
pub fn groups(model: &Model, names: &Names, all: &[Member]) -> Vec<Group> {
    let mut members: BTreeMap<Key, Vec<Member>> = BTreeMap::new();
    for (one, judgement) in all {
        let key = key(model, names, one, judgement);
        members.entry(key).or_default().push((*one, *judgement));
    }
    let others = Others {
        closings: model.census.closings(),
        blocks: model.census.blocks(),
        behind: Behind::of(all),
        busy: Busy::of(all.iter().copied()),
    };
    let make = |(key, members): (&Key, &Vec<Member>)| group(model, names, key, members, &others);
    let mut groups: Vec<Group> = members.iter().map(make).collect();
    let look = |group: &Group| (group.at(), group.function.clone());
    let twins = twins::twins(&groups, look, |group| group.column);
    for (group, is_twin) in groups.iter_mut().zip(twins) {
        group.is_twin = is_twin;
    }
    groups.sort_by_key(Group::rank);
    groups
}

fn is_ignored(model: &Model, names: &Names, one: &Coroutine, ignore: &Ignore) -> bool {
    let site = model.census.place_of(one);
    let function = names.function(site, model.census.name(one.name));
    let at = names.of(site).and_then(Label::at);
    ignore.is_of(&function, at.as_deref())
}

fn key(model: &Model, names: &Names, one: &Coroutine, judgement: &Judgement) -> Key {
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

fn group(model: &Model, names: &Names, key: &Key, members: &[Member], others: &Others) -> Group {
    let (verdict, fact, reason, site, _) = *key;
    let label = names.of(site).cloned().unwrap_or_default();
    let awaited_by = awaited_by(names, site, &label);
    let ages = || members.iter().map(|(_, judgement)| judgement.age);
    let oldest = oldest(members);
    let close_call = members.iter().any(|(_, judgement)| judgement.close_call);
    let function = names.of_all(model, site, members.iter().map(|(one, _)| *one));
    Group {
        names: given_names(model, names, members, &function),
        function,
        file: label.file,
        line: label.line,
        in_function: label.in_function,
        column: label.column,
        module: label.module,
        within: label.within,
        awaited_by,
        spawned: spawned(names, oldest.0.spawn_site),
        spawned_by: parents::of(model, names, members.iter().map(|(one, _)| *one)),
        count: members.len(),
        state: fact.word(),
        verdict: verdict.word(),
        confidence: verdict.confidence().word(),
        reason,
        doubt: doubt(&oldest.1),
        oldest_ns: ages().max().unwrap_or_default().0,
        youngest_ns: ages().min().unwrap_or_default().0,
        ids: members.iter().map(|(one, _)| one.id.0).collect(),
        waits_for: waits::waits_for(model, suspends(members)),
        one_of_several: oldest.0.suspend().is_some_and(|it| it.marks.one_of_several),
        threads: threads(members),
        lost: members
            .iter()
            .fold(0, |sum: u64, (one, _)| sum.saturating_add(one.lost())),
        close_call,
        wakes_exact: !close_call
            && matches!(fact, Fact::NotWoken | Fact::NoWaker)
            && model.is_readable(),
        usual: usual::usual(model, oldest.0),
        closed_by: culprits::closed_by(
            model,
            names,
            &others.closings,
            members.iter().map(|(one, _)| *one),
        ),
        kept_by: keepers::of(model, names, &others.blocks, oldest.0),
        kept_by_others: keepers::besides(
            &others.blocks,
            oldest.0,
            members.iter().map(|(one, _)| *one),
        ),
        thread_kept_by: (others.busy).keepers(model, names, members.iter().map(|(one, _)| *one)),
        roots: roots(members),
        behind: others.behind.those(members.iter().map(|(one, _)| one.id)),
        usual_waker: culprits::usual_waker(model, names, oldest.0),
        last_waker: last_waker::of(model, names, oldest.0),
        last_wakers_besides: last_waker::besides(oldest.0, members.iter().map(|(one, _)| *one)),
        lost_records: culprits::lost_records(model, oldest.0, verdict),
        lost_meanwhile: culprits::lost_meanwhile(model, oldest.0, verdict),
        ready_ns: proof::ready_ns(model, members),
        proof: proof::of(
            model,
            names,
            oldest.0,
            &oldest.1,
            others.closings.get(&oldest.0.id),
            others.blocks.of(oldest.0.id),
        ),
        is_twin: false,
        site,
        judged: (verdict, fact, oldest.1),
    }
}

/// The names that they were given, in the order of their ids.
fn given_names(model: &Model, names: &Names, members: &[Member], called: &str) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let fresh = members.iter().filter(|(one, _)| seen.insert(one.name));
    let given = fresh.filter_map(|(one, _)| names.given(model.census.name(one.name)));
    let given: Vec<String> = given.collect();
    let is_told = |name: &String| name == called || label::numbered(name) == called;
    match given.iter().all(is_told) {
        true => Vec::new(),
        false => given,
    }
}

fn doubt(judgement: &Judgement) -> Option<&'static str> {
    judgement.reason.doubt().map(Doubt::word)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "that is how serde asks")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

fn roots(members: &[Member]) -> Vec<u32> {
    let root = |(_, it): &Member| match it.reason {
        Reason::Behind { root, .. } => Some(root.0),
        _ => None,
    };
    let roots: BTreeSet<u32> = members.iter().filter_map(root).collect();
    roots.into_iter().collect()
}

fn oldest<'a>(members: &[Member<'a>]) -> Member<'a> {
    let first = members[0];
    members
        .iter()
        .skip(1)
        .fold(first, |a, b| if a.1.age < b.1.age { *b } else { a })
}

fn suspends<'a>(members: &[Member<'a>]) -> impl Iterator<Item = &'a ctp_trace::record::Event> {
    members.iter().filter_map(|(one, _)| one.suspend())
}

fn threads(members: &[Member]) -> Vec<u64> {
    let mut threads: Vec<u64> = members
        .iter()
        .filter_map(|(one, _)| one.last)
        .map(|last| last.tid)
        .collect();
    threads.sort_unstable();
    threads.dedup();
    threads
}

fn spawned(names: &Names, site: SiteId) -> Option<Spawned> {
    let label = names.of(site)?;
    Some(Spawned {
        function: label.function.clone(),
        at: label.at()?,
    })
}

fn awaited_by(names: &Names, site: SiteId, label: &Label) -> Option<AwaitedBy> {
    let awaits = names.awaits(site)?;
    let one = |it: &Label| Awaiter {
        function: it.function.clone(),
        file: it.file.clone(),
        line: it.line,
        column: it.column,
    };
    Some(AwaitedBy {
        functions: awaits.frames.iter().map(one).collect(),
        whole: awaits.is_whole,
        spawned: awaits.outermost.as_ref().map(one),
        words: awaits.describe(label.file.as_deref()),
    })
}

impl Group {
    /// File and line, or what is known instead.
    pub fn at(&self) -> String {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => {
                twins::place((file, line), self.in_function, self.column, self.is_twin)
            }
            _ => self
                .module
                .clone()
                .unwrap_or_else(|| "(place not recorded)".to_owned()),
        }
    }

    /// Whether anything is known of where they are.
    pub fn is_placed(&self) -> bool {
        self.file.is_some() && self.line.is_some() || self.module.is_some()
    }

    /// Whether they are told cycle by cycle.
    pub fn is_of_a_cycle(&self) -> bool {
        matches!(self.judged.2.reason, Reason::Deadlock { .. })
    }

    /// Whether they may be listed only since others keep their threads: nothing but the time that
    /// they take speaks against them, and nearly all of that time it is so.
    pub fn is_kept_up(&self) -> bool {
        let is_of_time = matches!(
            self.judged.2.reason,
            Reason::FarBeyond
                | Reason::BeyondLives(_)
                | Reason::Silent
                | Reason::Overdue(_)
                | Reason::Overlooked(_)
                | Reason::PassedOver { .. }
        );
        let kept: usize = self.thread_kept_by.iter().map(|it| it.count).sum();
        let is_long = |it: &ThreadKeptBy| self.oldest_ns / 10 * 9 <= it.runs_ns;
        is_of_time && self.count == kept && self.thread_kept_by.iter().all(is_long)
    }

    /// The verdict.
    pub fn verdict(&self) -> Verdict {
        self.judged.0
    }
}

impl Group {
    /// The worst first, by fact where each has its own headline, then the largest. Those that are
    /// stuck behind others come after these.
    fn rank(
        &self,
    ) -> (
        Verdict,
        bool,
        Option<(Fact, &'static str)>,
        std::cmp::Reverse<usize>,
    ) {
        let (verdict, fact, _) = self.judged;
        let apart = verdict < Verdict::Unknown;
        (
            verdict,
            !self.roots.is_empty(),
            apart.then_some((fact, self.reason)),
            std::cmp::Reverse(self.count),
        )
    }
}
