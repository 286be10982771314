//! Statistics by site: how much of the waiting happened where.

use ctp_trace::census::{Coroutine, Named, SiteStats};
use ctp_trace::histogram::Histogram;
use ctp_trace::record::{Nanos, SiteId, WaitKind};
use serde::Serialize;

use crate::config::{SitesView, Sort};
use crate::document::rows_by::RowsBy;
use crate::evidence::resource;
use crate::load::model::Model;
use crate::names::Names;
use crate::names::label::Label;
use crate::names::twins;
use crate::text::units;

/// One site; or where programs keep totals, all coroutines of one name.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Row {
    /// The function that waits, else the name of the first coroutine seen there; or the name.
    pub function: String,
    /// Its source file; or that where one of the name was spawned.
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
    /// The function that awaits it there, as far as that was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub awaited_by: Option<String>,
    /// What sort of thing is waited for.
    pub waits_for: &'static str,
    /// Part of all waiting time, in percent.
    pub share: f64,
    /// Coroutines that have waited there.
    pub coroutines: u64,
    /// Waits that began there.
    pub events: u64,
    /// Of these, how many had not ended.
    pub open: u64,
    /// Of these, how many ended with the coroutine.
    pub cancelled: u64,
    /// Time waited, to the end of each wait or of the recording.
    pub waited_ns: u64,
    /// Mean of that.
    pub mean_ns: u64,
    /// The longest.
    pub max_ns: u64,
    /// At least 99 % of the waits that ended took no longer.
    pub p99_ns: Option<u64>,
    /// Time run from there to the next wait, or to the end of the recording.
    pub ran_ns: u64,
    /// The longest such run.
    pub longest_run_ns: u64,
    /// Whether these figures are complete.
    pub exact: bool,
    /// Another row would look the same without its column.
    #[serde(skip)]
    pub is_twin: bool,
    /// Whether the length of any wait is known: else its mean and its longest mean nothing.
    #[serde(skip)]
    pub measured: bool,
}

impl Row {
    /// File and line, or what is known instead.
    pub fn at(&self) -> String {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => {
                twins::place((file, line), self.in_function, self.column, self.is_twin)
            }
            _ => self
                .module
                .clone()
                .unwrap_or_else(|| "(not recorded)".to_owned()),
        }
    }
}

/// A run of a coroutine of which no wait is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FirstRun {
    /// How long, to the end of the recording.
    pub ns: u64,
    /// What the coroutine is called.
    pub name: String,
    /// Where it was spawned.
    pub spawned: Option<String>,
}

/// The runs to the end that belong to no site.
pub fn first_runs(model: &Model, names: &Names) -> Vec<FirstRun> {
    let census = &model.census;
    let run = |one: &Coroutine| {
        Some(FirstRun {
            ns: one.runs_since()?.until(census.end_of(one.process)).0,
            name: names.of_coroutine(model, one),
            spawned: names.of(one.spawn_site).and_then(Label::at),
        })
    };
    let all = census.coroutines().into_iter();
    all.filter(|one| census.resumed_from(one).is_none())
        .filter_map(run)
        .collect()
}

/// The rows of a trace, arranged as asked for: those of its sites, unless the program kept totals.
pub fn rows(model: &Model, names: &Names, view: &SitesView) -> Vec<Row> {
    let mut rows: Vec<Row> = match RowsBy::of_sites(model) {
        RowsBy::Name => {
            let all = model.census.by_name();
            all.iter().map(|it| row_of_name(model, names, it)).collect()
        }
        RowsBy::Site => {
            let all = model.census.sites();
            all.iter().map(|it| row_of_site(model, names, it)).collect()
        }
    };
    let all = rows.iter().map(|row| row.waited_ns);
    let total = Nanos(all.fold(0, u64::saturating_add));
    for row in &mut rows {
        row.share = units::percent(Nanos(row.waited_ns), total);
    }
    rows.retain(|row| view.percent_limit <= row.share);
    tell_apart(&mut rows);
    rows.sort_by(|a, b| order(view.sort, a, b).then_with(|| a.at().cmp(&b.at())));
    rows
}

