//! [`Subject`]: a process that is inspected.

use ctp_inspect::{Inspector, ProcessTarget, SearchPaths, TargetError, TraceIds};
use ctp_trace::escape::escaped_bytes;
use ctp_trace::record::{ProcessId, Record};

use crate::error::InspectError;
use crate::harvest::Sink;
use crate::proc::process::name_of;
use crate::proc::processes::Processes;

/// The id and the name of a process, safe to print.
pub fn described(pid: u32) -> String {
    format!("{pid} ({})", escaped_bytes(&name_of(pid)))
}

/// A process that is inspected.
pub struct Subject {
    /// The kernel's id.
    pub pid: u32,
    /// The opened process, until it is described in the trace.
    target: Option<ProcessTarget>,
    inspector: Option<Inspector>,
}

impl Subject {
    /// Opens the memory of the process. `interrupts` says whether to stop running threads for a moment.
    ///
    /// # Errors
    /// The process does not exist, or may not be read.
    pub fn open(pid: u32, interrupts: bool) -> Result<Self, InspectError> {
        let mut target =
            ProcessTarget::open(pid).map_err(|error| InspectError::Target(pid, error))?;
        if interrupts {
            target = target.interrupting();
        }
        Ok(Subject {
            pid,
            target: Some(target),
            inspector: None,
        })
    }

    /// The id and the name.
    pub fn described(&self) -> String {
        described(self.pid)
    }

    /// Describes the process and its files in the trace, before its first inspection.
    /// Debug info is also looked for in `search_paths`.
    pub fn describe(
        &mut self,
        search_paths: &SearchPaths,
        processes: &mut Processes,
        sink: &mut dyn Sink,
    ) {
        let id: ProcessId = processes.meet(self.pid, sink);
        if let Some(target) = self.target.take() {
            let inspector =
                Inspector::with_search_paths(Box::new(target), id, search_paths.clone());
            self.inspector = Some(inspector);
        }
    }

    /// Inspects the process.
    ///
    /// # Errors
    /// The process has ended.
    pub fn inspect(&mut self, ids: &mut TraceIds) -> Result<Vec<Record>, TargetError> {
        match &mut self.inspector {
            Some(inspector) => inspector.inspect(ids),
            None => Ok(Vec::new()),
        }
    }
}
