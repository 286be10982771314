//! The present rate of events.

/// The mean growth of a counter over the latest one to two seconds, or longer if it was not noted for a while.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rate {
    earlier: Sample,
    later: Sample,
}

#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    at_ns: u64,
    count: u64,
}

const SECOND_NS: u64 = 1_000_000_000;

impl Rate {
    /// Notes the present count. Call this whenever the count is read.
    pub fn note(&mut self, at_ns: u64, count: u64) {
        if self.later.at_ns.saturating_add(SECOND_NS) <= at_ns {
            self.earlier = self.later;
            self.later = Sample { at_ns, count };
        }
    }

    /// The rate per second, given the present count.
    pub fn per_second(&self, at_ns: u64, count: u64) -> u64 {
        let ns = at_ns.saturating_sub(self.earlier.at_ns).max(1);
        let new = count.saturating_sub(self.earlier.count);
        let per_second = u128::from(new) * u128::from(SECOND_NS) / u128::from(ns);
        u64::try_from(per_second).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rate_covers_the_latest_seconds() {
        let mut rate = Rate::default();
        assert_eq!(rate.per_second(SECOND_NS / 2, 500), 1_000);
        for second in 1..=10 {
            rate.note(second * SECOND_NS, second * 1_000);
        }
        rate.note(11 * SECOND_NS, 60_000);
        assert_eq!(rate.per_second(12 * SECOND_NS, 110_000), 50_000);
        assert_eq!(rate.per_second(111 * SECOND_NS, 60_000), 495);
    }
}
