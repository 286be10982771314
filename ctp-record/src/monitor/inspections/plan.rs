//! The inspections that the user asked for.

use std::time::{Duration, Instant};

/// When the processes that the user named are inspected.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    every: Duration,
    /// How many are left; `None`: until the recording ends.
    left: Option<u32>,
    next: Instant,
}

impl Plan {
    /// The first inspection is due now.
    pub fn new(every: Duration, count: Option<u32>) -> Self {
        Plan {
            every,
            left: count,
            next: Instant::now(),
        }
    }

    /// When the next inspection is due, if there is another.
    pub fn next(&self) -> Option<Instant> {
        (self.left != Some(0)).then_some(self.next)
    }

    /// Notes that an inspection begins now.
    pub fn begin(&mut self, now: Instant) {
        self.left = self.left.map(|left| left.saturating_sub(1));
        self.next = now + self.every;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_inspections_as_requested_are_due() {
        let mut plan = Plan::new(Duration::from_secs(1), Some(2));
        let first = plan.next().expect("the first");
        plan.begin(first);
        let second = plan.next().expect("the second");
        assert_eq!(second - first, Duration::from_secs(1));
        plan.begin(second);
        assert_eq!(plan.next(), None);
    }

    #[test]
    fn plan_without_a_count_goes_on() {
        let mut plan = Plan::new(Duration::from_secs(1), None);
        for _ in 0..5 {
            let next = plan.next().expect("another");
            plan.begin(next);
        }
        assert!(plan.next().is_some());
    }
}
