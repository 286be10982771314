//! The world outside the memories as far as it is known when a snapshot is written: nothing is
//! looked up any more, for that is the business of the thread that goes on recording.

use std::collections::HashMap;

use ctp_nostd::layout::Attach;
use ctp_trace::record::{ProcessId, Record};

use super::gathered::Gathered;
use crate::harvest::{Numbers, Outside, Peer, Sink};

/// What was known.
#[derive(Debug)]
pub struct Known {
    numbers: Numbers,
    programs: HashMap<ProcessId, u32>,
    /// Where program code is.
    modules: HashMap<ProcessId, Vec<(u64, u64)>>,
}

impl Known {
    /// Takes over what was gathered.
    pub fn of(gathered: &Gathered) -> Self {
        let mut modules: HashMap<_, Vec<_>> = HashMap::new();
        for record in &gathered.definitions {
            if let Record::Module(module) = record {
                let all = modules.entry(module.process).or_default();
                all.push((module.start, module.end));
            }
        }
        Known {
            numbers: gathered.numbers.clone(),
            programs: gathered.programs.clone(),
            modules,
        }
    }
}

/// What is known of the processes of one memory.
#[derive(Debug)]
pub struct OfMemory<'k> {
    /// Of all memories.
    pub known: &'k mut Known,
    /// The table of the processes that attached to the memory.
    pub attaches: &'k [Attach],
    /// Their numbers, in the order of that table.
    pub attached: &'k [ProcessId],
}

impl Outside for OfMemory<'_> {
    fn numbers(&mut self) -> &mut Numbers {
        &mut self.known.numbers
    }

    /// All that write were met before. What does not tell its process is of the first one.
    fn process(&mut self, peer: Peer, _: &mut dyn Sink) -> ProcessId {
        let rows = self.attaches.iter().zip(self.attached);
        let is_it = |row: &Attach| row.pid().map(Peer::Process) == Some(peer);
        let mut met = rows.filter(|(row, _)| is_it(row));
        let known = met.next_back().map(|(_, process)| *process);
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
