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
    /// The number of wakes of the coroutine, including this wake.
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

fn is_new(count: u32, seen: u16) -> bool {
    wakes_since(count, seen).is_some_and(|wakes| 0 < wakes)
}
