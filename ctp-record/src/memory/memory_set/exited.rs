//! Memories of processes that have exited: the rest is read, and the memories are given up.

use ctp_nostd::aggregate::MODE_FLIGHT;
use ctp_trace::record::{Nanos, ProcessId};

use super::MemorySet;
use super::held_memory::{HeldMemory, latest_in};
use crate::harvest::Sink;
use crate::proc::processes::{Processes, Writers};

impl MemorySet {
    /// Reads what an exited process left, and gives up its own memories. Returns the time of the latest
    /// record there, or in the shared memory if the process had no memory of its own.
    pub fn reap(
        &mut self,
        pid: u32,
        process: ProcessId,
        processes: &mut Processes,
        sink: &mut dyn Sink,
    ) -> Nanos {
        let mut own: Vec<HeldMemory> = self
            .held
            .extract_if(.., |held| held.only_pid == Some(pid))
            .collect();
        for held in &mut own {
            self.finish_or_keep(held, processes, sink);
            self.given_up.add_left(held);
        }
        let shared = self.held.iter_mut().filter(|held| held.only_pid.is_none());
        for held in shared {
            // The process may have begun coroutines since the last scan, which nothing would reap later.
            held.harvest.request_full_scan();
            held.pass(processes, sink);
            let mut writers = Writers::of(processes, held.only_pid);
            let region = held.memory.region();
            held.harvest.reap(process, &region, &mut writers, sink);
        }
        let latest = latest_in(&own);
        self.keep_headers(own);
        self.latest_given_up = self.latest_given_up.max(latest.unwrap_or_default());
        latest.or_else(|| latest_in(&self.held)).unwrap_or_default()
    }

    /// Reads what is left in a memory without writers. A flight recorder keeps the memory.
    fn finish_or_keep(
        &mut self,
        held: &mut HeldMemory,
        processes: &mut Processes,
        sink: &mut dyn Sink,
    ) {
        if self.recording.mode == MODE_FLIGHT {
            held.pass(processes, sink);
            return self.keep(held.view(), sink);
        }
        held.finish(processes, sink);
    }

    /// Keeps the headers of memories that were given up. A flight recorder has kept the whole memories.
    fn keep_headers(&mut self, given_up: Vec<HeldMemory>) {
        if self.recording.mode != MODE_FLIGHT {
            for held in given_up {
                self.orphans.keep_header(held.memory);
            }
        }
    }
}
