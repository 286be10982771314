//! The time until the next pass: none while events could be lost, long while the program is quiet or its lanes have
//! room, and a sleep until the doorbell rings while the program is idle.

use std::ops::AddAssign;
use std::time::Duration;

/// What a pass found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PassOutcome {
    /// New events.
    pub events: u64,
    /// Most events of any coroutine since the previous pass, of which its eight slots keep at most eight. With lanes:
    /// how full the fullest lane was, in eighths.
    pub most: u64,
    /// Whether events were overwritten before they were read.
    pub has_lost: bool,
    /// Whether new coroutines need the stations of coroutines that have ended.
    pub needs_stations: bool,
    /// Whether more can be read immediately.
    pub is_cut_short: bool,
    /// Whether there is more to read, but records must be written first.
    pub is_held: bool,
    /// Whether records could not be turned into events yet, because they wait for other records or for memory.
    pub has_pending: bool,
}

impl PassOutcome {
    /// Whether events from before the pass are still to be read.
    pub fn is_behind(&self) -> bool {
        self.is_cut_short || self.is_held || self.has_pending
    }

    /// Whether the pass has read everything, and in time: every lane was less than a quarter full or, without
    /// lanes, no coroutine had more than one new event.
    fn is_calm(&self) -> bool {
        !self.is_behind() && !self.has_lost && self.most < 2
    }
}

impl AddAssign for PassOutcome {
    /// Combines the outcomes of two memories.
    fn add_assign(&mut self, other: Self) {
        self.events += other.events;
        self.most = self.most.max(other.most);
        self.has_lost |= other.has_lost;
        self.needs_stations |= other.needs_stations;
        self.is_cut_short |= other.is_cut_short;
        self.is_held |= other.is_held;
        self.has_pending |= other.has_pending;
    }
}

/// What to do until the next pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Read again at once.
    Again,
    /// Wait for this time, without the doorbell.
    Nap(Duration),
    /// Sleep for a short time, or until lanes fill up.
    Batch {
        /// How many events the pass found.
        events: u64,
    },
    /// Arm the doorbell and sleep.
    Sleep,
}

/// Pause for a calm program.
const CALM_PAUSE: Duration = Duration::from_micros(250);
/// Pause for a program that fills its slots.
const SHORT_PAUSE: Duration = Duration::from_micros(50);
/// Pause while reading waits for writing.
const WRITING_PAUSE: Duration = Duration::from_millis(1);
/// The pause at which the recorder arms the doorbell instead.
const MAX_PAUSE: Duration = Duration::from_millis(4);

/// Chooses the pause after each pass.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    pause: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Pace { pause: CALM_PAUSE }
    }
}

impl Pace {
    /// What to do after this pass. `can_batch`: nothing is lost if the memories are not read for a short time.
    pub fn after(&mut self, found: PassOutcome, can_batch: bool) -> Next {
        if can_batch && found.is_calm() {
            return match found.events {
                0 => Next::Sleep,
                events => Next::Batch { events },
            };
        }
        match found {
            PassOutcome {
                is_cut_short: true, ..
            } => return Next::Again,
            PassOutcome { is_held: true, .. } => return Next::Nap(WRITING_PAUSE),
            PassOutcome { events: 0, .. } => return self.quiet(),
            PassOutcome { has_lost: true, .. }
            | PassOutcome {
                needs_stations: true,
                ..
            }
            | PassOutcome { most: 5.., .. } => {
                self.pause = SHORT_PAUSE;
                return Next::Again;
            }
            PassOutcome { most: 3.., .. } => self.pause = SHORT_PAUSE,
            _ => self.pause = (self.pause * 2).clamp(SHORT_PAUSE, CALM_PAUSE),
        }
        Next::Nap(self.pause)
    }

    fn quiet(&mut self) -> Next {
        self.pause = (self.pause * 2).min(MAX_PAUSE);
        match self.pause {
            MAX_PAUSE => Next::Sleep,
            pause => Next::Nap(pause),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALM_PASS: PassOutcome = PassOutcome {
        events: 1,
        most: 1,
        has_lost: false,
        needs_stations: false,
        is_cut_short: false,
        is_held: false,
        has_pending: false,
    };

    #[test]
    fn full_slots_are_read_at_once_and_quiet_programs_sleep() {
        let mut pace = Pace::default();
        let full = PassOutcome {
            most: 7,
            ..CALM_PASS
        };
        assert_eq!(pace.after(full, false), Next::Again);
        assert_eq!(pace.after(full, true), Next::Again);
        let lossy = PassOutcome {
            has_lost: true,
            ..CALM_PASS
        };
        assert_eq!(pace.after(lossy, false), Next::Again);
        let quiet = (0..8).map(|_| pace.after(PassOutcome::default(), false));
        let quiet: Vec<Next> = quiet.collect();
        assert_eq!(quiet.last(), Some(&Next::Sleep));
        assert!(quiet.iter().all(|next| *next != Next::Again));
    }

    #[test]
    fn a_program_that_calms_down_is_read_less_often() {
        let mut pace = Pace::default();
        let half = PassOutcome {
            most: 4,
            ..CALM_PASS
        };
        assert_eq!(pace.after(half, false), Next::Nap(SHORT_PAUSE));
        assert_eq!(pace.after(CALM_PASS, false), Next::Nap(SHORT_PAUSE * 2));
        let calm: Vec<Next> = (0..4).map(|_| pace.after(CALM_PASS, false)).collect();
        assert_eq!(calm.last(), Some(&Next::Nap(CALM_PAUSE)));
    }

    #[test]
    fn lanes_with_room_are_read_in_batches() {
        let mut pace = Pace::default();
        assert_eq!(pace.after(CALM_PASS, true), Next::Batch { events: 1 });
        assert_eq!(pace.after(PassOutcome::default(), true), Next::Sleep);
        let quarter_full = PassOutcome {
            most: 2,
            ..CALM_PASS
        };
        assert!(matches!(pace.after(quarter_full, true), Next::Nap(_)));
        let pending = PassOutcome {
            has_pending: true,
            ..CALM_PASS
        };
        assert!(matches!(pace.after(pending, true), Next::Nap(_)));
    }
}
