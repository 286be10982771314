//! How much memory a report may take.
//!
//! A trace is compressed, and everything in it may have been made up: a few bytes can stand for
//! thousands of coroutines with long names. What a legitimate trace needs depends on its size.

mod watch;

use anyhow::{Result, bail};

pub use watch::end_when_too_large;

/// The memory that a report may take: twice what the trace takes, and 256 MiB.
#[derive(Clone, Debug)]
pub struct Allowance {
    limit: u64,
    /// Read since the memory was last looked at.
    read: u64,
}

const USUAL_BYTES: u64 = 256 << 20;
/// Of that, what remains for the page once everything is read.
const PAGE_BYTES: u64 = 64 << 20;
/// What is read between two looks. A look takes some microseconds.
const BYTES_BETWEEN_LOOKS: u64 = 1 << 20;

impl Allowance {
    /// For a trace that takes so much, unless the user allowed another limit.
    pub fn new(limit: Option<u64>, trace_bytes: u64) -> Self {
        let usual = USUAL_BYTES.saturating_add(trace_bytes.saturating_mul(2));
        Allowance {
            limit: limit.unwrap_or(usual),
            read: 0,
        }
    }

    /// Counts what was read, which may be kept.
    ///
    /// # Errors
    /// If the process has become too large.
    pub fn count(&mut self, bytes: u64) -> Result<()> {
        self.read = self.read.saturating_add(bytes);
        if self.read < BYTES_BETWEEN_LOOKS {
            return Ok(());
        }
        self.read = 0;
        let most = self.limit - PAGE_BYTES.min(self.limit / 4);
        if resident_bytes().is_some_and(|bytes| most < bytes) {
            bail!(
                "what the trace holds takes more than {} MiB of memory, far more than its size \
                 suggests: allow more with --max-memory, or record again",
                self.limit >> 20
            );
        }
        Ok(())
    }

    /// From here on [`end_when_too_large`] ends the report at this limit, and at `more` than that where the
    /// user allowed so much for the files of modules.
    pub fn enforce(&self, more: u64) {
        watch::set_limit(self.limit.saturating_add(more));
    }

    /// What is left for the files of modules.
    pub fn left(&self) -> u64 {
        let taken = resident_bytes().unwrap_or_default();
        self.limit.saturating_sub(taken)
    }
}

/// What this process takes now; `None` where `/proc` does not say.
fn resident_bytes() -> Option<u64> {
    let sizes = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = sizes.split(' ').nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}
