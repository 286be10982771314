//! How long waits and runs took: by site from events, or by name from what programs summed up.

use ctp_trace::histogram::Histogram;
use ctp_trace::record::{Bins, Durations, Nanos, SiteId};
use ctp_trace::trace_model::{Named, SiteStats};
use serde::Serialize;

use crate::evidence::resource;
use crate::load::Model;
use crate::names::{Names, duplicates};

/// One site, or all coroutines of one name.
#[derive(Clone, Debug, Serialize)]
pub struct Chart {
    /// The function that waits there, else a coroutine's name.
    pub name: String,
    /// The line of the site, or that where one of that name was spawned.
    pub at: Option<String>,
    /// Column in that line.
    pub column: Option<u32>,
    /// What sort of thing is waited for, at a site.
    pub waits_for: Option<&'static str>,
    /// How many coroutines.
    pub coroutines: u64,
    /// Waits that ended in a run.
    pub waiting: Side,
    /// Runs that ended.
    pub running: Side,
    /// Waits that go on, which are in no figure.
    pub open: u64,
    /// The longest of them, so far.
    pub oldest_open_ns: Option<u64>,
    /// Waits that ended with the coroutine, which are in no figure.
    pub cancelled: u64,
    /// Durations that are in no figure, since a signal handler left them out.
    pub left_out: u64,
    /// Whether these figures are complete.
    pub exact: bool,
}

/// What is known of many durations. Without any there are no figures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Side {
    /// How many.
    pub count: u64,
    /// Their sum.
    pub sum_ns: u64,
    /// Their mean.
    pub mean_ns: Option<u64>,
    /// The shortest.
    pub min_ns: Option<u64>,
    /// The longest.
    pub max_ns: Option<u64>,
    /// From the first bin that has any to the last one.
    pub bins: Vec<Bin>,
}

/// Durations from one bound up to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Bin {
    /// The shortest that it counts.
    pub from_ns: u64,
    /// The shortest that it does not count any more; none if it has no end.
    pub below_ns: Option<u64>,
    /// How many.
    pub count: u64,
}

/// The charts of a trace, those with the most waiting time first. Totals are of all that happened, also
/// where a flight recorder has some of the events.
pub fn charts(model: &Model, names: &Names) -> Vec<Chart> {
    let mut charts: Vec<Chart> = if model.trace_model.has_aggregates() {
        let all = model.trace_model.by_name();
        all.iter()
            .map(|named| of_name(model, names, named))
            .collect()
    } else {
        let all = model.trace_model.sites();
        all.iter()
            .map(|site_stats| of_site(model, names, site_stats))
            .collect()
    };
    let look = |chart: &Chart| (chart.at.clone(), chart.name.clone(), chart.waits_for);
    duplicates::distinguish(
        &mut charts,
        look,
        |chart| chart.column,
        |chart| &mut chart.at,
    );
    let rank = |chart: &Chart| std::cmp::Reverse((chart.waiting.sum_ns, chart.oldest_open_ns));
    charts.sort_by(|a, b| {
        rank(a)
            .cmp(&rank(b))
            .then_with(|| (&a.name, &a.at).cmp(&(&b.name, &b.at)))
    });
    charts
}

fn of_site(model: &Model, names: &Names, site: &SiteStats) -> Chart {
    Chart {
        name: names.function_of_several(
            site.site,
            model.trace_model.name(site.name),
            site.names_differ,
        ),
        at: names.at(site.site),
        column: names.of(site.site).and_then(|label| label.column),
        waits_for: Some(resource::word(site.wait)),
        coroutines: site.coroutines,
        waiting: Side::of_events(&site.waits),
        running: Side::of_events(&site.runs),
        open: site.open.count(),
        oldest_open_ns: site.open.max().map(|time| time.0),
        cancelled: site.cancelled.count(),
        left_out: 0,
        exact: !site.approximate && model.knows_losses(),
    }
}

fn of_name(model: &Model, names: &Names, named: &Named) -> Chart {
    Chart {
        name: names.function(
            SiteId::default(),
            model.trace_model.name(named.group_key.name),
        ),
        at: names.at(named.group_key.spawn_site),
        column: names
            .of(named.group_key.spawn_site)
            .and_then(|label| label.column),
        waits_for: None,
        coroutines: named.coroutines,
        waiting: Side::of_totals(&named.waiting, named.bins),
        running: Side::of_totals(&named.running, named.bins),
        open: named.open.count(),
        oldest_open_ns: named.open.max().map(|time| time.0),
        cancelled: named.cancelled,
        left_out: named.left_out,
        exact: !named.approximate && model.knows_losses(),
    }
}

impl Side {
    fn of_events(all: &Histogram) -> Self {
        Side {
            count: all.count(),
            sum_ns: all.sum().0,
            mean_ns: all.mean().map(|time| time.0),
            min_ns: all.min().map(|time| time.0),
            max_ns: all.max().map(|time| time.0),
            bins: used(all.bins().map(bin).collect()),
        }
    }

    fn of_totals(all: &Durations, bins: Bins) -> Self {
        let is_known = |time: Nanos| (all.count > 0).then_some(time.0);
        Side {
            count: all.count,
            sum_ns: all.sum.0,
            mean_ns: all.mean().map(|time| time.0),
            min_ns: is_known(all.min),
            max_ns: is_known(all.max),
            bins: used(all.bars(bins).map(bin).collect()),
        }
    }
}

fn bin((from, below, count): (Nanos, Option<Nanos>, u64)) -> Bin {
    Bin {
        from_ns: from.0,
        below_ns: below.map(|below| below.0),
        count,
    }
}

/// Without the empty ones at both ends.
fn used(mut bins: Vec<Bin>) -> Vec<Bin> {
    let last = bins.iter().rposition(|bin| bin.count > 0);
    bins.truncate(last.map_or(0, |last| last + 1));
    let first = bins.iter().position(|bin| bin.count > 0);
    bins.split_off(first.unwrap_or(0))
}
