//! Bells that bring nothing: a program may ring, connect or write without end, or hold more
//! connections than there are descriptors for. The recorder is then deaf for a while at a time, so
//! that such a program costs it some passes a second, and not a processor.

use std::time::Duration;

/// How long it is deaf at a time: as long as a program is left alone while it is quiet.
const DEAF: Duration = Duration::from_millis(4);
/// So many false alarms are borne in a row: bells may come late, and many programs may start at once.
const BORNE: u32 = 64;

/// Counts false alarms.
#[derive(Clone, Copy, Debug, Default)]
pub struct Alarms {
    in_a_row: u32,
    /// A bell ended an announced sleep, which is what it is for.
    is_due: bool,
}

impl Alarms {
    /// A wait is over. `announced`: it was a sleep for which programs were to ring.
    pub fn waited(&mut self, rang: bool, announced: bool) {
        self.in_a_row = self.in_a_row.saturating_add(rang.into());
        self.is_due = rang && announced;
    }

    /// A pass is over: the alarm before it was a good one if it was due and there were events.
    pub fn passed(&mut self, events: u64) {
        if std::mem::take(&mut self.is_due) && events > 0 {
            self.in_a_row = 0;
        }
    }

    /// How much of a wait that may last so long is spent without hearing anything.
    pub fn deaf_for(&self, at_most: Duration) -> Duration {
        match self.in_a_row {
            0..BORNE => Duration::ZERO,
            _ => at_most.min(DEAF),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(1);

    // CTP-28
    #[test]
    fn who_rings_without_end_is_not_heard_for_a_while_at_a_time() {
        let mut alarms = Alarms::default();
        for _ in 0..BORNE {
            assert_eq!(alarms.deaf_for(LONG), Duration::ZERO);
            alarms.waited(true, true);
            alarms.passed(0);
        }
        assert_eq!(alarms.deaf_for(LONG), DEAF);
        assert_eq!(alarms.deaf_for(DEAF / 8), DEAF / 8);
    }

    // CTP-28
    #[test]
    fn events_do_not_excuse_bells_that_nobody_asked_for() {
        let mut alarms = Alarms::default();
        for _ in 0..BORNE {
            alarms.waited(true, false);
            alarms.passed(5);
        }
        assert_eq!(alarms.deaf_for(LONG), DEAF);
    }

    // CTP-15
    #[test]
    fn a_bell_that_brings_events_is_heard_however_often() {
        let mut alarms = Alarms::default();
        for _ in 0..BORNE * 4 {
            alarms.waited(true, true);
            alarms.passed(1);
            alarms.waited(false, true);
            alarms.passed(0);
        }
        assert_eq!(alarms.deaf_for(LONG), Duration::ZERO);
    }
}
