//! The addresses of suspended coroutines.

use std::collections::BTreeMap;

use ctp_trace::record::{CoroutineId, ProcessId};

use super::MemorySet;

impl MemorySet {
    /// The suspended coroutines of a process, by their frame addresses.
    pub fn frames(&self, process: ProcessId) -> BTreeMap<u64, CoroutineId> {
        let mut frames = BTreeMap::new();
        for held in &self.held {
            let region = held.memory.region();
            let stations = 0..held.stations();
            let found = stations.filter_map(|index| held.harvest.frame(index, &region, process));
            frames.extend(found);
        }
        frames
    }
}
