//! When the threads of a process are inspected: twice in short succession when a coroutine that has run for long is
//! found, then less and less often while the run goes on.

use std::time::{Duration, Instant};

/// Time from the first inspection to the second, which shows what has not moved in between.
const FIRST_GAP: Duration = Duration::from_millis(250);
const MAX_GAP: Duration = Duration::from_secs(30);
/// Inspections use at most one n-th of a processor, except for the second.
const SHARE: u32 = 50;

/// The times of the inspections of a process.
#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    next: Instant,
    gap: Duration,
    /// Inspections before this time would use too much processor time.
    not_before: Instant,
}

impl Schedule {
    /// The first inspection is due now.
    pub fn new(now: Instant) -> Self {
        Schedule {
            next: now,
            gap: FIRST_GAP,
            not_before: now,
        }
    }

    /// Starts again with frequent inspections, because another coroutine has run for long.
    pub fn begin_again(&mut self, now: Instant) {
        self.gap = FIRST_GAP;
        self.next = now.max(self.not_before);
    }

    /// Notes that an inspection has ended, and its processor time.
    pub fn inspected(&mut self, now: Instant, took: Duration) {
        self.not_before = now + took * SHARE;
        self.next = if self.gap == FIRST_GAP {
            now + FIRST_GAP
        } else {
            self.not_before.max(now + self.gap)
        };
        self.gap = (self.gap * 2).min(MAX_GAP);
    }

    /// When the next inspection is due.
    pub fn next(&self) -> Instant {
        self.next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COST: Duration = Duration::from_millis(100);

    #[test]
    fn second_inspection_is_soon_and_later_inspections_rare() {
        let begin = Instant::now();
        let mut schedule = Schedule::new(begin);
        let mut gaps = Vec::new();
        for _ in 0..12 {
            let now = schedule.next();
            schedule.inspected(now, COST / 100);
            gaps.push(schedule.next() - now);
        }
        assert_eq!(gaps[..4], [1, 2, 4, 8].map(|count| FIRST_GAP * count));
        assert_eq!(gaps.last(), Some(&MAX_GAP));
    }

    #[test]
    fn new_runs_begin_again_but_not_too_often() {
        let begin = Instant::now();
        let mut schedule = Schedule::new(begin);
        schedule.inspected(begin, COST);
        schedule.begin_again(begin);
        assert_eq!(schedule.next(), begin + COST * SHARE);
        let later = begin + COST * SHARE * 2;
        schedule.begin_again(later);
        assert_eq!(schedule.next(), later);
    }
}
