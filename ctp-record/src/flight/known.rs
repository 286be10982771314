//! The world outside the memories as far as it is known when a snapshot is written: nothing is
//! looked up any more, for that is the business of the thread that goes on recording.

use std::collections::HashMap;

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

impl Outside for Known {
    fn numbers(&mut self) -> &mut Numbers {
        &mut self.numbers
    }

    /// Those that write were all met before.
    fn process(&mut self, _: Peer, _: &mut dyn Sink) -> ProcessId {
        ProcessId::default()
    }

    fn program(&self, process: ProcessId) -> u32 {
        let known = self.programs.get(&process);
        known.copied().unwrap_or(u32::MAX - process.0)
    }

    fn is_text(&mut self, process: ProcessId, address: u64, _: &mut dyn Sink) -> bool {
        let mut modules = self.modules.get(&process).into_iter().flatten();
        modules.any(|(start, end)| (*start..*end).contains(&address))
    }
}
