//! How soon the memory is read again: at once while something would be lost, rarely when it is
//! quiet, and not at all while everything sleeps.

use std::ops::AddAssign;
use std::time::Duration;

/// What a pass found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PassOutcome {
    /// Events that were new.
    pub events: u64,
    /// Most events that any one coroutine had since the pass before. Its eight slots keep no more
    /// than eight.
    pub most: u64,
    /// Some events were overwritten before they were read.
    pub lost: bool,
    /// Coroutines ended whose stations new ones would have had to wait for.
    pub short: bool,
    /// There is more that can be read at once.
    pub is_cut_short: bool,
    /// There is more, but what was read before is to be written first.
    pub is_held: bool,
    /// Records that were there before are not events yet: they wait for others, or for room.
    pub has_pending: bool,
}

impl PassOutcome {
    /// There is more to be read, of what was there before the pass.
    pub fn is_behind(&self) -> bool {
        self.is_cut_short || self.is_held || self.has_pending
    }
}

impl AddAssign for PassOutcome {
    /// Of two memories together.
    fn add_assign(&mut self, other: Self) {
        self.events += other.events;
        self.most = self.most.max(other.most);
        self.lost |= other.lost;
        self.short |= other.short;
        self.is_cut_short |= other.is_cut_short;
        self.is_held |= other.is_held;
        self.has_pending |= other.has_pending;
    }
}

/// What to do until the next pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Nothing, read on.
    Again,
    /// Wait so long, whatever happens in the memory.
    Nap(Duration),
    /// Arm the doorbell and sleep.
    Sleep,
}

/// Pause between two passes of a program that is calm.
const CALM: Duration = Duration::from_micros(250);
/// Pause of one whose slots fill up.
const BRISK: Duration = Duration::from_micros(50);
/// Pause of one that is not read for now.
const HELD: Duration = Duration::from_millis(1);
/// Pause after which a quiet program is left to ring by itself.
const LONGEST: Duration = Duration::from_millis(4);

/// Decides from one pass to the next.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    pause: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Pace { pause: CALM }
    }
}

impl Pace {
    /// What to do after a pass that found this.
    pub fn after(&mut self, found: PassOutcome) -> Next {
        match found {
            PassOutcome {
                is_cut_short: true, ..
            } => return Next::Again,
            PassOutcome { is_held: true, .. } => return Next::Nap(HELD),
            PassOutcome { events: 0, .. } => return self.quiet(),
            PassOutcome { lost: true, .. }
            | PassOutcome { short: true, .. }
            | PassOutcome { most: 5.., .. } => {
                self.pause = BRISK;
                return Next::Again;
            }
            PassOutcome { most: 3.., .. } => self.pause = BRISK,
            _ => self.pause = (self.pause * 2).clamp(BRISK, CALM),
        }
        Next::Nap(self.pause)
    }

    fn quiet(&mut self) -> Next {
        self.pause = (self.pause * 2).min(LONGEST);
        match self.pause {
            LONGEST => Next::Sleep,
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
        lost: false,
        short: false,
        is_cut_short: false,
        is_held: false,
        has_pending: false,
    };

    #[test]
    fn slots_that_fill_up_are_read_at_once_and_a_quiet_program_is_left_alone() {
        let mut pace = Pace::default();
        let full = PassOutcome {
            most: 7,
            ..CALM_PASS
        };
        assert_eq!(pace.after(full), Next::Again);
        assert_eq!(
            pace.after(PassOutcome {
                lost: true,
                ..CALM_PASS
            }),
            Next::Again
        );
        let quiet: Vec<Next> = (0..8).map(|_| pace.after(PassOutcome::default())).collect();
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
        assert_eq!(pace.after(half), Next::Nap(BRISK));
        assert_eq!(pace.after(CALM_PASS), Next::Nap(BRISK * 2));
        let calm: Vec<Next> = (0..4).map(|_| pace.after(CALM_PASS)).collect();
        assert_eq!(calm.last(), Some(&Next::Nap(CALM)));
    }
}
