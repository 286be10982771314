//! Limits the processor time that a program can cost by waking the recorder without need: by ringing, connecting or
//! writing in an endless loop, or by more connections than there are descriptors. The recorder then ignores all
//! requests for a few milliseconds at a time, instead of occupying a whole processor.

use std::time::Duration;

/// How long rings and requests are ignored at a time: the longest pause between two passes of a quiet program.
const IGNORED_FOR: Duration = Duration::from_millis(4);
/// False alarms accepted in a row: rings may come late, and many programs may start at the same time.
const MAX_FALSE_ALARMS: u32 = 64;

/// Counts false alarms.
#[derive(Clone, Copy, Debug, Default)]
pub struct Alarms {
    in_a_row: u32,
    /// A ring ended a sleep with an armed doorbell, which is the purpose of a ring.
    is_due: bool,
}

impl Alarms {
    /// Notes that a wait has ended. `rang`: a ring, a connection or a request ended the wait. `was_armed`: during the
    /// wait, the doorbell was armed.
    pub fn note_wait(&mut self, rang: bool, was_armed: bool) {
        self.in_a_row = self.in_a_row.saturating_add(rang.into());
        self.is_due = rang && was_armed;
    }

    /// Notes that a pass has ended. The ring before the pass was justified if it ended a sleep with an armed doorbell
    /// and the pass found events.
    pub fn note_pass(&mut self, events: u64) {
        if std::mem::take(&mut self.is_due) && events > 0 {
            self.in_a_row = 0;
        }
    }

    /// How long rings and requests are ignored at the start of a wait of at most this length.
    pub fn ignore_for(&self, at_most: Duration) -> Duration {
        match self.in_a_row {
            0..MAX_FALSE_ALARMS => Duration::ZERO,
            _ => at_most.min(IGNORED_FOR),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(1);

    // CTP-28
    #[test]
    fn endless_rings_are_ignored_for_a_while_at_a_time() {
        let mut alarms = Alarms::default();
        for _ in 0..MAX_FALSE_ALARMS {
            assert_eq!(alarms.ignore_for(LONG), Duration::ZERO);
            alarms.note_wait(true, true);
            alarms.note_pass(0);
        }
        assert_eq!(alarms.ignore_for(LONG), IGNORED_FOR);
        assert_eq!(alarms.ignore_for(IGNORED_FOR / 8), IGNORED_FOR / 8);
    }

    // CTP-28
    #[test]
    fn events_do_not_justify_unrequested_rings() {
        let mut alarms = Alarms::default();
        for _ in 0..MAX_FALSE_ALARMS {
            alarms.note_wait(true, false);
            alarms.note_pass(5);
        }
        assert_eq!(alarms.ignore_for(LONG), IGNORED_FOR);
    }

    // CTP-15
    #[test]
    fn rings_with_events_are_never_ignored() {
        let mut alarms = Alarms::default();
        for _ in 0..MAX_FALSE_ALARMS * 4 {
            alarms.note_wait(true, true);
            alarms.note_pass(1);
            alarms.note_wait(false, true);
            alarms.note_pass(0);
        }
        assert_eq!(alarms.ignore_for(LONG), Duration::ZERO);
    }
}
