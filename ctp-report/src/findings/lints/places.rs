//! The coroutines that a lint is about, by name and place.

use std::collections::BTreeMap;

use ctp_trace::record::SiteId;
use ctp_trace::trace_model::{Coroutine, NameId};
use serde::Serialize;

use super::Lint;
use crate::evidence::is_default;
use crate::load::Model;
use crate::names::Names;

/// Ids that are kept of one place: the lowest.
const IDS: usize = 8;

/// Coroutines of one name at one place.
#[derive(Clone, Debug, Serialize)]
pub struct LintPlace {
    /// Which lint.
    pub lint: &'static Lint,
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

/// The figures of a place; those that its lint does not have are zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Figures {
    /// All wakes of them, also those that are not in the trace.
    #[serde(skip_serializing_if = "is_default")]
    pub wakes: u64,
    /// Their own, each told by a record.
    #[serde(skip_serializing_if = "is_default")]
    pub own_wakes: u64,
    /// The longest run, or the longest wait to the end.
    #[serde(skip_serializing_if = "is_default")]
    pub longest_ns: u64,
    /// How many of them still ran at the end.
    #[serde(skip_serializing_if = "is_default")]
    pub still_run: u64,
}

/// Names that are called the same at one place are one row.
pub fn named(model: &Model, names: &Names, lint: &'static Lint, groups: Groups) -> Vec<LintPlace> {
    let mut called: BTreeMap<(String, SiteId), (Vec<NameId>, Group)> = BTreeMap::new();
    for ((name, site), group) in groups.0 {
        let several = names.function_of_several(site, model.trace_model.name(name), true);
        let (given, all) = called.entry((several, site)).or_default();
        given.push(name);
        all.merge(group);
    }
    let is_exact = model.has_all_events() && model.trace_model.totals().filtered == 0;
    let place = |((_, site), (given, group)): ((String, SiteId), (Vec<NameId>, Group))| {
        let first = given.first().copied().unwrap_or_default();
        let name = model.trace_model.name(first);
        let function = names.function_of_several(site, name, 1 < given.len());
        let label = names.of(site).cloned().unwrap_or_default();
        LintPlace {
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
    called.into_iter().map(place).collect()
}

/// Coroutines by name and place.
#[derive(Debug, Default)]
pub struct Groups(pub BTreeMap<(NameId, SiteId), Group>);

/// Coroutines of one name and place.
#[derive(Debug, Default)]
pub struct Group {
    coroutines: u64,
    ids: Vec<u32>,
    /// What is so of them.
    pub figures: Figures,
    /// Something is missing that would add to the figures.
    pub inexact: bool,
}

impl Groups {
    /// Adds a coroutine.
    pub fn add(&mut self, coroutine: &Coroutine, site: SiteId, figures: Figures, is_exact: bool) {
        let group = self.0.entry((coroutine.name, site)).or_default();
        group.merge(Group {
            coroutines: 1,
            ids: vec![coroutine.id.0],
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
