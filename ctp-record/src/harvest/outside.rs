//! What a pass needs from outside the memory: processes, their clocks and code, and the numbers of the trace.

use std::collections::HashMap;

use ctp_trace::record::{CoroutineId, Place, ProcessId, SiteId};

use super::Sink;

/// What identifies the process of a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StationProcess {
    /// The process id, from the table of attached processes.
    Process(u32),
    /// A thread of the process.
    Thread(u64),
    /// Nothing is known.
    Unknown,
}

/// Assigns the coroutine and site numbers of a trace. All memories of a recording share them.
#[derive(Clone, Debug, Default)]
pub struct TraceNumbers {
    coroutines: u32,
    sites: u32,
    shared: HashMap<PlaceOf, SiteId>,
}

/// A site that all processes of a program share: the program's number, the place, and the call chain as
/// offsets in the program's file.
type PlaceOf = (u32, Place, Vec<u64>);

impl TraceNumbers {
    /// Continues after numbers that are already in use.
    pub fn after(coroutines: u32, sites: u32) -> Self {
        TraceNumbers {
            coroutines,
            sites,
            ..TraceNumbers::default()
        }
    }

    /// The next coroutine number, or `None` if all are used up: a number is never assigned twice.
    pub(super) fn coroutine(&mut self) -> Option<CoroutineId> {
        self.coroutines = self.coroutines.checked_add(1)?;
        Some(CoroutineId(self.coroutines))
    }

    /// The next site number, or `None` if all are used up.
    pub(super) fn site(&mut self) -> Option<SiteId> {
        self.sites = self.sites.checked_add(1)?;
        Some(SiteId(self.sites))
    }

    /// The number of a place and whether it is new. A place that another process of the same program has
    /// already reported keeps its number.
    pub(super) fn shared(&mut self, place: PlaceOf) -> Option<(SiteId, bool)> {
        if let Some(known) = self.shared.get(&place) {
            return Some((*known, false));
        }
        let id = self.site()?;
        self.shared.insert(place, id);
        Some((id, true))
    }
}

/// What a pass needs from outside the memory.
pub trait Outside {
    /// The numbers of the trace.
    fn numbers(&mut self) -> &mut TraceNumbers;
    /// The process of a peer. A new process is described to the sink.
    fn process(&mut self, peer: StationProcess, sink: &mut dyn Sink) -> ProcessId;
    /// The clocks that the kernel may show to this peer, as nanoseconds by which each is ahead of the
    /// recorder's clock.
    fn clocks_ahead_ns(&mut self, _peer: StationProcess) -> Vec<i64> {
        Vec::new()
    }
    /// The number of the program that runs in this process: equal for equal files.
    fn program(&self, process: ProcessId) -> u32 {
        process.0
    }
    /// The offset of an address in the file of the process's program. `None` if the address lies elsewhere,
    /// or if the processes of the program may have different files.
    fn offset_in_program(&self, _process: ProcessId, _address: u64) -> Option<u64> {
        None
    }
    /// The two words at an address in the memory of the process. `None` if they cannot be read.
    fn words_at(&self, _process: ProcessId, _address: u64) -> Option<[u64; 2]> {
        None
    }
    /// Whether an address lies in code of the process. New modules are described to the sink.
    fn is_text(&mut self, process: ProcessId, address: u64, sink: &mut dyn Sink) -> bool;
}
