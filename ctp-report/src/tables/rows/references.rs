//! The rows to which other rows refer. An id that a damaged trace does not define becomes null, so that
//! each foreign key leads to a row.

use ctp_trace::TraceModel;
use ctp_trace::hash::Map;
use ctp_trace::record::{CoroutineId, ProcessId, SiteId, Waker};

use super::coroutine_set::CoroutineSet;
use crate::load::Model;
use crate::tables::value::Value;

/// The known ids.
pub struct References {
    sites: Map<SiteId, ()>,
    processes: Map<ProcessId, ()>,
    /// The coroutines that have a row, and may be gone from the model.
    written: CoroutineSet,
}

impl References {
    /// The sites and processes of a trace.
    pub fn of(model: &Model) -> Self {
        let sites = model.sites.keys().map(|site| (*site, ()));
        let processes = model.processes.iter().map(|process| (process.id, ()));
        References {
            sites: sites.collect(),
            processes: processes.collect(),
            written: CoroutineSet::default(),
        }
    }

    /// Notes the row of a coroutine. Returns whether this is its first.
    pub fn note_written(&mut self, id: CoroutineId) -> bool {
        self.written.insert(id)
    }

    /// The id of a site, or null.
    pub fn site(&self, id: SiteId) -> Value<'static> {
        Value::id(self.sites.contains_key(&id).then_some(id.0))
    }

    /// The id of a process, or null.
    pub fn process(&self, id: ProcessId) -> Value<'static> {
        Value::id(self.processes.contains_key(&id).then_some(id.0))
    }

    /// The id of a coroutine that was read before, or null.
    pub fn coroutine(&self, trace_model: &TraceModel, id: CoroutineId) -> Value<'static> {
        let is_known = trace_model.get(id).is_some() || self.written.contains(id);
        Value::id(is_known.then_some(id.0))
    }

    /// The id of the coroutine that called or acquired, or null.
    pub fn waker(&self, trace_model: &TraceModel, waker: Waker) -> Value<'static> {
        match waker {
            Waker::Coroutine(id) => self.coroutine(trace_model, id),
            Waker::Foreign | Waker::Thread(_) => Value::Null,
        }
    }
}
