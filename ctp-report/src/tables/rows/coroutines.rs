//! The rows of `coroutines`.

use ctp_trace::model::Coroutine;
use ctp_trace::record::{EventCounts, EventKind};
use ctp_trace::verdict::State;

use super::aggregates::Sums;
use super::coroutine_names::CoroutineName;
use super::references::References;
use super::{About, Output};
use crate::tables::schema::TableId;
use crate::tables::value::Value;

/// Whether the coroutine has ended, according to its events and its final account.
pub fn is_over(coroutine: &Coroutine, counts: &EventCounts) -> bool {
    let latest = counts.hidden.or(coroutine.last.map(|last| last.kind));
    latest == Some(EventKind::Death)
}

/// Writes a coroutine with its name, its sums, the number of its lost events, and whether its final account has its
/// death.
pub fn write(
    (about, references): (About<'_>, &References),
    coroutine: &Coroutine,
    (name, sums, lost, is_over): (&CoroutineName, &Sums, u64, bool),
    out: &mut Output<'_>,
) {
    let death = coroutine.last.filter(|last| last.kind == EventKind::Death);
    let parent = coroutine.parent.map(|parent| parent.id);
    let [waits, waiting, longest_wait, runs, running, longest_run] = sums.values();
    out.row(
        TableId::Coroutines,
        &[
            Value::id(Some(coroutine.id.0)),
            references.process(coroutine.process),
            Value::Unsigned(coroutine.probe_id),
            Value::Text(&name.displayed),
            Value::text(name.given.as_deref()),
            Value::Word(coroutine.kind.word()),
            about.coroutine(parent),
            references.site(coroutine.spawn_site),
            Value::count_or_null((!coroutine.lived_before).then_some(coroutine.born.0)),
            Value::count_or_null(death.map(|death| death.at.0)),
            Value::Word(state(coroutine, is_over)),
            waits,
            waiting,
            longest_wait,
            runs,
            running,
            longest_run,
            Value::count(lost),
        ],
    );
}

fn state(coroutine: &Coroutine, is_over: bool) -> &'static str {
    match coroutine.state().0 {
        State::Cancelled => "dropped",
        _ if is_over => "ended",
        State::Born => "created",
        State::Running => "running",
        State::Suspended => "waiting",
        State::Dead => "ended",
    }
}
