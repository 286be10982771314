//! Aggregates: what the program itself summed up of all waits and runs of a coroutine, exact
//! however few of its events are in the trace. The record, and its figures.

use crate::histogram::bin_of_percentile;
use crate::record::{CoroutineId, Nanos};

/// Bins of an aggregate.
pub const BINS: usize = 16;

/// Which durations a bin counts: bin 0 those below 2^lo ns, bin i those below 2^(lo + i·step) that
/// no bin before counts, and the last one all others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Bins {
    /// log2 of the bound of bin 0.
    pub lo: u8,
    /// log2 of the factor from one bound to the next.
    pub step: u8,
}

impl Bins {
    /// What this recorder asks programs for: from 256 ns by factors of four to 69 s.
    pub const USUAL: Bins = Bins { lo: 8, step: 2 };

    /// The bin of this duration, as the program finds it.
    pub fn of(self, duration: Nanos) -> usize {
        let is_below = |bin: &usize| self.end(*bin).is_none_or(|end| duration < end);
        (0..BINS - 1).find(is_below).unwrap_or(BINS - 1)
    }

    /// The first duration that this bin does not count; nothing if it counts all that are longer.
    pub fn end(self, bin: usize) -> Option<Nanos> {
        let power = usize::from(self.lo) + bin * usize::from(self.step);
        let end = u32::try_from(power)
            .ok()
            .and_then(|number| 1u64.checked_shl(number));
        end.filter(|_| bin < BINS - 1).map(Nanos)
    }

    /// The first duration that this bin counts.
    pub fn start(self, bin: usize) -> Nanos {
        let before = bin.checked_sub(1);
        before.map_or(Nanos(0), |bin| self.end(bin).unwrap_or(Nanos(u64::MAX)))
    }
}

/// What is kept of many durations. With `count` 0 there is no data: all the rest is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Durations {
    /// How many.
    pub count: u64,
    /// Their sum.
    pub sum: Nanos,
    /// The shortest.
    pub min: Nanos,
    /// The longest.
    pub max: Nanos,
    /// How many fell into each bin. A bin of a program is full at 2^32 − 1, and then stands for so
    /// many or more.
    pub bins: [u64; BINS],
}

/// A full bin of the program.
const FULL: u64 = u32::MAX as u64;

impl Durations {
    /// Their arithmetic mean.
    pub fn mean(&self) -> Option<Nanos> {
        self.sum.0.checked_div(self.count).map(Nanos)
    }

    /// Whether a bin counted as far as it could, and no further.
    pub fn is_saturated(&self) -> bool {
        self.bins.iter().any(|bin| FULL <= *bin)
    }

    /// At least `percent` of 100 were not longer than this: the bound of a bin, and never above the
    /// longest.
    pub fn bound(&self, percent: u8, bins: Bins) -> Option<Nanos> {
        let bin = bin_of_percentile(&self.bins, percent)?;
        let last = bins.end(bin).map_or(u64::MAX, |end| end.0 - 1);
        Some(Nanos(last.min(self.max.0)))
    }

    /// Each bin: the shortest duration that it counts, the shortest that it does not count any more,
    /// and how many there were.
    pub fn bars(&self, bins: Bins) -> impl Iterator<Item = (Nanos, Option<Nanos>, u64)> + '_ {
        (0..BINS).map(move |bin| (bins.start(bin), bins.end(bin), self.bins[bin]))
    }

    /// Takes one more into account.
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

    /// Takes all of another one's durations into account, of the same bins.
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

/// What a coroutine's program summed up of it so far. Each one replaces those before it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Aggregate {
    /// The coroutine whose totals they are.
    pub coroutine: CoroutineId,
    /// When it was read.
    pub at: Nanos,
    /// Events of it that are not in the trace were not to be: what they amount to is in here.
    pub stands_for_events: bool,
    /// Durations that a signal handler left out, since it had interrupted the summing up.
    pub left_out: u64,
    /// How the durations are divided.
    pub bins: Bins,
    /// Waits that ended in a run.
    pub waiting: Durations,
    /// Runs that ended.
    pub running: Durations,
}

#[cfg(test)]
mod tests {
    use super::*;

    // AGG-15
    #[test]
    fn each_bin_begins_where_the_one_before_ends() {
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
