//! How fast events come just now.

/// Of a count that only grows: the mean over the latest second or two, longer where nobody looked.
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
    /// So it stands now. To be told as often as somebody looks.
    pub fn note(&mut self, at_ns: u64, count: u64) {
        if self.later.at_ns.saturating_add(SECOND_NS) <= at_ns {
            self.earlier = self.later;
            self.later = Sample { at_ns, count };
        }
    }

    /// A second, if it stands so now.
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
    fn a_rate_is_that_of_the_latest_seconds() {
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
