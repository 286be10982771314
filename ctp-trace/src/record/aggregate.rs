//! Aggregates: totals that the program itself keeps over all waits and runs of a coroutine. They are
//! exact even if few of the coroutine's events are in the trace.

use crate::histogram::bin_of_percentile;
use crate::record::{CoroutineId, Nanos};

/// Number of bins in an aggregate.
pub const BINS: usize = 16;

/// The bounds of histogram bins. Bin 0 counts durations below 2^lo ns, bin i the remaining durations
/// below 2^(lo + i·step), and the last bin all others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Bins {
    /// log2 of the bound of bin 0.
    pub lo: u8,
    /// log2 of the factor from each bound to the next.
    pub step: u8,
}

impl Bins {
    /// What this recorder requests from programs: from 256 ns to 69 s by factors of four.
    pub const USUAL: Bins = Bins { lo: 8, step: 2 };

    /// The bin that counts this duration; the probe computes the same.
    pub fn of(self, duration: Nanos) -> usize {
        (0..BINS - 1)
            .find(|bin| self.end(*bin).is_none_or(|end| duration < end))
            .unwrap_or(BINS - 1)
    }

    /// The first duration above this bin; `None` for the last bin, which has no upper bound.
    pub fn end(self, bin: usize) -> Option<Nanos> {
        let power = usize::from(self.lo) + bin * usize::from(self.step);
        let end = u32::try_from(power)
            .ok()
            .and_then(|number| 1u64.checked_shl(number));
        end.filter(|_| bin < BINS - 1).map(Nanos)
    }

    /// The first duration in this bin.
    pub fn start(self, bin: usize) -> Nanos {
        let before = bin.checked_sub(1);
        before.map_or(Nanos(0), |bin| self.end(bin).unwrap_or(Nanos(u64::MAX)))
    }
}

/// Statistics of many durations. With `count` 0 there is no data, and all other fields are 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Durations {
    /// How many durations were counted.
    pub count: u64,
    /// Their sum.
    pub sum: Nanos,
    /// The shortest duration.
    pub min: Nanos,
    /// The longest duration.
    pub max: Nanos,
    /// How many durations fell into each bin. A program's bin saturates at 2^32 − 1, which then means at
    /// least that many.
    pub bins: [u64; BINS],
}

/// The value of a saturated bin.
const FULL: u64 = u32::MAX as u64;

impl Durations {
    /// The arithmetic mean.
    pub fn mean(&self) -> Option<Nanos> {
        self.sum.0.checked_div(self.count).map(Nanos)
    }

    /// Whether any bin reached the maximum that it can count to.
    pub fn is_saturated(&self) -> bool {
        self.bins.iter().any(|bin| FULL <= *bin)
    }

    /// An upper bound for `percent` of 100 durations: the end of a bin, but never more than the longest
    /// duration.
    pub fn bound(&self, percent: u8, bins: Bins) -> Option<Nanos> {
        let bin = bin_of_percentile(&self.bins, percent)?;
        let last = bins.end(bin).map_or(u64::MAX, |end| end.0 - 1);
        Some(Nanos(last.min(self.max.0)))
    }

    /// For each bin: its shortest duration, the first duration above it, and its count.
    pub fn bars(&self, bins: Bins) -> impl Iterator<Item = (Nanos, Option<Nanos>, u64)> + '_ {
        (0..BINS).map(move |bin| (bins.start(bin), bins.end(bin), self.bins[bin]))
    }

    /// Counts one more duration.
    pub fn add(&mut self, duration: Nanos, bins: Bins) {
        let mut durations = Durations {
            count: 1,
            sum: duration,
            min: duration,
            max: duration,
            ..Durations::default()
        };
        durations.bins[bins.of(duration)] = 1;
        self.merge(&durations);
    }

    /// Adds the durations of another histogram with the same bins.
    pub fn merge(&mut self, other: &Durations) {
        if other.count == 0 {
            return;
        }
        self.min = match self.count {
            0 => other.min,
            _ => self.min.min(other.min),
        };
        self.max = self.max.max(other.max);
        self.count = self.count.saturating_add(other.count);
        self.sum.0 = self.sum.0.saturating_add(other.sum.0);
        for (mine, theirs) in self.bins.iter_mut().zip(&other.bins) {
            *mine = mine.saturating_add(*theirs);
        }
    }
}

/// Totals that the program kept for a coroutine so far. Each record replaces the coroutine's earlier
/// aggregates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Aggregate {
    /// The coroutine with these totals.
    pub coroutine: CoroutineId,
    /// When the totals were read.
    pub at: Nanos,
    /// The user asked for totals instead of events: events missing in the trace are included here.
    pub stands_for_events: bool,
    /// Durations that a signal handler did not add, because it had interrupted an update of the totals.
    pub left_out: u64,
    /// The bounds of the bins.
    pub bins: Bins,
    /// Waits that were followed by a run.
    pub waiting: Durations,
    /// Completed runs.
    pub running: Durations,
}

#[cfg(test)]
mod tests {
    use super::*;

    // AGG-15
    #[test]
    fn bins_are_adjacent() {
        let bins = Bins { lo: 8, step: 2 };
        let ends: Vec<Option<u64>> = [0, 1, 14, 15]
            .map(|bin| bins.end(bin).map(|time| time.0))
            .into();
        assert_eq!(ends, [Some(256), Some(1024), Some(1 << 36), None]);
        assert_eq!(bins.start(0), Nanos(0));
        assert!((1..BINS).all(|bin| Some(bins.start(bin)) == bins.end(bin - 1)));
        let coarse = Bins { lo: 63, step: 32 };
        assert_eq!((coarse.end(0), coarse.end(1)), (Some(Nanos(1 << 63)), None));
    }

    // AGG-09
    #[test]
    fn without_data_there_are_no_figures() {
        let none = Durations::default();
        assert_eq!(none.mean(), None);
        assert_eq!(none.bound(99, Bins::default()), None);
        let mut some = Durations {
            count: 2,
            sum: Nanos(30),
            min: Nanos(10),
            max: Nanos(20),
            ..none
        };
        some.bins[0] = 2;
        let before = some;
        some.merge(&none);
        assert_eq!(some, before, "nothing comes from nothing");
        let mut other = none;
        other.merge(&some);
        assert_eq!(other.min, Nanos(10), "no data is not zero");
        assert_eq!(some.bound(99, Bins { lo: 8, step: 2 }), Some(Nanos(20)));
    }
}
