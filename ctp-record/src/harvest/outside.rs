//! What a pass asks of the world outside the memory, and the numbers of the trace.

use std::collections::HashMap;

use ctp_trace::record::{CoroutineId, Place, ProcessId, SiteId};

use super::Sink;

/// How a station's process is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// Its id, from the table of attached processes.
    Process(u32),
    /// One of its threads.
    Thread(u64),
    /// Not at all.
    Unknown,
}

/// Hands out the numbers of a trace: they go on from one memory to the next.
#[derive(Clone, Debug, Default)]
pub struct Numbers {
    coroutines: u32,
    sites: u32,
    shared: HashMap<PlaceOf, SiteId>,
}

/// A place of a program: its number, the place, and who calls whom there, whose addresses are offsets in
/// its file.
type PlaceOf = (u32, Place, Vec<u64>);

impl Numbers {
    /// Goes on after so many coroutines and sites.
    pub fn after(coroutines: u32, sites: u32) -> Self {
        Numbers {
            coroutines,
            sites,
            ..Numbers::default()
        }
    }

    /// The number of another coroutine; nothing if all are used up: none is given to two.
    pub(super) fn coroutine(&mut self) -> Option<CoroutineId> {
        self.coroutines = self.coroutines.checked_add(1)?;
        Some(CoroutineId(self.coroutines))
    }

    /// The number of another site; nothing if all are used up.
    pub(super) fn site(&mut self) -> Option<SiteId> {
        self.sites = self.sites.checked_add(1)?;
        Some(SiteId(self.sites))
    }

    /// The number of a place that another process of the same program has told of, else a new one.
    /// True if it is new.
    pub(super) fn shared(&mut self, place: PlaceOf) -> Option<(SiteId, bool)> {
        if let Some(known) = self.shared.get(&place) {
            return Some((*known, false));
        }
        let id = self.site()?;
        self.shared.insert(place, id);
        Some((id, true))
    }
}

/// What a pass asks of the world outside the memory.
pub trait Outside {
    /// The numbers of this trace.
    fn numbers(&mut self) -> &mut Numbers;
    /// The process of a peer; describes it to the sink when it is new.
    fn process(&mut self, peer: Peer, sink: &mut dyn Sink) -> ProcessId;
    /// By how many nanoseconds clocks are ahead of the recorder's that the kernel may show to this peer.
    fn clocks_ahead_ns(&mut self, _peer: Peer) -> Vec<i64> {
        Vec::new()
    }
    /// The program that runs in this process: the same number for the same file.
    fn program(&self, process: ProcessId) -> u32 {
        process.0
    }
    /// Where in that program's own file this address lies; `None` if it lies elsewhere, or if it is
    /// not certain that processes of the program have the same file.
    fn offset_in_program(&self, _process: ProcessId, _address: u64) -> Option<u64> {
        None
    }
    /// Is this an address of the process's program code? Describes new modules to the sink.
    fn is_text(&mut self, process: ProcessId, address: u64, sink: &mut dyn Sink) -> bool;
}
