//! [`StackScans`]: when the next scan for long waits of coroutines with stacks of their own is due, and for which of
//! these waits the stack has been read.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use ctp_trace::record::{CoroutineId, Nanos};

use super::stacks::StackPlace;
use crate::memory::memory_set::StationPlace;

/// The shortest time from a scan to the next.
const INTERVAL: Duration = Duration::from_millis(500);
/// A scan of time `t` is followed by a pause of at least this many times `t`. Few programs have coroutines with stacks of
/// their own, and at the end all stacks are read in any case.
const PAUSE_FACTOR: u32 = 2_000;
/// The maximum number of waits that are remembered as read.
const MAX_KNOWN: usize = 1 << 17;

/// The scans for long waits of coroutines with stacks of their own.
#[derive(Debug)]
pub struct StackScans {
    next: Instant,
    /// The station at which the next scan starts.
    pub cursor: StationPlace,
    /// The start of each wait of which the stack was read.
    known: HashMap<CoroutineId, Nanos>,
}

impl StackScans {
    /// Schedules the first scan.
    pub fn new() -> Self {
        StackScans {
            next: Instant::now() + INTERVAL,
            cursor: (0, 0),
            known: HashMap::new(),
        }
    }

    /// Whether the next scan is due.
    pub fn is_due(&self) -> bool {
        self.next <= Instant::now()
    }

    /// Notes that a scan has ended, and the processor time that it took.
    pub fn note_scan(&mut self, took: Duration) {
        self.next = Instant::now() + INTERVAL.max(took * PAUSE_FACTOR);
    }

    /// Returns the waits of which the stack was not read yet, and remembers them as read.
    pub fn take_unread(&mut self, mut places: Vec<StackPlace>) -> Vec<StackPlace> {
        if MAX_KNOWN < self.known.len() + places.len() {
            self.known.clear();
        }
        places
            .retain(|(_, wait)| self.known.insert(wait.coroutine, wait.since) != Some(wait.since));
        places
    }
}
