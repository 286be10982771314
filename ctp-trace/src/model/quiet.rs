//! Since when no coroutine of a process has run.

use super::TraceModel;
use crate::hash::Map;
use crate::record::{Nanos, ProcessId};

/// For each process, the end of its latest run; `None` if a coroutine runs or may be running. A run
/// counts as a wait if its thread is blocked until another thread wakes it.
#[derive(Clone, Debug, Default)]
pub(super) struct Quiet(Map<ProcessId, Option<Nanos>>);

impl Quiet {
    /// Since when no coroutine of the process has run, as far as the records show.
    pub(super) fn since(&self, process: ProcessId) -> Option<Nanos> {
        self.0.get(&process).copied().flatten()
    }
}

impl TraceModel {
    /// The processes in which no coroutine runs. For coroutines that have ended, the latest events of their
    /// threads count.
    pub(super) fn quiet(&self) -> Quiet {
        let mut quiet = Quiet::default();
        for coroutine in self.coroutines.all() {
            let latest = quiet.0.entry(coroutine.process).or_insert_with(|| {
                let runners = self.runners.get(coroutine.process);
                Some(runners.map_or(Nanos(0), |runners| runners.complete_until()))
            });
            if !coroutine.is_alive() {
                continue;
            }
            let is_known = coroutine.caveat().is_none() && coroutine.account.hidden.is_none();
            *latest = match coroutine.last {
                _ if !is_known => None,
                Some(last) if coroutine.runs_since().is_none() => latest.map(|at| at.max(last.at)),
                Some(last) if self.is_thread_parked(coroutine) => latest.map(|at| at.max(last.at)),
                Some(_) => None,
                None => *latest,
            };
        }
        quiet
    }
}
