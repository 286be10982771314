//! Statistics by site: how much of the waiting time was spent where.

use ctp_trace::histogram::Histogram;
use ctp_trace::model::{Named, SiteStats};
use ctp_trace::record::{Nanos, SiteId, WaitKind};
use serde::Serialize;

use crate::config::{SitesView, Sort};
use crate::evidence::figures::Figures;
use crate::evidence::resource;
use crate::evidence::selection::Selection;
use crate::load::Model;
use crate::names::{CodePlace, Names, duplicates};
use crate::text::units;
use crate::views::sites::quantiles::Quantiles;

/// A site. In a trace with totals by name: all coroutines of a name.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Row {
    /// The function that waits. In a trace with totals: the name, and the place where a coroutine of
    /// this name was spawned.
    #[serde(flatten)]
    pub place: CodePlace,
    /// The name that the program gave to the coroutines, unless `function` already has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub given: Option<String>,
    /// The function that awaits this function, if found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub awaited_by: Option<String>,
    /// The kind of resource, as a word.
    pub waits_for: &'static str,
    /// The share of all waiting time, in percent.
    pub share: f64,
    /// How many coroutines have waited there.
    pub coroutines: u64,
    /// How many waits began there.
    pub events: u64,
    /// How many of these waits had not ended.
    pub open: u64,
    /// How many of these waits ended with the coroutine.
    pub cancelled: u64,
    /// Waiting and running times.
    #[serde(flatten)]
    pub times: Times,
    /// Whether the figures are complete.
    pub exact: bool,
}

/// Waiting and running times of a site, or of all coroutines of a name.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Times {
    /// Time waited, to the end of each wait or of the recording.
    pub waited_ns: u64,
    /// The mean wait.
    pub mean_ns: u64,
    /// The longest wait.
    pub max_ns: u64,
    /// At least half of the ended waits took no longer.
    pub p50_ns: Option<u64>,
    /// At least 99 % of the ended waits took no longer.
    pub p99_ns: Option<u64>,
    /// The standard deviation of the ended waits, if these are in the trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stddev_ns: Option<u64>,
    /// Time run after these waits, each to the next wait or the end of the recording.
    pub ran_ns: u64,
    /// The longest of these runs.
    pub longest_run_ns: u64,
    /// Whether the length of any wait is known. If not, mean and maximum are meaningless.
    #[serde(skip)]
    pub measured: bool,
}

impl Row {
    /// The file and line, or the best known substitute.
    pub fn at(&self) -> String {
        let at = self.place.at();
        at.unwrap_or_else(|| "(not recorded)".to_owned())
    }
}

/// Returns the open first runs, which belong to no site: the length of the run, the name of the
/// coroutine, and where the coroutine was spawned.
pub fn first_runs(
    model: &Model,
    names: &Names,
    selection: &Selection,
) -> Vec<(u64, String, String)> {
    let trace_model = &model.trace_model;
    let all = trace_model.coroutines().into_iter();
    let all = all.filter(|coroutine| selection.has(coroutine.id));
    let first = all.filter(|coroutine| trace_model.resumed_from(coroutine).is_none());
    let runs = first.filter_map(|coroutine| {
        let end = trace_model.end_of(coroutine.process);
        let (from, to) = selection.part(coroutine.runs_since()?, end)?;
        let length = from.until(to);
        let spawned = names.at(coroutine.spawn_site).unwrap_or_default();
        Some((length.0, names.of_coroutine(model, coroutine), spawned))
    });
    runs.collect()
}

/// Returns the rows in the requested order: a row for each site, or for each name if the trace has
/// totals.
pub fn rows(
    model: &Model,
    names: &Names,
    (figures, quantiles): (&Figures, &Quantiles),
    view: &SitesView,
) -> Vec<Row> {
    let mut rows: Vec<Row> = if model.is_by_name() {
        let all = figures.names.iter();
        all.map(|named| row_of_name((model, figures), names, named))
            .collect()
    } else {
        let all = &figures.sites;
        all.iter()
            .map(|site_stats| row_of_site((model, figures), names, quantiles, site_stats))
            .collect()
    };
    let all = rows.iter().map(|row| row.times.waited_ns);
    let total = Nanos(all.fold(0, u64::saturating_add));
    for row in &mut rows {
        row.share = units::percent(Nanos(row.times.waited_ns), total);
    }
    rows.retain(|row| view.percent_limit <= row.share);
    distinguish(&mut rows);
    rows.sort_by(|a, b| order(&view.sort, a, b).then_with(|| a.at().cmp(&b.at())));
    rows
}

