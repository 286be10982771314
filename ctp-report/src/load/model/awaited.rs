//! Maps the numbers by which a program refers to awaited coroutines to the ids of the recorder, which
//! pages print.

use std::collections::BTreeMap;

use ctp_trace::TraceModel;
use ctp_trace::record::{CoroutineId, ProcessId};

/// Awaited coroutines, by the number that their program gave them.
#[derive(Debug, Default)]
pub struct Awaited(BTreeMap<(ProcessId, u64), CoroutineId>);

impl Awaited {
    /// Collects awaited coroutines that are alive, or ended without waking the waiting coroutine.
    pub fn of(trace_model: &TraceModel) -> Self {
        let closings = trace_model.closings().into_iter();
        let ended = closings.filter_map(|(id, closing)| {
            let (other, _) = closing.ended?;
            let coroutine = trace_model.get(id)?;
            Some(((coroutine.process, coroutine.suspend()?.arg), other))
        });
        Awaited(ended.chain(trace_model.awaited()).collect())
    }

    /// The coroutine with this number in this process.
    pub fn get(&self, process: ProcessId, number: u64) -> Option<CoroutineId> {
        self.0.get(&(process, number)).copied()
    }
}
