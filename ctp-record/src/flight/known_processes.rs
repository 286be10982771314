//! What is known outside the memories when a snapshot is written. Nothing new is looked up, because only
//! the recording thread reads `/proc`.

use std::collections::HashMap;

use ctp_nostd::layout::Attach;
use ctp_trace::record::{ProcessId, Record};

use super::snapshot_input::SnapshotInput;
use crate::harvest::{Outside, Sink, StationProcess, TraceNumbers};

/// Numbers, programs and modules that were known when the snapshot was gathered.
#[derive(Debug)]
pub struct KnownProcesses {
    numbers: TraceNumbers,
    programs: HashMap<ProcessId, u32>,
    /// The address ranges of program code.
    modules: HashMap<ProcessId, Vec<(u64, u64)>>,
}

impl KnownProcesses {
    /// Takes over what was gathered.
    pub fn of(input: &SnapshotInput) -> Self {
        let mut modules: HashMap<_, Vec<_>> = HashMap::new();
        for record in &input.definitions {
            if let Record::Module(module) = record {
                let all = modules.entry(module.process).or_default();
                all.push((module.start, module.end));
            }
        }
        KnownProcesses {
            numbers: input.numbers.clone(),
            programs: input.programs.clone(),
            modules,
        }
    }
}

/// The processes of one memory.
#[derive(Debug)]
pub struct KnownOutside<'k> {
    /// What is known of all memories.
    pub known: &'k mut KnownProcesses,
    /// The table of processes that attached to the memory.
    pub attaches: &'k [Attach],
    /// The numbers of these processes, in the order of that table.
    pub attached: &'k [ProcessId],
}

impl Outside for KnownOutside<'_> {
    fn numbers(&mut self) -> &mut TraceNumbers {
        &mut self.known.numbers
    }

    /// Every writing process is known. A peer of an unknown process counts as the first process.
    fn process(&mut self, peer: StationProcess, _: &mut dyn Sink) -> ProcessId {
        let rows = self.attaches.iter().zip(self.attached);
        let mut of_peer =
            rows.filter(|(row, _)| row.pid().map(StationProcess::Process) == Some(peer));
        let known = of_peer.next_back().map(|(_, process)| *process);
        known.or(self.attached.first().copied()).unwrap_or_default()
    }

    fn program(&self, process: ProcessId) -> u32 {
        let known = self.known.programs.get(&process);
        known.copied().unwrap_or(u32::MAX - process.0)
    }

    fn is_text(&mut self, process: ProcessId, address: u64, _: &mut dyn Sink) -> bool {
        let mut modules = self.known.modules.get(&process).into_iter().flatten();
        modules.any(|(start, end)| (*start..*end).contains(&address))
    }
}
