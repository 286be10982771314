//! The latest time at which the programs were known to live. The recorder may be delayed by a stop signal, a
//! busy machine or the kernel. If a program ends during such a delay, the recorder learns of it late. The time
//! in between must not count as waiting time. A delay while the recorder sleeps is noticed only because the
//! sleep exceeds its timeout.

use std::time::Duration;

use ctp_trace::record::Nanos;

/// A sleep that exceeds its timeout by more than this was delayed.
const PROMPT: Duration = Duration::from_millis(10);

/// The latest time at which the programs were known to live.
#[derive(Clone, Copy, Debug, Default)]
pub struct Liveness {
    alive: Nanos,
}

impl Liveness {
    /// Notes that a poll, which began at this time, found no ended process.
    pub fn none_had_ended(&mut self, at: Nanos) {
        self.alive = at;
    }

    /// Notes that an observation showed a program alive at this time.
    pub fn saw_alive(&mut self, at: Nanos) {
        self.alive = self.alive.max(at);
    }

    /// Notes that a wait of at most this length ended at `at`. Without a delay, an end that is reported now has just
    /// happened.
    pub fn note_wait_end(&mut self, at_most: Duration, at: Nanos) {
        if u128::from(self.alive.until(at).0) <= (at_most + PROMPT).as_nanos() {
            self.alive = at;
        }
    }

    /// The time to assume for an end that is reported now.
    pub fn last_alive(self) -> Nanos {
        self.alive
    }
}

/// The end of a process last known to live at `alive`: not before its latest event, which in turn cannot be later
/// than `now`, whatever its clock said.
pub fn end(alive: Nanos, latest_event: Nanos, now: Nanos) -> Nanos {
    alive.max(latest_event.min(now))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn nanos(duration: Duration) -> Nanos {
        Nanos(duration.as_nanos() as u64)
    }

    /// The known end after a wait from second 5 on.
    fn end_known_at(at_most: Duration, woken: Duration) -> Nanos {
        let mut liveness = Liveness::default();
        liveness.none_had_ended(nanos(5 * SECOND));
        liveness.note_wait_end(at_most, nanos(woken));
        liveness.last_alive()
    }

    // CT-03
    #[test]
    fn an_end_that_wakes_the_recorder_is_recent() {
        let woken = 5 * SECOND + SECOND / 2;
        assert_eq!(end_known_at(SECOND, woken), nanos(woken));
    }

    // CT-03
    #[test]
    fn an_end_is_not_before_the_latest_event_nor_in_the_future() {
        let ends = [3, 7, 99].map(|latest| end(Nanos(5), Nanos(latest), Nanos(9)).0);
        assert_eq!(ends, [5, 7, 9]);
    }

    // CT-03
    #[test]
    fn the_recorders_delay_is_not_counted_as_life() {
        assert_eq!(end_known_at(SECOND, 8 * SECOND), nanos(5 * SECOND));
    }
}
