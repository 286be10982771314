//! The coroutines that a lint found, by name and place.

use std::collections::BTreeMap;

use ctp_trace::model::{Coroutine, NameId};
use ctp_trace::record::{Nanos, SiteId};
use serde::Serialize;

use super::Lint;
use crate::evidence::is_default;
use crate::load::Model;
use crate::names::Names;

/// The number of ids that are kept for a place. The lowest ids are kept.
const IDS: usize = 8;

/// Coroutines with the same name at the same place.
#[derive(Clone, Debug, Serialize)]
pub struct LintPlace {
    /// The lint.
    pub lint: &'static Lint,
    /// The function where they wait, or their name.
    pub function: String,
    /// The source file.
    pub file: Option<String>,
    /// Line in that file.
    pub line: Option<u32>,
    /// The line is the beginning of the function, and the position in the function is unknown.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub in_function: bool,
    /// The place as text, even without a source position: where they waited, or where they were spawned
    /// if they never waited.
    pub at: Option<String>,
    /// The number of coroutines.
    pub coroutines: u64,
    /// The ids, at most [`IDS`].
    pub ids: Vec<u32>,
    /// The figures.
    #[serde(flatten)]
    pub figures: LintFigures,
    /// Whether the figures are complete.
    pub exact: bool,
}

/// The figures of a place. Figures that the lint does not use are zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LintFigures {
    /// All wakes, including wakes that are not in the trace.
    #[serde(skip_serializing_if = "is_default")]
    pub wakes: u64,
    /// Recorded wakes by the coroutines themselves.
    #[serde(skip_serializing_if = "is_default")]
    pub own_wakes: u64,
    /// The longest run, or the longest wait to the end.
    #[serde(skip_serializing_if = "is_default")]
    pub longest_ns: u64,
    /// The number of coroutines that were still running at the end.
    #[serde(skip_serializing_if = "is_default")]
    pub still_run: u64,
}

/// Makes a row of each place and name. Names at a place that differ only in their number share a row.
pub fn named(model: &Model, names: &Names, lint: &'static Lint, groups: Groups) -> Vec<LintPlace> {
    let mut merged: BTreeMap<(String, SiteId), (Vec<NameId>, LintGroup)> = BTreeMap::new();
    for ((name, site), group) in groups.0 {
        let common = names.function_of_several(site, model.trace_model.name(name), true);
        let (own_names, all) = merged.entry((common, site)).or_default();
        own_names.push(name);
        all.merge(group);
    }
    let is_exact = model.has_all_events() && model.trace_model.totals().filtered == 0;
    let places = merged.into_iter().map(|((_, site), (own_names, group))| {
        let first = own_names.first().copied().unwrap_or_default();
        let name = model.trace_model.name(first);
        let function = names.function_of_several(site, name, 1 < own_names.len());
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
    });
    places.collect()
}

/// Coroutines by name and place.
#[derive(Debug, Default)]
pub struct Groups(pub BTreeMap<(NameId, SiteId), LintGroup>);

/// Coroutines with the same name and place.
#[derive(Debug, Default)]
pub struct LintGroup {
    coroutines: u64,
    ids: Vec<u32>,
    /// The figures.
    pub figures: LintFigures,
    /// Whether the figures are incomplete.
    pub inexact: bool,
}

impl Groups {
    /// Adds a coroutine that has waited for `age`.
    pub fn add_waiting(&mut self, coroutine: &Coroutine, age: Nanos) {
        let waits_at = coroutine.suspend().map(|wait| wait.site);
        let figures = LintFigures {
            longest_ns: age.0,
            ..LintFigures::default()
        };
        self.add(
            coroutine,
            waits_at.unwrap_or(coroutine.spawn_site),
            figures,
            true,
        );
    }

    /// Adds a coroutine.
    pub fn add(
        &mut self,
        coroutine: &Coroutine,
        site: SiteId,
        figures: LintFigures,
        is_exact: bool,
    ) {
        let group = self.0.entry((coroutine.name, site)).or_default();
        group.merge(LintGroup {
            coroutines: 1,
            ids: vec![coroutine.id.0],
            figures,
            inexact: !is_exact,
        });
    }
}

impl LintGroup {
    fn merge(&mut self, other: LintGroup) {
        self.coroutines += other.coroutines;
        self.ids.extend(other.ids);
        self.ids.sort_unstable();
        self.ids.truncate(IDS);
        self.figures.add(other.figures);
        self.inexact |= other.inexact;
    }
}

impl LintFigures {
    fn add(&mut self, more: LintFigures) {
        self.wakes = self.wakes.saturating_add(more.wakes);
        self.own_wakes = self.own_wakes.saturating_add(more.own_wakes);
        self.longest_ns = self.longest_ns.max(more.longest_ns);
        self.still_run += more.still_run;
    }
}
