//! The rows of `waits`.

use ctp_trace::TraceModel;
use ctp_trace::hash::Map;
use ctp_trace::model::Coroutine;
use ctp_trace::record::{CoroutineId, Event, EventKind, Nanos, ThreadEvent, WaitKind, WakeCall};
use ctp_trace::verdict::wakes_since;

use super::references::References;
use super::{About, Output, events};
use crate::tables::schema::TableId;
use crate::tables::value::Value;

/// How a wait ended.
pub struct End {
    suspend: Event,
    /// When it ended, if that is known.
    at: Option<Nanos>,
    outcome: &'static str,
}

impl End {
    /// The end of the coroutine's wait by this event, if the coroutine waited.
    pub fn of(coroutine: &Coroutine, event: &Event) -> Option<Self> {
        let suspend = last_suspend(coroutine)?;
        let is_next = suspend.n.checked_add(1) == Some(event.n) && !event.after_filtered;
        let (at, outcome) = match event.kind {
            EventKind::Run if is_next => (Some(event.at), "resumed"),
            EventKind::Death if is_next => (Some(event.at), "dropped"),
            _ => (None, "unknown"),
        };
        Some(End {
            suspend,
            at,
            outcome,
        })
    }

    /// A wait of which the end is not in the trace, if the latest known event is a suspend. `is_over` says that
    /// the coroutine has ended.
    pub fn missing(coroutine: &Coroutine, is_over: bool) -> Option<Self> {
        let suspend = last_suspend(coroutine)?;
        let is_open = !is_over && coroutine.suspend().is_some();
        Some(End {
            suspend,
            at: None,
            outcome: if is_open { "open" } else { "unknown" },
        })
    }
}

fn last_suspend(coroutine: &Coroutine) -> Option<Event> {
    coroutine
        .last
        .filter(|last| last.kind == EventKind::Suspend)
}

/// The first call of `wake()` for each coroutine since its last run.
#[derive(Default)]
pub struct WakeCalls(Map<CoroutineId, FirstCall>);

/// A call of `wake()`, as the columns of a wait.
#[derive(Clone, Copy)]
pub struct FirstCall {
    at: Nanos,
    tid: u64,
    by: Value<'static>,
    site: Value<'static>,
}

impl WakeCalls {
    /// Notes a call, unless a run has seen this wake. A wake is counted first and dated afterwards, so a
    /// run may have seen a wake that is recorded later.
    pub fn note(
        &mut self,
        (references, trace_model): (&References, &TraceModel),
        thread_event: &ThreadEvent,
        call: &WakeCall,
    ) {
        let coroutine = trace_model.get(call.coroutine);
        if coroutine.is_some_and(|coroutine| is_new(coroutine, call)) {
            self.0.entry(call.coroutine).or_insert_with(|| FirstCall {
                at: thread_event.at,
                tid: thread_event.tid,
                by: references.waker(trace_model, call.by),
                site: references.site(call.site),
            });
        }
    }

    /// Takes the call before this event, if the event is a run or the death.
    pub fn take_before(&mut self, event: &Event) -> Option<FirstCall> {
        match event.kind {
            EventKind::Run | EventKind::Death => self.take(event.coroutine),
            EventKind::Birth | EventKind::Suspend => None,
        }
    }

    /// Takes the call for a coroutine.
    pub fn take(&mut self, id: CoroutineId) -> Option<FirstCall> {
        self.0.remove(&id)
    }
}

fn is_new(coroutine: &Coroutine, call: &WakeCall) -> bool {
    let known = coroutine.last.map_or(0, |last| last.wake_seen);
    coroutine.is_alive() && wakes_since(call.count, known).is_some_and(|wakes| 0 < wakes)
}

/// Writes a wait and the call that ended it.
pub fn write(
    (about, references): (About<'_>, &References),
    coroutine: &Coroutine,
    (end, call): (End, Option<FirstCall>),
    out: &mut Output<'_>,
) {
    let suspend = &end.suspend;
    let [kind, number] = events::resource(suspend.wait, suspend.arg);
    out.row(
        TableId::Waits,
        &[
            Value::id(Some(coroutine.id.0)),
            Value::count(suspend.at.0),
            Value::count_or_null(end.at.map(|at| at.0)),
            Value::count_or_null(call.map(|call| call.at.0)),
            Value::Text(end.outcome),
            references.site(suspend.site),
            kind,
            number,
            awaited(about, coroutine, suspend),
            Value::Unsigned(suspend.tid),
            call.map_or(Value::Null, |call| call.by),
            Value::unsigned(call.map(|call| call.tid)),
            call.map_or(Value::Null, |call| call.site),
            Value::Flag(suspend.marks.idle),
        ],
    );
}

/// The awaited coroutine, if it is known.
fn awaited(about: About<'_>, coroutine: &Coroutine, suspend: &Event) -> Value<'static> {
    if suspend.wait != WaitKind::Coroutine {
        return Value::Null;
    }
    let awaited = about.model.awaited.get(coroutine.process, suspend.arg);
    Value::id(awaited.map(|id| id.0))
}
