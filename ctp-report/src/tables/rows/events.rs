//! Writes the rows of the tables `events` and `wakes`.

use ctp_trace::TraceModel;
use ctp_trace::model::Coroutine;
use ctp_trace::record::{Act, Event, EventKind, ThreadEvent, WaitKind, WakeCall};

use super::Output;
use super::references::References;
use crate::evidence::resource;
use crate::tables::schema::TableId;
use crate::tables::value::Value;

/// Writes an event of a coroutine. `coroutine` is its state before the event, or `None` before its first record.
pub fn event(
    references: &References,
    coroutine: Option<&Coroutine>,
    event: &Event,
    out: &mut Output<'_>,
) {
    let [kind, number] = match event.kind {
        EventKind::Suspend => resource(event.wait, event.arg),
        _ => [Value::Null; 2],
    };
    let process = coroutine.map(|coroutine| coroutine.process);
    out.row_of_words(
        TableId::Events,
        &[
            Value::count(event.at.0),
            Value::id(Some(event.coroutine.0)),
            Value::Word(word(event.kind)),
            Value::Unsigned(event.tid),
            references.site(event.site),
            kind,
            number,
            Value::count_or_null(coroutine.map(|coroutine| coroutine.lost_before(event))),
            references.process(process.unwrap_or_default()),
        ],
    );
}

fn word(kind: EventKind) -> &'static str {
    match kind {
        EventKind::Birth => "birth",
        EventKind::Run => "run",
        EventKind::Suspend => "suspend",
        EventKind::Death => "death",
    }
}

/// The kind and the number of an awaited resource. A yield and an unknown resource have no number.
pub fn resource(wait: WaitKind, arg: u64) -> [Value<'static>; 2] {
    let number = match wait {
        WaitKind::Unknown | WaitKind::Yield => Value::Null,
        _ => Value::Unsigned(arg),
    };
    [Value::Word(resource::word(wait)), number]
}

/// Writes an event of a thread that is not a call of `wake()`.
pub fn thread_event(
    (references, trace_model): (&References, &TraceModel),
    thread_event: &ThreadEvent,
    out: &mut Output<'_>,
) {
    let nothing = [Value::Null; 2];
    let (word, by, site, [kind, number], lost) = match &thread_event.act {
        Act::Begin => ("thread-begin", Value::Null, Value::Null, nothing, None),
        Act::End => ("thread-end", Value::Null, Value::Null, nothing, None),
        Act::Loss(records) => ("loss", Value::Null, Value::Null, nothing, Some(*records)),
        Act::Close(close) => {
            let closed = resource(close.wait, close.arg);
            (
                "close",
                Value::Null,
                references.site(close.site),
                closed,
                None,
            )
        }
        Act::Acquire(hold) | Act::Release(hold) => {
            let is_acquired = matches!(thread_event.act, Act::Acquire(_));
            let word = if is_acquired { "acquire" } else { "release" };
            let by = references.waker(trace_model, hold.by);
            let held = resource(hold.wait, hold.arg);
            (word, by, references.site(hold.site), held, None)
        }
        _ => return,
    };
    out.row_of_words(
        TableId::Events,
        &[
            Value::count(thread_event.at.0),
            by,
            Value::Word(word),
            Value::Unsigned(thread_event.tid),
            site,
            kind,
            number,
            Value::count_or_null(lost),
            references.process(thread_event.process),
        ],
    );
}

/// Writes a call of `wake()`.
pub fn wake(
    (references, trace_model): (&References, &TraceModel),
    thread_event: &ThreadEvent,
    call: &WakeCall,
    out: &mut Output<'_>,
) {
    out.row_of_words(
        TableId::Wakes,
        &[
            Value::count(thread_event.at.0),
            references.coroutine(trace_model, call.coroutine),
            references.waker(trace_model, call.by),
            Value::Unsigned(thread_event.tid),
            references.site(call.site),
            references.process(thread_event.process),
        ],
    );
}
