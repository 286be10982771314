//! Checks that programs ring the doorbell: arms the doorbell until a program takes the flag, then leaves
//! it off for a while.

use std::collections::HashMap;
use std::sync::atomic::Ordering;

use ctp_nostd::{Region, doorbell};

use super::station_reading::StationReading;
use super::watch::LatestReading;
use crate::memory::clock::monotonic_ns;
use crate::session::wait;

/// Rounds for which the doorbell stays off after a ring, so that rings without need are noticed.
const AWAKE_ROUNDS: u32 = 10;

/// Observations of the flag and of the bytes sent with it.
#[derive(Debug, Default)]
pub struct Doorbell {
    /// How often the flag was taken.
    pub taken: u64,
    /// Bytes received.
    pub bytes: u64,
    /// Proof of events that left the flag set.
    pub unrung: Option<String>,
    is_armed: bool,
    awake: u32,
    /// The newest event of each station when the doorbell was armed.
    at_arming: HashMap<usize, u64>,
}

impl Doorbell {
    /// Checks the flag, after the given readings of the stations.
    pub fn check(&mut self, region: &Region<'_>, latest: &[LatestReading]) {
        let flag = region.header.tracer_sleeping();
        if self.is_armed && flag.load(Ordering::Acquire) == 0 {
            self.is_armed = false;
            self.awake = 0;
            self.taken += 1;
        } else if self.is_armed {
            self.note_unrung(latest);
        } else {
            self.awake += 1;
            if self.awake >= AWAKE_ROUNDS {
                self.arm(region);
            }
        }
    }

    fn arm(&mut self, region: &Region<'_>) {
        doorbell::arm(region.header.tracer_sleeping());
        wait::fence_programs();
        self.is_armed = true;
        let stations = region.allocated().iter().enumerate();
        let newest = stations.filter_map(|(index, station)| {
            let newest = StationReading::at(station, monotonic_ns).newest()?;
            Some((index, newest))
        });
        self.at_arming = newest.collect();
    }

    /// Notes a missing ring. The flag must be clear three numbers after the newest event that was complete at arming: the
    /// first may have been begun before arming, the second came after, and its writer checked the flag before the
    /// third.
    fn note_unrung(&mut self, latest: &[LatestReading]) {
        for (index, latest) in latest.iter().enumerate() {
            let (Some(was), Some(is)) = (self.at_arming.get(&index), latest.reading.newest())
            else {
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
