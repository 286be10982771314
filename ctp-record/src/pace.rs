//! How soon the memory is read again: at once while something would be lost, rarely when it is
//! quiet, and not at all while everything sleeps.

use std::time::Duration;

/// What a pass found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Events that were new.
    pub events: u64,
    /// Some coroutine was so quick that a later look would have lost events, or did.
    pub hot: bool,
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

/// Shortest pause: half of what eight slots last at a thousand events a second per coroutine.
const SHORTEST: Duration = Duration::from_micros(250);
/// Pause after which a quiet program is left to ring by itself.
const LONGEST: Duration = Duration::from_millis(4);

/// Decides from one pass to the next.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    pause: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Pace { pause: SHORTEST }
    }
}

impl Pace {
    /// What to do after a pass that found this.
    pub fn after(&mut self, found: Found) -> Next {
        if found.hot {
            self.pause = SHORTEST;
            return Next::Again;
        }
        if found.events > 0 {
            self.pause = SHORTEST;
            return Next::Nap(SHORTEST);
        }
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

    #[test]
    fn a_hot_pass_is_followed_at_once_and_a_quiet_program_is_left_alone() {
        let mut pace = Pace::default();
        let hot = Found {
            events: 9,
            hot: true,
        };
        let calm = Found {
            events: 1,
            hot: false,
        };
        assert_eq!(pace.after(hot), Next::Again);
        assert_eq!(pace.after(calm), Next::Nap(SHORTEST));
        let quiet: Vec<Next> = (0..5).map(|_| pace.after(Found::default())).collect();
        assert_eq!(quiet.last(), Some(&Next::Sleep));
        assert!(quiet.iter().all(|next| *next != Next::Again));
        assert_eq!(pace.after(calm), Next::Nap(SHORTEST));
    }
}
