//! How long waits and runs took: by site from events, or by name from totals.

use ctp_trace::histogram::Histogram;
use ctp_trace::model::{Named, SiteStats};
use ctp_trace::record::{Bins, Durations, Nanos, SiteId};
use serde::Serialize;

use crate::evidence::figures::Figures;
use crate::evidence::resource;
use crate::load::Model;
use crate::names::{Names, duplicates};

/// A site, or all coroutines of a name.
#[derive(Clone, Debug, Serialize)]
pub struct Chart {
    /// The function that waits at the site, or the coroutines' name.
    pub name: String,
    /// The name that the program gave to the coroutines, unless `name` already has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub given: Option<String>,
    /// The place of the site, or a spawn site of the name.
    pub at: Option<String>,
    /// The column of that place.
    pub column: Option<u32>,
    /// The kind of resource of a site, as a word.
    pub waits_for: Option<&'static str>,
    /// How many coroutines waited or ran.
    pub coroutines: u64,
    /// The waits that ended in a run.
    pub waiting: DurationStats,
    /// The runs that ended.
    pub running: DurationStats,
    /// How many waits had not ended. They are not counted in `waiting`.
    pub open: u64,
    /// The longest of these waits, so far.
    pub oldest_open_ns: Option<u64>,
    /// How many waits ended with the coroutine. They are not counted in `waiting`.
    pub cancelled: u64,
    /// How many durations are missing because a signal handler could not add them.
    pub left_out: u64,
    /// Whether the figures are complete.
    pub exact: bool,
}

/// Statistics of durations.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DurationStats {
    /// The number of durations.
    pub count: u64,
    /// The sum.
    pub sum_ns: u64,
    /// The mean, if there is a duration.
    pub mean_ns: Option<u64>,
    /// The shortest.
    pub min_ns: Option<u64>,
    /// The longest.
    pub max_ns: Option<u64>,
    /// The bins from the first to the last that is not empty.
    pub bins: Vec<Bin>,
}

/// A range of durations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Bin {
    /// The inclusive lower bound.
    pub from_ns: u64,
    /// The exclusive upper bound. The last bin has none.
    pub below_ns: Option<u64>,
    /// The number of durations.
    pub count: u64,
}

/// Returns the charts, the most waiting time first. Uses totals if the trace has any, since they
/// cover everything, while a flight recorder keeps only the latest events.
pub fn charts(model: &Model, names: &Names, figures: &Figures) -> Vec<Chart> {
    let mut charts: Vec<Chart> = if !figures.names.is_empty() {
        let all = figures.names.iter();
        all.map(|named| of_name((model, figures), names, named))
            .collect()
    } else {
        let all = &figures.sites;
        all.iter()
            .map(|site_stats| of_site((model, figures), names, site_stats))
            .collect()
    };
    duplicates::distinguish(
        &mut charts,
        |chart| (chart.at.clone(), chart.name.clone(), chart.waits_for),
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

fn of_site((model, figures): (&Model, &Figures), names: &Names, site: &SiteStats) -> Chart {
    let given = figures.name(model, site.name);
    let name = names.function_of_several(site.site, given, site.names_differ);
    Chart {
        given: names.given_at(given, site.names_differ, &name),
        name,
        at: names.at(site.site),
        column: names.of(site.site).and_then(|label| label.column),
        waits_for: Some(resource::word(site.wait)),
        coroutines: site.coroutines,
        waiting: DurationStats::of_events(&site.waits),
        running: DurationStats::of_events(&site.runs),
        open: site.open.count(),
        oldest_open_ns: site.open.max().map(|time| time.0),
        cancelled: site.cancelled.count(),
        left_out: 0,
        exact: !site.approximate && model.knows_losses(),
    }
}

fn of_name((model, figures): (&Model, &Figures), names: &Names, named: &Named) -> Chart {
    Chart {
        name: names.function(SiteId::default(), figures.name(model, named.group_key.name)),
        given: None,
        at: names.at(named.group_key.spawn_site),
        column: names
            .of(named.group_key.spawn_site)
            .and_then(|label| label.column),
        waits_for: None,
        coroutines: named.coroutines,
        waiting: DurationStats::of_totals(&named.waiting, named.bins),
        running: DurationStats::of_totals(&named.running, named.bins),
        open: named.open.count(),
        oldest_open_ns: named.open.max().map(|time| time.0),
        cancelled: named.cancelled,
        left_out: named.left_out,
        exact: !named.approximate && model.knows_losses(),
    }
}

impl DurationStats {
    fn of_events(all: &Histogram) -> Self {
        DurationStats {
            count: all.count(),
            sum_ns: all.sum().0,
            mean_ns: all.mean().map(|time| time.0),
            min_ns: all.min().map(|time| time.0),
            max_ns: all.max().map(|time| time.0),
            bins: trimmed(all.bins().map(bin).collect()),
        }
    }

    fn of_totals(all: &Durations, bins: Bins) -> Self {
        let is_known = |time: Nanos| (all.count > 0).then_some(time.0);
        DurationStats {
            count: all.count,
            sum_ns: all.sum.0,
            mean_ns: all.mean().map(|time| time.0),
            min_ns: is_known(all.min),
            max_ns: is_known(all.max),
            bins: trimmed(all.bars(bins).map(bin).collect()),
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

/// Removes empty bins at both ends.
fn trimmed(mut bins: Vec<Bin>) -> Vec<Bin> {
    let last = bins.iter().rposition(|bin| bin.count > 0);
    bins.truncate(last.map_or(0, |last| last + 1));
    let first = bins.iter().position(|bin| bin.count > 0);
    bins.split_off(first.unwrap_or(0))
}
