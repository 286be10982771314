//! A random sample of many durations, in bounded memory.

use std::collections::BTreeSet;

use ctp_trace::record::Nanos;

/// The number of durations in a full sample.
pub const SAMPLE: usize = 1000;

/// A duration, and when it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SampledDuration {
    /// When the duration ended.
    pub at_ns: u64,
    /// The duration.
    pub length_ns: u64,
}

/// A sample in which each duration is with the same probability. The method is algorithm R (Vitter, "Random
/// sampling with a reservoir", 1985). The same durations in the same order give the same sample.
#[derive(Clone, Debug, Default)]
pub struct Reservoir {
    kept: Vec<SampledDuration>,
    seen: u64,
    random: Random,
}

impl Reservoir {
    /// Takes a duration.
    pub fn add(&mut self, sampled: SampledDuration) {
        self.seen += 1;
        if self.kept.len() < SAMPLE {
            self.kept.push(sampled);
            return;
        }
        let place = self.random.below(self.seen);
        let place = usize::try_from(place).ok();
        if let Some(kept) = place.and_then(|place| self.kept.get_mut(place)) {
            *kept = sampled;
        }
    }

    /// The number of durations that were added.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// The sample, in the order of time.
    pub fn by_time(&self) -> Vec<SampledDuration> {
        let mut kept = self.kept.clone();
        kept.sort_unstable();
        kept
    }

    /// The number of blocks of time in which a duration of the sample ended. The blocks begin at `since`.
    pub fn blocks(&self, since: Nanos, block_ns: u64) -> usize {
        let ends = self.kept.iter().map(|sampled| sampled.at_ns);
        let later = ends.filter_map(|at_ns| at_ns.checked_sub(since.0));
        let blocks: BTreeSet<u64> = later.map(|ns| ns / block_ns).collect();
        blocks.len()
    }

    /// Adds the durations of another sample, so that each duration of both is with about the same
    /// probability.
    pub fn merge(&mut self, other: &Reservoir) {
        let all = self.seen.saturating_add(other.seen);
        let part = |of: &Reservoir| {
            let share = u128::from(of.seen) * SAMPLE as u128 / u128::from(all.max(1));
            let room = if all <= SAMPLE as u64 {
                SAMPLE
            } else {
                share as usize
            };
            room.min(of.kept.len())
        };
        let (own, others) = (part(self), part(other));
        shuffle(&mut self.kept, &mut self.random);
        self.kept.truncate(own);
        let mut added = other.kept.clone();
        shuffle(&mut added, &mut self.random);
        self.kept.extend(added.into_iter().take(others));
        self.seen = all;
    }
}

fn shuffle(all: &mut [SampledDuration], random: &mut Random) {
    for place in (1..all.len()).rev() {
        let other = random.below(place as u64 + 1) as usize;
        all.swap(place, other);
    }
}

/// Random numbers that are the same in each run: SplitMix64 (Steele, Lea and Flood, "Fast splittable
/// pseudorandom number generators", 2014).
#[derive(Clone, Debug, Default)]
pub struct Random(u64);

impl Random {
    /// A number below `bound`, which must not be 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let random = mixed ^ (mixed >> 31);
        let scaled = u128::from(random) * u128::from(bound);
        (scaled >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reservoir(lengths: std::ops::Range<u64>) -> Reservoir {
        let mut reservoir = Reservoir::default();
        for length_ns in lengths {
            let at_ns = length_ns;
            reservoir.add(SampledDuration { at_ns, length_ns });
        }
        reservoir
    }

    #[test]
    fn samples_are_bounded_and_spread_evenly() {
        let few = reservoir(0..7);
        assert_eq!((few.by_time().len(), few.seen()), (7, 7));
        let many = reservoir(0..100_000);
        let kept = many.by_time();
        assert_eq!((kept.len(), many.seen()), (SAMPLE, 100_000));
        let early = kept
            .iter()
            .filter(|sampled| sampled.length_ns < 50_000)
            .count();
        assert!((430..570).contains(&early), "{early} of {SAMPLE}");
        assert_eq!(kept, reservoir(0..100_000).by_time());
    }

    #[test]
    fn merged_samples_keep_the_shares() {
        let mut merged = reservoir(0..30_000);
        merged.merge(&reservoir(1_000_000..1_010_000));
        let kept = merged.by_time();
        let others = kept
            .iter()
            .filter(|sampled| 1_000_000 <= sampled.at_ns)
            .count();
        assert_eq!((others, merged.seen()), (SAMPLE / 4, 40_000));
        let mut few = reservoir(0..3);
        few.merge(&reservoir(10..15));
        assert_eq!(few.by_time().len(), 8);
    }

    #[test]
    fn merged_empty_samples_are_empty() {
        let mut merged = Reservoir::default();
        merged.merge(&Reservoir::default());
        assert_eq!((merged.by_time().len(), merged.seen()), (0, 0));
    }
}
