//! The recording itself: its start and end, its window, and changes of the filter.

use ctp_trace::record::{Control, End, ExitReason, Start, Window};

use super::Field;
use crate::text::{escape, escape_bytes, units};

pub(super) fn start_fields(start: &Start) -> Vec<Field> {
    let argv: Vec<String> = start.argv.iter().map(|word| escape_bytes(word)).collect();
    vec![
        ("trace_id", units::hex(&start.trace_id).into()),
        ("recorder", escape(&start.recorder).into()),
        ("host", escape(&start.host).into()),
        ("argv", argv.into()),
        ("started_unix_ns", start.started_unix_ns.into()),
        ("started_monotonic_ns", start.started_monotonic_ns.into()),
        ("capacity", start.capacity.into()),
        (
            "precise_chains",
            start.precise_chains.then_some(true).into(),
        ),
    ]
}

pub(super) fn end_fields(end: &End) -> Vec<Field> {
    let faulting_tid = (end.faulting_tid != 0).then_some(end.faulting_tid);
    let unrecorded = (end.unrecorded != 0).then_some(end.unrecorded);
    let records = (end.records != 0).then_some(end.records);
    let how = match end.how {
        ExitReason::Exited(status) => format!("exited {status}"),
        ExitReason::Signalled(signal) => format!("signal {signal}"),
        ExitReason::Stopped => "stopped".to_owned(),
        ExitReason::Image => "image".to_owned(),
        _ => "unknown".to_owned(),
    };
    vec![
        ("how", how.into()),
        ("events", end.events.into()),
        ("lost", end.lost.into()),
        ("refused", end.refused.into()),
        ("coroutines", end.coroutines.into()),
        ("unnamed", end.unnamed.into()),
        ("quarantined", end.quarantined.into()),
        ("faulting_tid", faulting_tid.into()),
        ("unrecorded", unrecorded.into()),
        ("records", records.into()),
    ]
}

pub(super) fn window_fields(window: &Window) -> Vec<Field> {
    vec![
        ("overwritten", window.overwritten.into()),
        ("unattributed", window.unattributed.into()),
        ("goes_on", window.goes_on.into()),
    ]
}

/// The fields of a control record. A thread or process of 0 means all.
pub(super) fn control_fields(control: &Control) -> Vec<Field> {
    vec![
        ("generation", control.generation.into()),
        ("pid", control.pid.into()),
        ("stopped", control.stopped.into()),
        ("without_runs", control.without_runs.into()),
        ("without_suspends", control.without_suspends.into()),
        ("only_thread", control.only_thread.into()),
        ("only_process", control.only_process.into()),
    ]
}
