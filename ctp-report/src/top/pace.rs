//! Decides when expensive work is repeated: so seldom that the work uses a small part of a processor, but at least once
//! a minute.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// Decides when work is due again.
#[derive(Debug)]
pub struct Pace {
    /// The work uses about one n-th of a processor.
    share: u32,
    next: Instant,
    done: Option<Instant>,
}

/// The longest pause. The first time that work is done may take several times as long as later.
const MAX_PAUSE: Duration = Duration::from_secs(60);

impl Pace {
    /// Work that is due at once, and later uses about one n-th of a processor. After [`MAX_PAUSE`], the work is
    /// due whatever its cost.
    pub fn new(share: u32) -> Self {
        Pace {
            share,
            next: Instant::now(),
            done: None,
        }
    }

    /// Whether the work is due.
    pub fn is_due(&self) -> bool {
        self.next <= Instant::now()
    }

    /// Does the work, and decides when the work is due again.
    pub fn work<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let began = processor_time();
        let result = work();
        let cost = processor_time().saturating_sub(began);
        let now = Instant::now();
        let pause = (cost * self.share).min(MAX_PAUSE);
        (self.next, self.done) = (now + pause, Some(now));
        result
    }

    /// How long ago the work was done.
    pub fn age(&self) -> Option<Duration> {
        self.done.map(|done| done.elapsed())
    }
}

/// The processor time of this thread.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expensive_work_is_not_due_at_once() {
        let mut pace = Pace::new(1_000_000);
        assert!(pace.is_due() && pace.age().is_none());
        let began = processor_time();
        pace.work(|| while processor_time() == began {});
        assert!(!pace.is_due() && pace.age().is_some());
        let mut pace = Pace::new(0);
        pace.work(|| ());
        assert!(pace.is_due());
    }
}
