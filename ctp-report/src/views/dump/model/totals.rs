//! Totals that stand for events: of a coroutine, of coroutines that ended, and from before the window.

use ctp_trace::record::{Aggregate, Bins, Durations, Earlier, EndedSums};
use serde_json::{Value, json};

use super::Field;
use crate::text::escape;

pub(super) fn aggregate_fields(aggregate: &Aggregate) -> Vec<Field> {
    vec![
        ("coroutine", aggregate.coroutine.0.into()),
        ("stands_for_events", aggregate.stands_for_events.into()),
        ("left_out", aggregate.left_out.into()),
        (
            "waiting",
            duration_value(&aggregate.waiting, aggregate.bins),
        ),
        (
            "running",
            duration_value(&aggregate.running, aggregate.bins),
        ),
    ]
}

pub(super) fn ended_sums_fields(ended_sums: &EndedSums) -> Vec<Field> {
    vec![
        ("process", ended_sums.process.0.into()),
        ("name", escape(&ended_sums.name).into()),
        ("spawn_site", ended_sums.spawn_site.0.into()),
        ("coroutines", ended_sums.coroutines.into()),
        ("events", ended_sums.events.into()),
        ("lost", ended_sums.lost.into()),
        ("filtered", ended_sums.filtered.into()),
        ("left_out", ended_sums.left_out.into()),
        (
            "waiting",
            duration_value(&ended_sums.waiting, ended_sums.bins),
        ),
        (
            "running",
            duration_value(&ended_sums.running, ended_sums.bins),
        ),
    ]
}

pub(super) fn earlier_fields(earlier: &Earlier) -> Vec<Field> {
    vec![
        ("coroutine", earlier.coroutine.0.into()),
        ("events", earlier.events.into()),
    ]
}

/// The figures of durations, or null if there are none. A bin is its lower bound and its count.
fn duration_value(durations: &Durations, bins: Bins) -> Value {
    if durations.count == 0 {
        return Value::Null;
    }
    let bars = durations.bars(bins).filter(|(_, _, count)| *count > 0);
    let bars: Vec<Value> = bars
        .map(|(from, _, count)| json!([from.0, count]))
        .collect();
    json!({
        "count": durations.count,
        "sum_ns": durations.sum.0,
        "min_ns": durations.min.0,
        "max_ns": durations.max.0,
        "bins": bars,
    })
}
