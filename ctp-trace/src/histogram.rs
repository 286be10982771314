//! Durations in a histogram: exact count, sum, minimum and maximum, and bins by powers of two.

use crate::record::Nanos;

/// One bin for zero and one for each power of two.
const BINS: usize = 65;

const NONE: [u64; BINS] = [0; BINS];

/// Statistics of many durations. Bin 0 counts zeros, bin i counts 2^(i-1) up to 2^i - 1.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    count: u64,
    sum: u128,
    min: u64,
    max: u64,
    /// Allocated with the first duration, because a trace may have many sites without any wait.
    bins: Option<Box<[u64; BINS]>>,
}

impl Histogram {
    /// Counts one more duration.
    pub fn add(&mut self, duration: Nanos) {
        self.add_many(duration, 1);
    }

    /// Counts this many equal durations.
    pub fn add_many(&mut self, duration: Nanos, times: u64) {
        if times == 0 {
            return;
        }
        let ns = duration.0;
        self.min = if self.count == 0 {
            ns
        } else {
            self.min.min(ns)
        };
        self.max = self.max.max(ns);
        self.count = self.count.saturating_add(times);
        let sum = u128::from(ns) * u128::from(times);
        self.sum = self.sum.saturating_add(sum);
        let bin = &mut self.bins_mut()[bin_of(ns)];
        *bin = bin.saturating_add(times);
    }

    /// Adds the durations of another histogram.
    pub fn merge(&mut self, other: &Histogram) {
        if other.count == 0 {
            return;
        }
        self.min = if self.count == 0 {
            other.min
        } else {
            self.min.min(other.min)
        };
        self.max = self.max.max(other.max);
        self.count = self.count.saturating_add(other.count);
        self.sum = self.sum.saturating_add(other.sum);
        for (mine, theirs) in self.bins_mut().iter_mut().zip(other.all_bins()) {
            *mine = mine.saturating_add(*theirs);
        }
    }

    fn bins_mut(&mut self) -> &mut [u64; BINS] {
        self.bins.get_or_insert_with(|| Box::new(NONE))
    }

    fn all_bins(&self) -> &[u64; BINS] {
        self.bins.as_deref().unwrap_or(&NONE)
    }

    /// The number of durations.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The sum of all durations.
    pub fn sum(&self) -> Nanos {
        Nanos(u64::try_from(self.sum).unwrap_or(u64::MAX))
    }

    /// The shortest duration.
    pub fn min(&self) -> Option<Nanos> {
        (self.count > 0).then_some(Nanos(self.min))
    }

    /// The longest duration.
    pub fn max(&self) -> Option<Nanos> {
        (self.count > 0).then_some(Nanos(self.max))
    }

    /// The arithmetic mean.
    pub fn mean(&self) -> Option<Nanos> {
        let mean = self.sum.checked_div(u128::from(self.count))?;
        u64::try_from(mean).ok().map(Nanos)
    }

    /// The number of durations that may be at least this long: the bin of `least` counts in full.
    pub fn at_least(&self, least: Nanos) -> u64 {
        let bins = &self.all_bins()[bin_of(least.0)..];
        bins.iter().fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// For each bin: its shortest duration, the first duration above it, and its count.
    pub fn bins(&self) -> impl Iterator<Item = (Nanos, Option<Nanos>, u64)> + '_ {
        (0..BINS).map(|bin| {
            let first = bin.checked_sub(1).map_or(0, |before| last_of(before) + 1);
            let below = last_of(bin).checked_add(1).map(Nanos);
            (Nanos(first), below, self.all_bins()[bin])
        })
    }

    /// An upper bound for `percent` of 100 durations: at most twice the true value, and never more than
    /// the longest duration.
    pub fn bound(&self, percent: u8) -> Option<Nanos> {
        let bin = bin_of_percentile(self.all_bins(), percent)?;
        Some(Nanos(last_of(bin).min(self.max)))
    }
}

