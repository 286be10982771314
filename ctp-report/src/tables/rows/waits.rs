//! The rows of `waits`.

use ctp_trace::TraceModel;
use ctp_trace::model::Coroutine;
use ctp_trace::record::{Event, EventKind, Nanos, ThreadEvent, WaitKind, WakeCall};

use super::references::References;
use super::{About, Output, events};
use crate::evidence::selection::Selection;
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
        let is_next = event.follows(&suspend);
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

    /// Whether a part of the wait is in the selected time.
    pub fn is_selected(&self, selection: &Selection) -> bool {
        let to = self.at.unwrap_or(Nanos(u64::MAX));
        selection.has_part(self.suspend.at, to)
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

/// A call of `wake()`, as the columns of a wait.
#[derive(Clone, Copy)]
pub struct Call {
    at: Nanos,
    tid: u64,
    by: Value<'static>,
    site: Value<'static>,
}

impl Call {
    /// The columns of a call.
    pub fn of(
        (references, trace_model): (&References, &TraceModel),
        thread_event: &ThreadEvent,
        call: &WakeCall,
    ) -> Self {
        Call {
            at: thread_event.at,
            tid: thread_event.tid,
            by: references.waker(trace_model, call.by),
            site: references.site(call.site),
        }
    }
}

/// Writes a wait and the call that ended it.
pub fn write(
    (about, references): (About<'_>, &References),
    coroutine: &Coroutine,
    (end, call): (End, Option<Call>),
    out: &mut Output<'_>,
) {
    let suspend = &end.suspend;
    let [kind, number] = events::resource(suspend.wait, suspend.arg);
    out.row_of_words(
        TableId::Waits,
        &[
            Value::id(Some(coroutine.id.0)),
            Value::count(suspend.at.0),
            Value::count_or_null(end.at.map(|at| at.0)),
            Value::count_or_null(call.map(|call| call.at.0)),
            Value::Word(end.outcome),
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
    about.coroutine(awaited)
}
