//! What a record is about, as far as a selection needs it.

use ctp_trace::record::{Act, CoroutineId, Nanos, Record, ThreadEvent, Waker};

/// What a record is about.
#[derive(Clone, Copy, Debug, Default)]
pub struct RecordSubject {
    /// The coroutine.
    pub coroutine: Option<CoroutineId>,
    /// The thread of a thread event.
    pub tid: Option<u64>,
    /// The time.
    pub at: Option<Nanos>,
}

impl RecordSubject {
    /// `None` for records about neither a coroutine nor a thread.
    pub fn of(record: &Record) -> Option<Self> {
        let about = |coroutine, at| RecordSubject {
            coroutine: Some(coroutine),
            tid: None,
            at,
        };
        Some(match record {
            Record::Birth(birth) => about(birth.coroutine, Some(birth.at)),
            Record::Event(event) => about(event.coroutine, Some(event.at)),
            Record::Wake(wake) => about(wake.coroutine, Some(wake.at)),
            Record::EventCounts(counts) => about(counts.coroutine, None),
            Record::Aggregate(aggregate) => about(aggregate.coroutine, None),
            Record::Earlier(earlier) => about(earlier.coroutine, None),
            Record::Look(look) => about(look.coroutine, Some(look.at)),
            Record::CoroutineStack(stack) => about(stack.coroutine, Some(stack.at)),
            Record::ThreadEvent(event) => RecordSubject {
                coroutine: subject(event),
                tid: Some(event.tid),
                at: Some(event.at),
            },
            _ => return None,
        })
    }
}

/// The coroutine that a thread event is about: the woken coroutine, or the coroutine that has the lock.
fn subject(event: &ThreadEvent) -> Option<CoroutineId> {
    match &event.act {
        Act::Wake(call) => Some(call.coroutine),
        Act::Acquire(hold) | Act::Release(hold) => match hold.by {
            Waker::Coroutine(id) => Some(id),
            Waker::Thread(_) | Waker::Foreign => None,
        },
        _ => None,
    }
}
