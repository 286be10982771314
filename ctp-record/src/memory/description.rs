//! What the header of a memory says about the recording.

use ctp_nostd::create::Recording;
use ctp_trace::record::Start;

/// What the header says. `barrier` says whether the recorder can run a fence on every processor that runs a traced
/// program.
pub fn recording_of(start: &Start, barrier: bool) -> Recording {
    Recording {
        trace_id: start.trace_id,
        realtime_ns: start.started_unix_ns,
        monotonic_ns: start.started_monotonic_ns,
        pid: std::process::id(),
        barrier,
        ..Recording::default()
    }
}
