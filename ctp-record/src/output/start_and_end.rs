//! The first and last record of a trace.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;

use ctp_nostd::inspect::Counters;
use ctp_trace::record::{End, ExitReason, Nanos, Start};

use crate::harvest::Totals;
use crate::memory::clock::Clock;

/// The [`Start`] record. `stations` is the capacity in coroutines.
pub fn start_record(clock: Clock, command: &[OsString], stations: u32) -> Start {
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

/// A random id of 128 bits. Times and process id are hashed in, in case that the random keys repeat.
fn trace_id(clock: Clock) -> [u8; 16] {
    use std::hash::{BuildHasher as _, RandomState};
    let seed = (clock.realtime_ns, clock.monotonic_ns, std::process::id());
    let halves = [(); 2].map(|()| RandomState::new().hash_one(seed).to_le_bytes());
    let mut id = [0; 16];
    id.copy_from_slice(halves.as_flattened());
    id
}

/// The [`End`] record. `unrecorded` counts only the forks that found no recorder. `faulting_tid` and `records` are 0. A
/// caller that knows more replaces these fields.
pub fn end_record(totals: Totals, at: Nanos, how: ExitReason, counters: Counters) -> End {
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
