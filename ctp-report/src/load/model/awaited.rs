//! Whose end a coroutine waits for: programs number each other in their own way, pages do as the
//! recorder does.

use std::collections::BTreeMap;

use ctp_trace::TraceModel;
use ctp_trace::record::{CoroutineId, ProcessId};

/// Those whose end somebody waits for, by the number that their program gave them.
#[derive(Debug, Default)]
pub struct Awaited(BTreeMap<(ProcessId, u64), CoroutineId>);

impl Awaited {
    /// Those that are alive, and those that ended without waking who waits for that.
    pub fn of(trace_model: &TraceModel) -> Self {
        let closings = trace_model.closings().into_iter();
        let ended = closings.filter_map(|(id, closing)| {
            let (other, _) = closing.ended?;
            let coroutine = trace_model.get(id)?;
            Some(((coroutine.process, coroutine.suspend()?.arg), other))
        });
        Awaited(ended.chain(trace_model.awaited()).collect())
    }

    /// The one that this process numbers so.
    pub fn get(&self, process: ProcessId, number: u64) -> Option<CoroutineId> {
        self.0.get(&(process, number)).copied()
    }
}
