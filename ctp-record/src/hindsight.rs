//! What looks stuck, by the trace that was just written: the same records and the same rule as in
//! the report, so that both always agree.
//!
//! It is read back rather than counted along the way, because a model of every coroutine would
//! cost the recorder time and memory while the program runs.

use std::fs::File;
use std::io::{Read as _, Seek as _};

use ctp_trace::verdict::THRESHOLD;
use ctp_trace::{Census, Reader};

/// A larger trace is left to the report, so that the prompt comes back soon.
const MOST_BYTES: u64 = 32 << 20;

/// The same, of events that take little room.
const MOST_EVENTS: u64 = 10_000_000;

/// How many coroutines look stuck in a trace of so many events; nothing if that is not worth the
/// time, or it cannot be read back (a pipe).
pub fn stuck_in(mut trace: &File, events: u64) -> Option<usize> {
    let metadata = trace.metadata().ok()?;
    let is_large = MOST_BYTES < metadata.len() || MOST_EVENTS < events;
    if !metadata.is_file() || is_large {
        return None;
    }
    let mut bytes = Vec::new();
    trace.rewind().ok()?;
    trace.read_to_end(&mut bytes).ok()?;
    let mut census = Census::new();
    for record in Reader::new(&bytes).ok()? {
        census.feed(&record.ok()?);
    }
    Some(census.stuck(THRESHOLD))
}
