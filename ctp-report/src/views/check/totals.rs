//! Statistics of a trace that has totals by name instead of events.

use ctp_trace::model::Named;
use ctp_trace::record::{Bins, Durations as Totals, SiteId};

use crate::config::rules::{Durations, Kind, Statistic};
use crate::load::Model;
use crate::names::Names;
use crate::views::check::missing;
use crate::views::check::range::Range;

/// The range of a statistic.
pub fn range(model: &Model, names: &Names, statistic: Statistic, durations: &Durations) -> Range {
    if durations.site.is_some() {
        return Range::unknown("the trace has totals by name, not by site".to_owned());
    }
    if durations.kind == Kind::Ready {
        return Range::unknown("totals do not include delays".to_owned());
    }
    let all = model.trace_model.by_name();
    let selected: Vec<&Named> = all
        .iter()
        .filter(|named| is_admitted(model, names, durations, named))
        .collect();
    match merged(&selected, durations.kind) {
        Some((totals, bins)) => {
            let grows = matches!(statistic, Statistic::Count | Statistic::Max);
            let range = of_totals(&totals, bins, statistic);
            with_missing(range, grows, model, &selected)
        }
        None => Range::unknown("the totals have different bins".to_owned()),
    }
}

/// The longest run of all coroutines.
pub fn longest_run(model: &Model) -> Range {
    let all = model.trace_model.by_name();
    let selected: Vec<&Named> = all.iter().collect();
    let longest = selected.iter().map(|named| named.running.max.0).max();
    with_missing(Range::exactly(longest.unwrap_or(0)), true, model, &selected)
}

fn is_admitted(model: &Model, names: &Names, durations: &Durations, named: &Named) -> bool {
    let key = named.group_key;
    let name = names.called(model.trace_model.name(key.name));
    let name = name.unwrap_or_else(|| names.function(key.spawn_site, ""));
    let pattern = durations.name.as_ref();
    pattern.is_none_or(|pattern| pattern.is_match(&name))
}

/// The sum of all totals, unless their bins differ.
fn merged(all: &[&Named], kind: Kind) -> Option<(Totals, Bins)> {
    let mut sum = Totals::default();
    let bins = all.first().map_or(Bins::USUAL, |named| named.bins);
    for named in all {
        if named.bins != bins {
            return None;
        }
        sum.merge(if kind == Kind::Run {
            &named.running
        } else {
            &named.waiting
        });
    }
    Some((sum, bins))
}

fn of_totals(totals: &Totals, bins: Bins, statistic: Statistic) -> Range {
    if statistic == Statistic::Count {
        return Range::exactly(totals.count);
    }
    let Some(mean) = totals.mean() else {
        return Range::unknown("no such duration was counted".to_owned());
    };
    match statistic {
        Statistic::Max => Range::exactly(totals.max.0),
        Statistic::Percentile(percent) => in_a_bin(totals, bins, percent),
        Statistic::Mean | Statistic::Count => Range::exactly(mean.0),
    }
}

/// The bin of a percentile.
fn in_a_bin(totals: &Totals, bins: Bins, percent: u8) -> Range {
    let most = totals.bound(percent, bins).map(|most| most.0);
    let bars = totals.bars(bins).map(|(from, _, _)| from.0);
    let least = most.and_then(|most| bars.take_while(|from| *from <= most).last());
    Range {
        least: least.unwrap_or(0).max(totals.min.0),
        most,
        why: Some("totals have bins instead of single durations".to_owned()),
    }
}

/// Widens a range if totals are incomplete. `grows`: missing durations can only increase the value.
fn with_missing(range: Range, grows: bool, model: &Model, all: &[&Named]) -> Range {
    let mut why = missing::hidden_coroutines(model);
    if all
        .iter()
        .any(|named| named.approximate || 0 < named.left_out)
    {
        why.push("totals of a coroutine are incomplete".to_owned());
    }
    match why.is_empty() {
        true => range,
        false if grows => Range::at_least(range.least, why.join("; ")),
        false => Range::unknown(why.join("; ")),
    }
}

/// The place where coroutines of the name with the longest run were spawned, and the name.
pub fn longest_runner(model: &Model) -> Option<(String, SiteId)> {
    let all = model.trace_model.by_name().into_iter();
    let longest = all.max_by_key(|named| named.running.max)?;
    let name = model.trace_model.name(longest.group_key.name);
    Some((name.to_owned(), longest.group_key.spawn_site))
}
