//! The first and last record of a trace, and the recording's description in shared memory.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;

use ctp_nostd::create::Recording;
use ctp_nostd::inspect::Counters;
use ctp_trace::record::{End, ExitReason, Nanos, Start};

use crate::harvest::Totals;
use crate::memory::clock::Clock;
use crate::session::wait;

/// The first record of a recording of this command with this capacity.
pub fn start_of(clock: Clock, command: &[OsString], stations: u32) -> Start {
    let host = rustix::system::uname();
    Start {
        trace_id: trace_id(clock),
        recorder: env!("CARGO_PKG_VERSION").to_owned(),
        host: host.nodename().to_string_lossy().into_owned(),
        argv: command
            .iter()
            .map(|word| word.as_bytes().to_vec())
            .collect(),
        started_unix_ns: clock.realtime_ns,
        started_monotonic_ns: clock.monotonic_ns,
        capacity: stations,
        precise_chains: false,
    }
}

/// An id that differs between recordings: on the same machine by time and process, on other machines by chance.
fn trace_id(clock: Clock) -> [u8; 16] {
    use std::hash::{BuildHasher as _, RandomState};
    let seed = (clock.realtime_ns, clock.monotonic_ns, std::process::id());
    let halves = [(); 2].map(|()| RandomState::new().hash_one(seed).to_le_bytes());
    let mut id = [0; 16];
    id.copy_from_slice(halves.as_flattened());
    id
}

/// The description of the recording that programs read.
pub fn recording_of(start: &Start) -> Recording {
    Recording {
        trace_id: start.trace_id,
        realtime_ns: start.started_unix_ns,
        monotonic_ns: start.started_monotonic_ns,
        pid: std::process::id(),
        barrier: wait::can_fence_programs(),
        ..Recording::default()
    }
}

/// The last record. Its number of unrecorded processes includes only those that counted themselves.
pub fn end_of(totals: Totals, at: Nanos, how: ExitReason, counters: Counters) -> End {
    End {
        at,
        how,
        events: totals.events,
        lost: totals.lost,
        refused: counters.refused.into(),
        coroutines: totals.coroutines.into(),
        unnamed: totals.unnamed + u64::from(counters.unnamed),
        quarantined: totals.quarantined,
        faulting_tid: 0,
        unrecorded: counters.unreached.into(),
        records: 0,
    }
}
