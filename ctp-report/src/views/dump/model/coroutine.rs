//! The life of a coroutine: its birth, its events, its wakes, and its final account.

use ctp_trace::record::{
    Birth, Dialect, Event, EventCounts, EventKind, PollWakers, WaitMarks, Wake,
};

use super::Field;
use super::thread::waker;
use crate::evidence::resource;
use crate::text::escape;

pub(super) fn birth_fields(birth: &Birth) -> Vec<Field> {
    vec![
        ("coroutine", birth.coroutine.0.into()),
        ("process", birth.process.0.into()),
        ("station", birth.station.into()),
        ("generation", birth.generation.into()),
        ("probe_id", birth.probe_id.into()),
        ("dialect", dialect(birth.dialect).into()),
        ("kind", birth.kind.word().into()),
        ("name", escape(&birth.name).into()),
        ("spawn_site", birth.spawn_site.0.into()),
        ("lived_before", birth.lived_before.into()),
    ]
}

fn dialect(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Extended => "extended",
        Dialect::V1PerSlot => "v1-per-slot",
        Dialect::V1PerStation => "v1-per-station",
        _ => "unknown",
    }
}

pub(super) fn event_fields(event: &Event) -> Vec<Field> {
    let mut fields = vec![
        ("coroutine", event.coroutine.0.into()),
        ("n", event.n.into()),
        ("tid", event.tid.into()),
    ];
    if event.kind == EventKind::Suspend {
        fields.extend([
            ("site", event.site.0.into()),
            ("wait", resource::word(event.wait).into()),
            ("arg", event.arg.into()),
            ("wake_seen", event.wake_seen.into()),
        ]);
        fields.extend(marks(event.marks));
    }
    fields
}

/// The marks that are set.
fn marks(wait_marks: WaitMarks) -> impl Iterator<Item = Field> {
    let marks = [
        ("idle", wait_marks.idle),
        ("one_of_several", wait_marks.has_others),
        ("earlier_waker", wait_marks.wakers == PollWakers::Earlier),
        (
            "unregistered",
            wait_marks.wakers == PollWakers::Unregistered,
        ),
    ];
    let set = marks.into_iter().filter(|(_, is_set)| *is_set);
    set.map(|(mark, _)| (mark, true.into()))
}

pub(super) fn event_kind(kind: EventKind) -> &'static str {
    match kind {
        EventKind::Birth => "born",
        EventKind::Run => "run",
        EventKind::Suspend => "suspend",
        EventKind::Death => "death",
    }
}

pub(super) fn wake_fields(wake: &Wake) -> Vec<Field> {
    let waker = waker(wake.waker);
    vec![
        ("coroutine", wake.coroutine.0.into()),
        ("count", wake.count.into()),
        ("waker", waker.into()),
    ]
}

pub(super) fn event_counts_fields(event_counts: &EventCounts) -> Vec<Field> {
    let filtered = (0 < event_counts.filtered).then_some(event_counts.filtered);
    vec![
        ("coroutine", event_counts.coroutine.0.into()),
        ("attempted", event_counts.attempted.into()),
        ("recorded", event_counts.recorded.into()),
        ("torn", event_counts.torn.into()),
        ("inexact", event_counts.inexact.into()),
        ("filtered", filtered.into()),
        ("wakers", event_counts.wakers.into()),
    ]
}
