//! How far percentiles would vary if the program ran again, estimated by a bootstrap: percentiles of many
//! samples that are drawn from the sample itself.
//!
//! Waits that follow each other are similar, for example while a machine is busy. Blocks of consecutive
//! waits are drawn instead of single waits (Künsch, "The jackknife and the bootstrap for general stationary
//! observations", 1989; with blocks that do not overlap, as of Carlstein, 1986).

use crate::views::diff::sample::{Random, SampledDuration};

/// Samples with fewer durations say too little.
pub const MIN_SAMPLE: usize = 32;

/// The most blocks into which a sample is divided.
pub const MAX_BLOCKS: usize = 16;

/// The fewest durations of a block.
const BLOCK: usize = 4;

/// How many samples are drawn.
const REPLICATES: u32 = 400;

/// The standard errors of percentiles.
#[derive(Clone, Debug, PartialEq)]
pub struct Errors {
    /// The standard error of the natural logarithm of each percentile.
    pub of_logs: Vec<f64>,
    /// The number of blocks.
    pub blocks: usize,
}

/// A duration of a sample.
struct Member {
    log: f64,
    block: usize,
}

/// Estimates the standard errors of these percentiles. The sample is in the order of time. `None` if the
/// sample is too small.
pub fn errors(sample: &[SampledDuration], percents: &[u8]) -> Option<Errors> {
    if sample.len() < MIN_SAMPLE {
        return None;
    }
    let blocks = (sample.len() / BLOCK).min(MAX_BLOCKS);
    let members = by_length(sample, blocks);
    let mut sizes = vec![0u64; blocks];
    members.iter().for_each(|member| sizes[member.block] += 1);
    let mut random = Random::default();
    let mut spreads = vec![Spread::default(); percents.len()];
    for _ in 0..REPLICATES {
        let draws = draw(blocks, &mut random);
        let logs = percentiles(&members, &draws, &sizes, percents);
        spreads
            .iter_mut()
            .zip(logs)
            .for_each(|(spread, log)| spread.add(log));
    }
    Some(Errors {
        of_logs: spreads.iter().map(Spread::deviation).collect(),
        blocks,
    })
}

/// The durations in ascending order, each with its block.
fn by_length(sample: &[SampledDuration], blocks: usize) -> Vec<Member> {
    let members = sample.iter().enumerate().map(|(place, sampled)| Member {
        log: (sampled.length_ns.max(1) as f64).ln(),
        block: place * blocks / sample.len(),
    });
    let mut members: Vec<Member> = members.collect();
    members.sort_by(|a, b| a.log.total_cmp(&b.log));
    members
}

/// How often each block is drawn, if as many blocks are drawn as there are.
fn draw(blocks: usize, random: &mut Random) -> Vec<u64> {
    let mut draws = vec![0; blocks];
    for _ in 0..blocks {
        draws[random.below(blocks as u64) as usize] += 1;
    }
    draws
}

/// The logarithms of the percentiles, in ascending order of `percents`, of a drawn sample.
fn percentiles(members: &[Member], draws: &[u64], sizes: &[u64], percents: &[u8]) -> Vec<f64> {
    let total: u64 = draws
        .iter()
        .zip(sizes)
        .map(|(draws, size)| draws * size)
        .sum();
    let mut logs = Vec::with_capacity(percents.len());
    let mut seen = 0;
    for member in members {
        seen += draws[member.block];
        while let Some(percent) = percents.get(logs.len())
            && (total * u64::from(*percent)).div_ceil(100) <= seen
        {
            logs.push(member.log);
        }
    }
    logs
}

/// A mean and a sum of squares, updated value by value (Welford, 1962).
#[derive(Clone, Debug, Default)]
struct Spread {
    count: f64,
    mean: f64,
    squares: f64,
}

impl Spread {
    fn add(&mut self, value: f64) {
        self.count += 1.0;
        let from_mean = value - self.mean;
        self.mean += from_mean / self.count;
        self.squares += from_mean * (value - self.mean);
    }

    /// The standard deviation.
    fn deviation(&self) -> f64 {
        (self.squares / (self.count - 1.0).max(1.0)).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lengths around 1 ms, of which each run of `alike` is the same.
    fn sample(count: u64, alike: u64) -> Vec<SampledDuration> {
        let mut random = Random::default();
        let mut length_ns = 0;
        let lengths = (0..count).map(|at_ns| {
            if at_ns.is_multiple_of(alike) {
                length_ns = 500_000 + random.below(1_000_000);
            }
            SampledDuration { at_ns, length_ns }
        });
        lengths.collect()
    }

    #[test]
    fn errors_are_those_of_a_uniform_distribution() {
        // The median of n uniform values has the standard error 1 / (2 sqrt(n)) of the range, which is as
        // long as the median here.
        let errors = errors(&sample(1000, 1), &[50, 99]).unwrap();
        let expected = 0.5 / 1000f64.sqrt();
        let is_near = (0.6 * expected..1.6 * expected).contains(&errors.of_logs[0]);
        assert!(is_near, "{errors:?}, not {expected}");
        assert!(errors.of_logs[1] < errors.of_logs[0]);
        assert_eq!(errors.blocks, MAX_BLOCKS);
    }

    #[test]
    fn similar_neighbours_make_errors_larger() {
        let [single, alike] = [1, 25].map(|alike| errors(&sample(1000, alike), &[50]).unwrap());
        assert!(
            2.0 * single.of_logs[0] < alike.of_logs[0],
            "{single:?} {alike:?}"
        );
    }

    #[test]
    fn small_samples_have_no_errors() {
        assert_eq!(errors(&sample(31, 1), &[50]), None);
        assert_eq!(errors(&sample(32, 1), &[50]).unwrap().blocks, 8);
    }
}
