//! What is seldom meant, though nothing need be stuck for it: wakes of one's own instead of a wait,
//! runs without a wait, and waits that nobody can end. The names are those that tokio-console has.

mod never_yielded;
mod self_wakes;

use std::collections::BTreeMap;

use ctp_trace::census::{Census, Coroutine, NameId};
use ctp_trace::record::{Record, SiteId};
use ctp_trace::verdict::{Fact, THRESHOLD};
use serde::Serialize;

use crate::load::model::Model;
use crate::names::Names;
use never_yielded::SoleRuns;
use self_wakes::OwnWakes;

/// Numbers of coroutines that are kept of one finding: the lowest.
const IDS: usize = 8;

/// The sorts of findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Lint {
    /// More than half of its wakes were its own calls, each in a run before a wait.
    SelfWakes,
    /// It ran for long, from its first run to its end or to that of the recording.
    NeverYielded,
    /// It waits, and none of its wakers is left.
    LostWaker,
}

/// Coroutines of one name at one place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Of which sort.
    pub lint: Lint,
    /// The function where they wait, else their name.
    pub function: String,
    /// Its source file.
    pub file: Option<String>,
    /// Line in that file.
    pub line: Option<u32>,
    /// That is where the function begins; where in it is not known.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub in_function: bool,
    /// Where that is, also if there is no source position: where they waited, or were spawned if
    /// they never did.
    pub at: Option<String>,
    /// How many.
    pub coroutines: u64,
    /// Their ids, of many only some.
    pub ids: Vec<u32>,
    /// What is so of them.
    #[serde(flatten)]
    pub figures: Figures,
    /// Whether nothing is missing that would add to these figures.
    pub exact: bool,
}

/// The figures of a finding; those that its sort does not have are zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Figures {
    /// All wakes of them, also those that are not in the trace.
    #[serde(skip_serializing_if = "is_none")]
    pub wakes: u64,
    /// Their own, each told by a record.
    #[serde(skip_serializing_if = "is_none")]
    pub own_wakes: u64,
    /// The longest run, or the longest wait to the end.
    #[serde(skip_serializing_if = "is_none")]
    pub longest_ns: u64,
    /// How many of them still ran at the end.
    #[serde(skip_serializing_if = "is_none")]
    pub still_run: u64,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "so it is called by serde"
)]
fn is_none(figure: &u64) -> bool {
    *figure == 0
}

/// What is gathered for the lints while a trace is read.
#[derive(Debug, Default)]
pub struct Watch {
    own_wakes: OwnWakes,
    sole_runs: SoleRuns,
}

impl Watch {
    /// Takes note of a record, before the census does.
    pub fn see(&mut self, census: &Census, record: &Record) {
        match record {
            Record::Event(event) => {
                self.own_wakes.event(census, event);
                self.sole_runs.event(census, event);
            }
            Record::Deed(deed) => self.own_wakes.deed(census, deed),
            _ => {}
        }
    }
}

/// All findings but those that are allowed, by sort, those of most coroutines first.
pub fn lints(model: &Model, names: &Names, watch: Watch, allowed: &[Lint]) -> Vec<Finding> {
    let census = &model.census;
    let mut sorts = vec![(Lint::LostWaker, without_wakers(census))];
    if model.damage.is_empty() {
        sorts.push((Lint::SelfWakes, watch.own_wakes.finish(census)));
        sorts.push((Lint::NeverYielded, watch.sole_runs.finish(census)));
    }
    sorts.retain(|(lint, _)| !allowed.contains(lint));
    let named = |(lint, groups)| findings(model, names, lint, groups);
    let mut found: Vec<Finding> = sorts.into_iter().flat_map(named).collect();
    found.sort_by_key(|it| (it.lint, std::cmp::Reverse(it.coroutines)));
    found
}

/// What the rule does not call stuck may be polled by somebody who needs no waker of it.
fn without_wakers(census: &Census) -> Groups {
    let mut groups = Groups::default();
    for (id, judged) in census.judge(THRESHOLD) {
        let lost = judged.fact == Fact::NoWaker && judged.verdict.is_stuck();
        if let Some(one) = census.get(id).filter(|_| lost) {
            let site = one.suspend().map_or(one.spawn_site, |wait| wait.site);
            let figures = Figures {
                longest_ns: judged.age.0,
                ..Figures::default()
            };
            groups.add(one, site, figures, true);
        }
    }
    groups
}

/// Names that are called the same at one place are one finding.
fn findings(model: &Model, names: &Names, lint: Lint, groups: Groups) -> Vec<Finding> {
    let mut called: BTreeMap<(String, SiteId), (Vec<NameId>, Group)> = BTreeMap::new();
    for ((name, site), group) in groups.0 {
        let several = names.function_of_several(site, model.census.name(name), true);
        let (given, all) = called.entry((several, site)).or_default();
        given.push(name);
        all.merge(group);
    }
    let is_exact = model.has_all_events() && model.census.filtered() == 0;
    let finding = |((_, site), (given, group)): ((String, SiteId), (Vec<NameId>, Group))| {
        let first = given.first().copied().unwrap_or_default();
        let name = model.census.name(first);
        let function = names.function_of_several(site, name, 1 < given.len());
        let label = names.of(site).cloned().unwrap_or_default();
        Finding {
            lint,
            function,
            at: label.at(),
            file: label.file,
            line: label.line,
            in_function: label.in_function,
            coroutines: group.coroutines,
            ids: group.ids,
            figures: group.figures,
            exact: is_exact && !group.inexact,
        }
    };
    called.into_iter().map(finding).collect()
}

/// Coroutines by name and place.
#[derive(Debug, Default)]
struct Groups(BTreeMap<(NameId, SiteId), Group>);

#[derive(Debug, Default)]
struct Group {
    coroutines: u64,
    ids: Vec<u32>,
    figures: Figures,
    inexact: bool,
}

impl Groups {
    fn add(&mut self, one: &Coroutine, site: SiteId, figures: Figures, is_exact: bool) {
        let group = self.0.entry((one.name, site)).or_default();
        group.merge(Group {
            coroutines: 1,
            ids: vec![one.id.0],
            figures,
            inexact: !is_exact,
        });
    }
}

impl Group {
    fn merge(&mut self, other: Group) {
        self.coroutines += other.coroutines;
        self.ids.extend(other.ids);
        self.ids.sort_unstable();
        self.ids.truncate(IDS);
        self.figures.add(other.figures);
        self.inexact |= other.inexact;
    }
}

impl Figures {
    fn add(&mut self, more: Figures) {
        self.wakes = self.wakes.saturating_add(more.wakes);
        self.own_wakes = self.own_wakes.saturating_add(more.own_wakes);
        self.longest_ns = self.longest_ns.max(more.longest_ns);
        self.still_run += more.still_run;
    }
}
