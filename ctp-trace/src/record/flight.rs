//! What only the trace of a flight recorder tells: from when on it has events, and what those come
//! to that were before.

use super::aggregate::{Bins, Durations};
use crate::record::{CoroutineId, Nanos, ProcessId, SiteId};

/// This is the trace of a flight recorder: of all threads and coroutines it has what came since a
/// moment, and of each coroutine at least its latest events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// All that happened from here on is in the trace, but for what is counted as lost.
    pub since: Nanos,
    /// Records that threads had written over, or that were older than was asked for.
    pub overwritten: u64,
    /// Records of the window that are not in the trace, since nobody knew any more of whom they
    /// were.
    pub unattributed: u64,
    /// The program went on, and so did the recording.
    pub goes_on: bool,
}

/// How many events of a coroutine came before its first one in the trace. They are not lost: its
/// [`Aggregate`](crate::record::Aggregate), if it has one, is of all of its events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Earlier {
    /// The coroutine whose events they are.
    pub coroutine: CoroutineId,
    /// How many, and so the index of the first one that can be in the trace.
    pub events: u64,
}

/// What the coroutines of one name, process and place come to that ended before the window began,
/// and of which nothing else is in the trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EndedSums {
    /// Their process.
    pub process: ProcessId,
    /// Their name.
    pub name: String,
    /// Where they were spawned.
    pub spawn_site: SiteId,
    /// How many there were.
    pub coroutines: u64,
    /// Events that they had, but for those lost.
    pub events: u64,
    /// Events that they had and of which nothing tells.
    pub lost: u64,
    /// Events that a filter kept out.
    pub filtered: u64,
    /// Durations that are in no figure.
    pub left_out: u64,
    /// How the durations are divided.
    pub bins: Bins,
    /// Waits that ended in a run.
    pub waiting: Durations,
    /// Runs that ended.
    pub running: Durations,
}