fn distinguish(rows: &mut [Row]) {
    duplicates::mark(
        rows,
        |row| {
            let (function, awaited_by) = (row.place.function.clone(), row.awaited_by.clone());
            (row.at(), function, awaited_by, row.waits_for)
        },
        |row| row.place.column,
        |row| &mut row.place,
    );
}

fn row_of_site(
    (model, figures): (&Model, &Figures),
    names: &Names,
    quantiles: &Quantiles,
    site: &SiteStats,
) -> Row {
    let of_waits = quantiles.of(site);
    let label = names.of(site.site).cloned().unwrap_or_default();
    let mut all = Histogram::default();
    let name = figures.name(model, site.name);
    let function = names.function_of_several(site.site, name, site.names_differ);
    [&site.waits, &site.open, &site.cancelled]
        .into_iter()
        .for_each(|part| all.merge(part));
    Row {
        given: names.given_at(name, site.names_differ, &function),
        place: CodePlace::new(function, label),
        awaited_by: names.awaiter(site.site),
        waits_for: resource::word(site.wait),
        share: 0.0,
        coroutines: site.coroutines,
        events: site.events,
        open: site.open.count(),
        cancelled: site.cancelled.count(),
        times: Times {
            waited_ns: all.sum().0,
            mean_ns: all.mean().unwrap_or_default().0,
            max_ns: all.max().unwrap_or_default().0,
            p50_ns: of_waits.p50_ns,
            p99_ns: of_waits.p99_ns,
            stddev_ns: of_waits.stddev_ns,
            ran_ns: site.runs.sum().0,
            longest_run_ns: site.runs.max().unwrap_or_default().0,
            measured: all.count() > 0,
        },
        exact: !site.approximate && model.knows_losses(),
    }
}

/// The row of a name. Cancelled waits are counted, but have no length.
fn row_of_name((model, figures): (&Model, &Figures), names: &Names, named: &Named) -> Row {
    let label = names
        .of(named.group_key.spawn_site)
        .cloned()
        .unwrap_or_default();
    let function = names.function(SiteId::default(), figures.name(model, named.group_key.name));
    let (waiting, open) = (&named.waiting, &named.open);
    let waited_ns = waiting.sum.0.saturating_add(open.sum().0);
    let measured = waiting.count.saturating_add(open.count());
    Row {
        place: CodePlace {
            within: None,
            ..CodePlace::new(function, label)
        },
        given: None,
        awaited_by: None,
        waits_for: resource::word(WaitKind::Unknown),
        share: 0.0,
        coroutines: named.coroutines,
        events: measured.saturating_add(named.cancelled),
        open: open.count(),
        cancelled: named.cancelled,
        times: Times {
            waited_ns,
            mean_ns: waited_ns.checked_div(measured).unwrap_or_default(),
            max_ns: waiting.max.max(open.max().unwrap_or_default()).0,
            p50_ns: waiting.bound(50, named.bins).map(|bound| bound.0),
            p99_ns: waiting.bound(99, named.bins).map(|bound| bound.0),
            stddev_ns: None,
            ran_ns: named.running.sum.0,
            longest_run_ns: named.running.max.0,
            measured: measured > 0,
        },
        exact: !named.approximate && model.knows_losses(),
    }
}

/// Compares by the first key by which the rows differ.
fn order(keys: &[Sort], a: &Row, b: &Row) -> std::cmp::Ordering {
    let mut orders = keys.iter().map(|key| order_by(*key, a, b));
    orders
        .find(|order| order.is_ne())
        .unwrap_or(std::cmp::Ordering::Equal)
}

fn order_by(sort: Sort, a: &Row, b: &Row) -> std::cmp::Ordering {
    match sort {
        Sort::Share => b.times.waited_ns.cmp(&a.times.waited_ns),
        Sort::Coroutines => b.coroutines.cmp(&a.coroutines),
        Sort::Count => b.events.cmp(&a.events),
        Sort::Mean => b.times.mean_ns.cmp(&a.times.mean_ns),
        Sort::P99 => b.times.p99_ns.cmp(&a.times.p99_ns),
        Sort::Max => b.times.max_ns.cmp(&a.times.max_ns),
        Sort::Run => b.times.ran_ns.cmp(&a.times.ran_ns),
        Sort::Site => (&a.place.file, a.place.line).cmp(&(&b.place.file, b.place.line)),
        Sort::Function => a.place.function.cmp(&b.place.function),
    }
}