/// The first bin up to which at least `percent` of 100 are counted; `None` if all bins are empty.
pub(crate) fn bin_of_percentile(bins: &[u64], percent: u8) -> Option<usize> {
    let total: u128 = bins.iter().map(|count| u128::from(*count)).sum();
    let requested = (total * u128::from(percent.min(100))).div_ceil(100).max(1);
    let mut seen = 0;
    bins.iter().position(|count| {
        seen += u128::from(*count);
        requested <= seen
    })
}

fn bin_of(ns: u64) -> usize {
    (u64::BITS - ns.leading_zeros()) as usize
}

/// The largest value in a bin.
fn last_of(bin: usize) -> u64 {
    if bin < 64 { (1 << bin) - 1 } else { u64::MAX }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn empty_histogram_has_no_figures() {
        let none = Histogram::default();
        assert_eq!((none.count(), none.sum()), (0, Nanos(0)));
        assert_eq!(
            (none.min(), none.max(), none.mean(), none.bound(99)),
            (None, None, None, None)
        );
    }

    #[test]
    fn bins_are_adjacent() {
        let mut all = Histogram::default();
        [0, 1, 3, u64::MAX]
            .map(Nanos)
            .into_iter()
            .for_each(|ns| all.add(ns));
        let bins: Vec<_> = all.bins().collect();
        assert_eq!(bins[0], (Nanos(0), Some(Nanos(1)), 1));
        assert_eq!(bins[2], (Nanos(2), Some(Nanos(4)), 1));
        assert_eq!(bins[64], (Nanos(1 << 63), None, 1));
        assert!(bins.windows(2).all(|pair| pair[0].1 == Some(pair[1].0)));
    }

    #[test]
    fn equal_durations_are_counted_together() {
        let (mut singly, mut together) = (Histogram::default(), Histogram::default());
        (0..7).for_each(|_| singly.add(Nanos(40)));
        together.add_many(Nanos(40), 7);
        together.add_many(Nanos(9), 0);
        assert_eq!(singly, together);
        assert_eq!(
            (together.at_least(Nanos(32)), together.at_least(Nanos(64))),
            (7, 0)
        );
        together.add_many(Nanos(u64::MAX), u64::MAX);
        assert_eq!(together.count(), u64::MAX);
    }

    #[test]
    fn the_extremes_have_bins() {
        let mut all = Histogram::default();
        all.add(Nanos(0));
        all.add(Nanos(u64::MAX));
        assert_eq!(all.bound(50), Some(Nanos(0)));
        assert_eq!(all.bound(100), Some(Nanos(u64::MAX)));
        assert_eq!(all.sum(), Nanos(u64::MAX));
    }

    proptest! {
        #[test]
        fn figures_are_exact_and_bounds_within_twice(
            mut values in prop::collection::vec(0u64..1 << 40, 1..200),
            percent in 1u8..=100,
        ) {
            let mut all = Histogram::default();
            values.iter().for_each(|&v| all.add(Nanos(v)));
            values.sort_unstable();
            let rank = (values.len() * usize::from(percent)).div_ceil(100) - 1;
            let bound = all.bound(percent).unwrap().0;
            prop_assert_eq!(all.sum().0, values.iter().sum::<u64>());
            prop_assert_eq!(all.min().unwrap().0, values[0]);
            prop_assert_eq!(all.max().unwrap().0, values[values.len() - 1]);
            prop_assert!(values[rank] <= bound && bound <= values[rank] * 2);
        }

        #[test]
        fn merging_equals_adding_all(
            left in prop::collection::vec(any::<u64>(), 0..50),
            right in prop::collection::vec(any::<u64>(), 0..50),
        ) {
            let of = |values: &[u64]| {
                let mut all = Histogram::default();
                values.iter().for_each(|&v| all.add(Nanos(v)));
                all
            };
            let mut merged = of(&left);
            merged.merge(&of(&right));
            prop_assert_eq!(merged, of(&[left, right].concat()));
        }
    }
}