fn tell_apart(rows: &mut [Row]) {
    let look = |row: &Row| {
        let (function, awaited_by) = (row.function.clone(), row.awaited_by.clone());
        (row.at(), function, awaited_by, row.waits_for)
    };
    let twins = twins::twins(rows, look, |row| row.column);
    for (row, is_twin) in rows.iter_mut().zip(twins) {
        row.is_twin = is_twin;
    }
}

fn row_of_site(model: &Model, names: &Names, site: &SiteStats) -> Row {
    let label = names.of(site.site).cloned().unwrap_or_default();
    let mut all = Histogram::default();
    [&site.waits, &site.open, &site.cancelled]
        .into_iter()
        .for_each(|part| all.merge(part));
    Row {
        function: names.function_of_several(
            site.site,
            model.census.name(site.name),
            site.names_differ,
        ),
        file: label.file,
        line: label.line,
        in_function: label.in_function,
        column: label.column,
        module: label.module,
        within: label.within,
        awaited_by: names.awaiter(site.site),
        waits_for: resource::word(site.wait),
        share: 0.0,
        coroutines: site.coroutines,
        events: site.events,
        open: site.open.count(),
        cancelled: site.cancelled.count(),
        waited_ns: all.sum().0,
        mean_ns: all.mean().unwrap_or_default().0,
        max_ns: all.max().unwrap_or_default().0,
        p99_ns: site.waits.bound(99).map(|bound| bound.0),
        ran_ns: site.runs.sum().0,
        longest_run_ns: site.runs.max().unwrap_or_default().0,
        exact: !site.approximate && model.knows_its_losses(),
        is_twin: false,
        measured: all.count() > 0,
    }
}

/// Waits that were cancelled are counted, but not measured.
fn row_of_name(model: &Model, names: &Names, named: &Named) -> Row {
    let label = names.of(named.kin.spawn_site).cloned().unwrap_or_default();
    let (waiting, open) = (&named.waiting, &named.open);
    let waited_ns = waiting.sum.0.saturating_add(open.sum().0);
    let measured = waiting.count.saturating_add(open.count());
    Row {
        function: names.function(SiteId::default(), model.census.name(named.kin.name)),
        file: label.file,
        line: label.line,
        in_function: label.in_function,
        column: label.column,
        module: label.module,
        within: None,
        awaited_by: None,
        waits_for: resource::word(WaitKind::Unknown),
        share: 0.0,
        coroutines: named.coroutines,
        events: measured.saturating_add(named.cancelled),
        open: open.count(),
        cancelled: named.cancelled,
        waited_ns,
        mean_ns: waited_ns.checked_div(measured).unwrap_or_default(),
        max_ns: waiting.max.max(open.max().unwrap_or_default()).0,
        p99_ns: waiting.bound(99, named.bins).map(|bound| bound.0),
        ran_ns: named.running.sum.0,
        longest_run_ns: named.running.max.0,
        exact: !named.approximate && model.knows_its_losses(),
        is_twin: false,
        measured: measured > 0,
    }
}

fn order(sort: Sort, a: &Row, b: &Row) -> std::cmp::Ordering {
    match sort {
        Sort::Share => b.waited_ns.cmp(&a.waited_ns),
        Sort::Coroutines => b.coroutines.cmp(&a.coroutines),
        Sort::Count => b.events.cmp(&a.events),
        Sort::Mean => b.mean_ns.cmp(&a.mean_ns),
        Sort::Max => b.max_ns.cmp(&a.max_ns),
        Sort::Run => b.ran_ns.cmp(&a.ran_ns),
        Sort::Site => (&a.file, a.line).cmp(&(&b.file, b.line)),
        Sort::Function => a.function.cmp(&b.function),
    }
}
