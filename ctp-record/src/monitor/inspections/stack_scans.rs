//! [`StackScans`]: when to look for long waits on stacks, and of which waits the stack was read.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use ctp_trace::record::{CoroutineId, Nanos};

use super::stacks::StackPlace;
use crate::memory::memory_set::StationPlace;

/// Time from a scan to the next.
const EVERY: Duration = Duration::from_millis(500);
/// Scans use at most one n-th of a processor. Few programs have coroutines with stacks of their own, and at the end all
/// stacks are read in any case.
const SHARE: u32 = 2_000;
/// Of at most this many coroutines is remembered that their stacks were read.
const MAX_KNOWN: usize = 1 << 17;

/// The scans for long waits of coroutines with stacks of their own.
#[derive(Debug)]
pub struct StackScans {
    next: Instant,
    /// The station at which the next scan starts.
    pub cursor: StationPlace,
    /// The waits of which the stack was read: when each began.
    known: HashMap<CoroutineId, Nanos>,
}

impl StackScans {
    /// The first scan is due after a while.
    pub fn new() -> Self {
        StackScans {
            next: Instant::now() + EVERY,
            cursor: (0, 0),
            known: HashMap::new(),
        }
    }

    /// Whether the next scan is due.
    pub fn is_due(&self) -> bool {
        self.next <= Instant::now()
    }

    /// Notes the end of a scan, and the processor time that it took.
    pub fn scanned(&mut self, took: Duration) {
        self.next = Instant::now() + EVERY.max(took * SHARE);
    }

    /// Leaves out the waits of which the stack was read, and notes that the others are read now.
    pub fn without_known(&mut self, mut places: Vec<StackPlace>) -> Vec<StackPlace> {
        if MAX_KNOWN < self.known.len() + places.len() {
            self.known.clear();
        }
        places
            .retain(|(_, wait)| self.known.insert(wait.coroutine, wait.since) != Some(wait.since));
        places
    }
}
