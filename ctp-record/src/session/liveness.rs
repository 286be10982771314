//! Until when the programs lived, as far as is known: the recorder may be kept from looking (by a
//! stop signal, a busy machine, the kernel), and those who waited did not wait in that time. Where
//! that happens while it sleeps, it shows only once it has slept longer than it meant to.

use std::time::Duration;

use ctp_trace::record::Nanos;

/// A wait that ends later than this after its time was the recorder's own delay.
const PROMPT: Duration = Duration::from_millis(10);

/// What the recorder has seen of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Liveness {
    alive: Nanos,
}

impl Liveness {
    /// Nobody was said to have ended when the kernel was asked, at this time or later.
    pub fn none_had_ended(&mut self, at: Nanos) {
        self.alive = at;
    }

    /// Something of one of them was still there at this time.
    pub fn saw_alive(&mut self, at: Nanos) {
        self.alive = self.alive.max(at);
    }

    /// Since then it was waited for at most so long, until `at`: what ended that has just happened.
    pub fn was_woken(&mut self, at_most: Duration, at: Nanos) {
        if u128::from(self.alive.until(at).0) <= (at_most + PROMPT).as_nanos() {
            self.alive = at;
        }
    }

    /// When those who are now said to have ended were alive, or had just ended.
    pub fn last_alive(self) -> Nanos {
        self.alive
    }
}

/// When one ended that was last known to live then: not before its latest event, but that cannot have
/// been later than now, whatever its clock said.
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

    /// The end that is known of a wait from second 5 on.
    fn end_known_at(at_most: Duration, woken: Duration) -> Nanos {
        let mut liveness = Liveness::default();
        liveness.none_had_ended(nanos(5 * SECOND));
        liveness.was_woken(at_most, nanos(woken));
        liveness.last_alive()
    }

    // CT-03
    #[test]
    fn an_end_that_wakes_the_recorder_has_just_come() {
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
    fn the_time_in_which_the_recorder_was_held_up_is_nobodys() {
        assert_eq!(end_known_at(SECOND, 8 * SECOND), nanos(5 * SECOND));
    }
}
