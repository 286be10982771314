//! The bell: armed until somebody takes it, then off for a while.

use std::collections::HashMap;
use std::sync::atomic::Ordering;

use ctp_nostd::{Region, doorbell};

use super::look::Look;
use super::watch::Latest;
use crate::memory::clock::monotonic_ns;
use crate::session::wait;

/// Looks for which the bell stays off after it rang, so that one rung without need is noticed.
const AWAKE_LOOKS: u32 = 10;

/// What became of the flag, and of the bytes that go with it.
#[derive(Debug, Default)]
pub struct Doorbell {
    /// Times that the flag was found taken.
    pub taken: u64,
    /// Bytes that came.
    pub bytes: u64,
    /// Events that left the flag as it was.
    pub unrung: Option<String>,
    armed: bool,
    awake: u32,
    /// The newest event of each station when the bell was armed.
    at_arming: HashMap<usize, u64>,
}

impl Doorbell {
    /// Looks at the flag, after these looks at the stations.
    pub fn look(&mut self, region: &Region<'_>, latest: &[Latest]) {
        let flag = region.header.tracer_sleeping();
        if self.armed && flag.load(Ordering::Acquire) == 0 {
            self.armed = false;
            self.awake = 0;
            self.taken += 1;
        } else if self.armed {
            self.note_unrung(latest);
        } else {
            self.awake += 1;
            if self.awake >= AWAKE_LOOKS {
                self.arm(region);
            }
        }
    }

    fn arm(&mut self, region: &Region<'_>) {
        doorbell::arm(region.header.tracer_sleeping());
        wait::order();
        self.armed = true;
        let stations = region.allocated().iter().enumerate();
        let newest = stations.filter_map(|(index, station)| {
            let newest = Look::at(station, monotonic_ns).newest()?;
            Some((index, newest))
        });
        self.at_arming = newest.collect();
    }

    /// Two events later the flag must be gone: the first of them came after it was set, and its
    /// writer looked at the flag before the second.
    fn note_unrung(&mut self, latest: &[Latest]) {
        for (index, latest) in latest.iter().enumerate() {
            let (Some(was), Some(is)) = (self.at_arming.get(&index), latest.look.newest()) else {
                continue;
            };
            if is >= was.saturating_add(3) {
                self.unrung.get_or_insert(format!(
                    "station {index}: the flag was set after event {was}, and still was at event {is}"
                ));
            }
        }
    }
}
