//! The waits and runs at a site, in bounded memory.

use hdrhistogram::Histogram;

use crate::views::diff::sample::{Reservoir, SampledDuration};

/// How many significant decimal digits a percentile has.
const DIGITS: u8 = 2;

/// The waits at a site, and the runs after these waits.
#[derive(Clone, Debug)]
pub struct Series {
    /// A sample of the waits that ended in a run.
    pub sample: Reservoir,
    /// The sum of these waits.
    pub waited_ns: u64,
    /// The number of runs.
    pub runs: u64,
    /// The sum of the runs.
    pub ran_ns: u64,
    lengths: Histogram<u32>,
    longest_ns: u64,
}

impl Series {
    /// Creates a series without waits.
    pub fn new() -> Self {
        Series {
            sample: Reservoir::default(),
            waited_ns: 0,
            runs: 0,
            ran_ns: 0,
            lengths: Histogram::new(DIGITS).expect("the number of digits is from 0 to 5"),
            longest_ns: 0,
        }
    }

    /// Takes a wait.
    pub fn add_wait(&mut self, wait: SampledDuration) {
        self.sample.add(wait);
        // The histogram grows as needed. If there is no memory, the wait is left out of percentiles.
        let _ = self.lengths.record(wait.length_ns);
        self.waited_ns = self.waited_ns.saturating_add(wait.length_ns);
        self.longest_ns = self.longest_ns.max(wait.length_ns);
    }

    /// Takes a run.
    pub fn add_run(&mut self, length_ns: u64) {
        self.runs += 1;
        self.ran_ns = self.ran_ns.saturating_add(length_ns);
    }

    /// The number of waits.
    pub fn waits(&self) -> u64 {
        self.sample.seen()
    }

    /// The length that this many percent of the waits do not exceed; `None` without waits.
    pub fn percentile(&self, percent: u8) -> Option<u64> {
        let share = f64::from(percent) / 100.0;
        let length = self.lengths.value_at_quantile(share).min(self.longest_ns);
        (0 < self.waits()).then_some(length)
    }

    /// Adds the waits and runs of another series.
    pub fn merge(&mut self, other: &Series) {
        self.sample.merge(&other.sample);
        let _ = self.lengths.add(&other.lengths);
        self.waited_ns = self.waited_ns.saturating_add(other.waited_ns);
        self.longest_ns = self.longest_ns.max(other.longest_ns);
        self.runs = self.runs.saturating_add(other.runs);
        self.ran_ns = self.ran_ns.saturating_add(other.ran_ns);
    }
}
