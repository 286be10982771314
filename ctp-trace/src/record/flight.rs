//! Records that only a flight recorder's trace has: where its window begins, and totals of what happened
//! before.

use super::aggregate::{Bins, Durations};
use crate::record::{CoroutineId, Nanos, ProcessId, SiteId};

/// The trace comes from a flight recorder. It has all events of all threads and coroutines since a
/// moment, and at least the latest events of each coroutine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// Everything from here on is in the trace, except for what is counted as lost.
    pub since: Nanos,
    /// Records that threads had overwritten, or that were older than the requested window.
    pub overwritten: u64,
    /// Records of the window that are not in the trace, because their coroutine was no longer known.
    pub unattributed: u64,
    /// The program continued after this trace was written, and so did the recording.
    pub goes_on: bool,
}

/// How many events of a coroutine precede its first event in the trace. They are not lost: the
/// coroutine's [`Aggregate`](crate::record::Aggregate), if there is one, includes all of its events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Earlier {
    /// The coroutine with these events.
    pub coroutine: CoroutineId,
    /// How many; also the index of the first event that can be in the trace.
    pub events: u64,
}

/// Totals of coroutines with the same name, process and spawn site that ended before the window began
/// and have no other record in the trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EndedSums {
    /// The process of the coroutines.
    pub process: ProcessId,
    /// The name of the coroutines.
    pub name: String,
    /// Where they were spawned.
    pub spawn_site: SiteId,
    /// How many coroutines are included.
    pub coroutines: u64,
    /// Events of these coroutines, without those lost.
    pub events: u64,
    /// Events of these coroutines that left no record.
    pub lost: u64,
    /// Events that a filter kept out.
    pub filtered: u64,
    /// How many durations are in no total, because a signal handler had interrupted an update of the
    /// totals, or the totals of a coroutine are not known.
    pub left_out: u64,
    /// The bounds of the bins.
    pub bins: Bins,
    /// Waits that were followed by a run.
    pub waiting: Durations,
    /// Completed runs.
    pub running: Durations,
}
