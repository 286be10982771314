//! [`FirstCalls`]: the calls of `wake()` that end waits.

use ctp_trace::hash::Map;
use ctp_trace::model::Coroutine;
use ctp_trace::record::{CoroutineId, Event, WakeCall};
use ctp_trace::verdict::wakes_since;

/// By coroutine, the first call of `wake()` that the coroutine has not seen yet, with a value of the caller.
#[derive(Debug)]
pub struct FirstCalls<T>(Map<CoroutineId, FirstCall<T>>);

#[derive(Debug)]
struct FirstCall<T> {
    /// The wake count of the coroutine after this call, modulo 2^20.
    count: u32,
    value: T,
}

impl<T> Default for FirstCalls<T> {
    fn default() -> Self {
        FirstCalls(Map::default())
    }
}

impl<T> FirstCalls<T> {
    /// Notes a call, unless a run has seen this wake. A wake is counted first and dated afterwards, so a
    /// run may have seen a wake that is recorded later.
    pub fn note(&mut self, coroutine: &Coroutine, call: &WakeCall, value: impl FnOnce() -> T) {
        let seen = coroutine.last.map_or(0, |last| last.wake_seen);
        if coroutine.is_alive() && is_new(call.count, seen) {
            let entry = self.0.entry(call.coroutine);
            entry.or_insert_with(|| FirstCall {
                count: call.count,
                value: value(),
            });
        }
    }

    /// Forgets the call if the coroutine had seen it when it suspended: the run that the call led to is
    /// not in the trace.
    pub fn suspended(&mut self, suspend: &Event) {
        let call = self.0.get(&suspend.coroutine);
        if call.is_some_and(|call| !is_new(call.count, suspend.wake_seen)) {
            self.0.remove(&suspend.coroutine);
        }
    }

    /// Takes the call for a coroutine.
    pub fn take(&mut self, id: CoroutineId) -> Option<T> {
        self.0.remove(&id).map(|call| call.value)
    }
}

/// Whether this wake came after the count was `seen`.
fn is_new(count: u32, seen: u16) -> bool {
    wakes_since(count, seen).is_some_and(|wakes| 0 < wakes)
}

#[cfg(test)]
mod tests {
    use ctp_trace::TraceModel;
    use ctp_trace::record::{Birth, EventKind, Record};

    use super::*;

    const ID: CoroutineId = CoroutineId(1);

    fn suspend(n: u64, wake_seen: u16) -> Event {
        Event {
            coroutine: ID,
            n,
            kind: EventKind::Suspend,
            wake_seen,
            ..Event::default()
        }
    }

    fn call(count: u32) -> WakeCall {
        WakeCall {
            coroutine: ID,
            count,
            ..WakeCall::default()
        }
    }

    /// A coroutine that waits, having seen no wake.
    fn waiting() -> TraceModel {
        let mut trace_model = TraceModel::new();
        trace_model.consume(&Record::Birth(Birth {
            coroutine: ID,
            ..Birth::default()
        }));
        trace_model.consume(&Record::Event(suspend(1, 0)));
        trace_model
    }

    #[test]
    fn first_new_call_is_kept() {
        let trace_model = waiting();
        let coroutine = trace_model.get(ID).expect("a coroutine");
        let mut calls = FirstCalls::default();
        for (count, value) in [(0, "seen"), (1, "first"), (2, "second")] {
            calls.note(coroutine, &call(count), || value);
        }
        assert_eq!(calls.take(ID), Some("first"));
        assert_eq!(calls.take(ID), None);
    }

    // The run between the two suspends is lost.
    #[test]
    fn call_that_the_next_wait_has_seen_is_dropped() {
        let trace_model = waiting();
        let coroutine = trace_model.get(ID).expect("a coroutine");
        let mut calls = FirstCalls::default();
        calls.note(coroutine, &call(1), || ());
        calls.suspended(&suspend(3, 1));
        assert_eq!(calls.take(ID), None);
        calls.note(coroutine, &call(2), || ());
        calls.suspended(&suspend(3, 1));
        assert_eq!(calls.take(ID), Some(()), "it came after the run began");
    }
}
