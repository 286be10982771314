//! Statistics of a trace that has totals by name instead of events.

use ctp_trace::model::Named;
use ctp_trace::record::{Bins, Durations as Totals, Nanos};
use ctp_trace::verdict::State;

use crate::config::rules::{DurationKind, DurationSelector, Statistic};
use crate::load::Model;
use crate::names::Names;
use crate::views::check::missing;
use crate::views::check::proof::MetricProof;
use crate::views::check::range::MetricRange;

/// The range of a statistic.
pub fn range(
    model: &Model,
    names: &Names,
    statistic: Statistic,
    durations: &DurationSelector,
) -> MetricRange {
    if durations.site.is_some() {
        return MetricRange::unknown("the trace has totals by name, not by site".to_owned());
    }
    if durations.kind == DurationKind::Ready {
        return MetricRange::unknown("totals do not include delays".to_owned());
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
        None => MetricRange::unknown("the totals have different bins".to_owned()),
    }
}

/// The longest run of all coroutines. Totals include only runs that have ended; `open` is the longest run
/// that has not.
pub fn longest_run(model: &Model, open: Option<Nanos>) -> MetricRange {
    let all = model.trace_model.by_name();
    let selected: Vec<&Named> = all.iter().collect();
    let ended = selected.iter().map(|named| named.running.max);
    let longest = ended.chain(open).max().unwrap_or(Nanos(0));
    let range = with_missing(MetricRange::exactly(longest.0), true, model, &selected);
    if range.is_exact() && has_run_of_unknown_length(model) {
        let why = "how long a coroutine ran at the end is not known".to_owned();
        return MetricRange::at_least(longest.0, why);
    }
    range
}

/// Whether the latest run of a coroutine may be longer than is known: a filter kept out the latest event, or
/// the coroutine runs and later events are missing.
fn has_run_of_unknown_length(model: &Model) -> bool {
    let mut all = model.trace_model.coroutines().into_iter();
    all.any(|coroutine| {
        let is_running = coroutine.state().0 == State::Running;
        coroutine.account.hidden.is_some() || is_running && coroutine.runs_since().is_none()
    })
}

fn is_admitted(model: &Model, names: &Names, durations: &DurationSelector, named: &Named) -> bool {
    let key = named.group_key;
    let name = names.called(model.trace_model.name(key.name));
    let name = name.unwrap_or_else(|| names.function(key.spawn_site, ""));
    let pattern = durations.name.as_ref();
    pattern.is_none_or(|pattern| pattern.is_match(&name))
}

/// The sum of all totals, unless their bins differ.
fn merged(all: &[&Named], kind: DurationKind) -> Option<(Totals, Bins)> {
    let mut sum = Totals::default();
    let bins = all.first().map_or(Bins::USUAL, |named| named.bins);
    for named in all {
        if named.bins != bins {
            return None;
        }
        sum.merge(if kind == DurationKind::Run {
            &named.running
        } else {
            &named.waiting
        });
    }
    Some((sum, bins))
}

fn of_totals(totals: &Totals, bins: Bins, statistic: Statistic) -> MetricRange {
    if statistic == Statistic::Count {
        return MetricRange::exactly(totals.count);
    }
    let Some(mean) = totals.mean() else {
        return MetricRange::unknown("no such duration was counted".to_owned());
    };
    match statistic {
        Statistic::Max => MetricRange::exactly(totals.max.0),
        Statistic::Percentile(percent) => in_a_bin(totals, bins, percent),
        Statistic::Mean | Statistic::Count => MetricRange::exactly(mean.0),
    }
}

/// The bin of a percentile.
fn in_a_bin(totals: &Totals, bins: Bins, percent: u8) -> MetricRange {
    let most = totals.bound(percent, bins).map(|most| most.0);
    let bars = totals.bars(bins).map(|(from, _, _)| from.0);
    let least = most.and_then(|most| bars.take_while(|from| *from <= most).last());
    MetricRange {
        least: least.unwrap_or(0).max(totals.min.0),
        most,
        why: Some("totals have bins instead of single durations".to_owned()),
    }
}

/// Widens a range if totals are incomplete. `grows`: missing durations can only increase the value.
fn with_missing(range: MetricRange, grows: bool, model: &Model, all: &[&Named]) -> MetricRange {
    let mut why = missing::hidden_coroutines(model);
    why.extend(missing::filtered(model));
    if all
        .iter()
        .any(|named| named.approximate || 0 < named.left_out)
    {
        why.push("totals of a coroutine are incomplete".to_owned());
    }
    if why.is_empty() {
        range
    } else if grows {
        MetricRange::at_least(range.least, why.join("; "))
    } else {
        MetricRange::unknown(why.join("; "))
    }
}

/// Describes the coroutines of the name with the longest run that has ended, and the length of this run.
pub fn longest_runner(model: &Model, names: &Names) -> Option<(Nanos, MetricProof)> {
    let all = model.trace_model.by_name().into_iter();
    let longest = all.max_by_key(|named| named.running.max)?;
    let key = longest.group_key;
    let name = names.called(model.trace_model.name(key.name));
    let proof = MetricProof {
        name: name.unwrap_or_else(|| names.function(key.spawn_site, "")),
        at: names.at(key.spawn_site),
        what: "has the longest run".to_owned(),
        ..MetricProof::default()
    };
    Some((longest.running.max, proof))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::selection::Selection;
    use crate::views::check::facts;
    use ctp_trace::record::{Aggregate, CoroutineId, End, Event, EventCounts, EventKind, Record};

    const SINGLE: CoroutineId = CoroutineId(1);

    /// A trace of 100 ns, of a coroutine with a run of 5 ns that has ended, and another run since 10 ns. The
    /// latest event may be one that a filter kept out, as other events may be.
    fn running(hidden: Option<EventKind>, filtered: u64) -> Model {
        let running = Totals {
            count: 1,
            max: Nanos(5),
            ..Totals::default()
        };
        let event = Event {
            coroutine: SINGLE,
            at: Nanos(10),
            kind: EventKind::Run,
            ..Event::default()
        };
        let aggregate = Aggregate {
            coroutine: SINGLE,
            stands_for_events: true,
            running,
            ..Aggregate::default()
        };
        let mut model = Model::default();
        for record in [
            Record::Event(event),
            Record::Aggregate(Box::new(aggregate)),
            Record::EventCounts(EventCounts {
                coroutine: SINGLE,
                hidden,
                filtered,
                ..EventCounts::default()
            }),
            Record::End(End {
                at: Nanos(100),
                ..End::default()
            }),
        ] {
            model.trace_model.consume(&record);
        }
        model
    }

    // CT-24
    #[test]
    fn longest_run_may_not_have_ended() {
        let model = running(None, 0);
        let open =
            facts::longest_run((&model, &Selection::default()), None).map(|run| run.span.length());
        assert_eq!(open, Some(Nanos(90)));
        assert_eq!(longest_run(&model, open), MetricRange::exactly(90));
        assert_eq!(longest_run(&model, None), MetricRange::exactly(5));
    }

    // CT-24
    #[test]
    fn longest_run_is_a_bound_if_events_are_hidden() {
        for (hidden, filtered) in [(Some(EventKind::Run), 0), (None, 3)] {
            let range = longest_run(&running(hidden, filtered), None);
            assert_eq!((range.least, range.most), (5, None), "{range:?}");
        }
    }
}
