//! The memory limit of a report.
//!
//! A trace is compressed and may be malicious: a few bytes can stand for thousands of coroutines with
//! long names. The memory that a legitimate trace needs depends on its size.

#[cfg_attr(
    not(feature = "top"),
    allow(dead_code, reason = "only the live table on a terminal uses all of it")
)]
mod watch;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Result, bail};

pub use watch::end_when_too_large;
#[cfg(feature = "top")]
pub use watch::{rest, set_last_act, watch_again};

/// The memory limit of a report: by default twice the size of the trace plus 256 MiB.
#[derive(Clone, Debug)]
pub struct Allowance {
    limit: u64,
    /// Bytes read since the last check.
    read: u64,
    /// Whether the result of the reading is still needed.
    pub(super) stop: StopFlag,
}

/// Ends a reading on another thread, once its result is not needed any more.
#[derive(Clone, Debug, Default)]
pub struct StopFlag(Arc<AtomicBool>);

impl StopFlag {
    /// Ends the reading soon.
    #[cfg_attr(
        not(feature = "top"),
        allow(dead_code, reason = "only the live table ends readings")
    )]
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the reading is to end.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

const USUAL_BYTES: u64 = 256 << 20;
/// The part of the limit that is reserved for the page.
const PAGE_BYTES: u64 = 64 << 20;
/// Bytes read between two checks. A check takes some microseconds.
const CHECK_INTERVAL_BYTES: u64 = 1 << 20;

/// The memory that a report of a trace of this size may take, unless the user set a limit.
pub fn usual_limit(trace_bytes: u64) -> u64 {
    USUAL_BYTES.saturating_add(trace_bytes.saturating_mul(2))
}

impl Allowance {
    /// The limit for a trace of this size, unless the user set a limit.
    pub fn new(limit: Option<u64>, trace_bytes: u64) -> Self {
        Allowance {
            limit: limit.unwrap_or_else(|| usual_limit(trace_bytes)),
            read: 0,
            stop: StopFlag::default(),
        }
    }

    /// Counts bytes that were read and may be kept.
    ///
    /// # Errors
    /// If the process has become too large, or the result is not needed any more.
    pub fn count(&mut self, bytes: u64) -> Result<()> {
        self.read = self.read.saturating_add(bytes);
        if self.read < CHECK_INTERVAL_BYTES {
            return Ok(());
        }
        self.read = 0;
        if self.stop.is_set() {
            bail!("the reading was ended");
        }
        let most = self.limit - PAGE_BYTES.min(self.limit / 4);
        if resident_bytes().is_some_and(|bytes| most < bytes) {
            bail!(
                "the contents of the trace take more than {} MiB of memory, far more than its size \
                 suggests: allow more with --max-memory, or record again",
                self.limit >> 20
            );
        }
        Ok(())
    }

    /// Makes [`end_when_too_large`] enforce this limit, plus `more` bytes that the user allowed for module
    /// files.
    pub fn enforce(&self, more: u64) {
        watch::set_limit(self.limit.saturating_add(more));
    }

    /// The memory that is left for module files.
    pub fn left(&self) -> u64 {
        let taken = resident_bytes().unwrap_or_default();
        self.limit.saturating_sub(taken)
    }
}

/// The resident memory of this process. `None` if `/proc` is unavailable.
fn resident_bytes() -> Option<u64> {
    let sizes = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = sizes.split(' ').nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_ends_if_its_result_is_not_needed() {
        let mut allowance = Allowance::new(None, 0);
        assert!(allowance.count(CHECK_INTERVAL_BYTES).is_ok());
        allowance.stop.set();
        assert!(allowance.clone().count(CHECK_INTERVAL_BYTES).is_err());
    }
}
