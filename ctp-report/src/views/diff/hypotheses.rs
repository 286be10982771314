//! What may differ between two traces, with the probability that this is noise.

use crate::config::LeastChange;
use crate::views::diff::bootstrap::{self, Errors, MAX_BLOCKS};
use crate::views::diff::matching::SitePair;
use crate::views::diff::profile::{Profile, ProfileFacts};
use crate::views::diff::series::Series;
use crate::views::diff::significance::Difference;

/// The percentiles that are compared.
pub const PERCENTS: [u8; 2] = [50, 99];

/// A percentile is compared only if at least this many waits of each trace are longer, and as many shorter.
const BEYOND: u64 = 20;

/// Something that may differ.
pub enum Test {
    /// A percentile of a site in both traces.
    Percentile {
        /// The number of the site.
        pair: usize,
        /// The percentile.
        percent: u8,
        /// The change.
        difference: Difference,
        /// The logarithm of the largest change that does not count.
        margin: f64,
    },
    /// Whether a site is in a trace.
    Presence {
        /// The number of the site.
        pair: usize,
        /// The probability that a single trace has all blocks with such waits by chance.
        p_value: f64,
    },
}

impl Test {
    /// Whether the test is about the presence of a site.
    pub fn is_presence(&self) -> bool {
        matches!(self, Test::Presence { .. })
    }

    /// The probability of such a difference, or a larger difference, by chance.
    pub fn p_value(&self) -> f64 {
        match self {
            Test::Percentile {
                difference, margin, ..
            } => difference.p_value(*margin),
            Test::Presence { p_value, .. } => *p_value,
        }
    }
}

/// The tests of a site.
pub fn of_site(
    (before, after): (&Profile, &Profile),
    pair: usize,
    site: &SitePair,
    least: LeastChange,
) -> Vec<Test> {
    let p_value = match (site.before, site.after) {
        (Some((_, before)), Some((_, after))) => {
            return percentile_tests(pair, before, after, least);
        }
        (Some((_, only)), None) => presence(only, &before.about, &after.about),
        (None, Some((_, only))) => presence(only, &after.about, &before.about),
        (None, None) => None,
    };
    let test = p_value.map(|p_value| Test::Presence { pair, p_value });
    test.into_iter().collect()
}

fn percentile_tests(pair: usize, before: &Series, after: &Series, least: LeastChange) -> Vec<Test> {
    let errors = [before, after].map(|series| {
        let sample = series.sample.by_time();
        bootstrap::errors(&sample, &PERCENTS)
    });
    let [Some(errors_before), Some(errors_after)] = errors else {
        return Vec::new();
    };
    let compared = PERCENTS.into_iter().enumerate();
    let compared = compared.filter(|(_, percent)| {
        [before, after]
            .iter()
            .all(|series| has_enough(series, *percent))
    });
    let tests = compared.filter_map(|(place, percent)| {
        let values = [before.percentile(percent)?, after.percentile(percent)?];
        let difference = difference(values, place, [&errors_before, &errors_after])?;
        Some(Test::Percentile {
            pair,
            percent,
            difference,
            margin: margin(values, least),
        })
    });
    tests.collect()
}

/// The logarithm of the largest change that does not count, without its sign. Shares are of the value before.
/// If that value cannot become smaller by so much, no decrease counts.
fn margin([before_ns, after_ns]: [u64; 2], least: LeastChange) -> f64 {
    let share = least
        .share
        .max(least.time.0 as f64 / before_ns.max(1) as f64);
    if before_ns <= after_ns {
        share.ln_1p()
    } else {
        -(-share.min(1.0)).ln_1p()
    }
}

fn has_enough(series: &Series, percent: u8) -> bool {
    let share = u64::from(percent.min(100 - percent));
    BEYOND * 100 <= series.waits().saturating_mul(share)
}

/// The difference of the logarithms of two percentiles.
fn difference(values_ns: [u64; 2], place: usize, errors: [&Errors; 2]) -> Option<Difference> {
    let [before, after] = values_ns.map(|ns| (ns.max(1) as f64).ln());
    let [error_before, error_after] = errors.map(|errors| errors.of_logs.get(place).copied());
    // Percentiles themselves have two digits.
    let error = error_before?.hypot(error_after?).max(0.01);
    Some(Difference {
        log: after - before,
        error,
        freedom: (errors[0].blocks + errors[1].blocks) as f64 - 2.0,
    })
}

/// The probability that all waits of a site are in a single trace, if they were as frequent in the other
/// trace. Waits that follow each other may have a common cause. So the shorter trace is divided into
/// [`MAX_BLOCKS`] blocks of time, and all waits of a block of this length count as a single event. `None` if
/// there are no waits, or if the other trace may have left out the site.
fn presence(only: &Series, about: &ProfileFacts, other: &ProfileFacts) -> Option<f64> {
    let durations_ns = [about, other].map(|about| about.duration.0.max(1));
    let block_ns = durations_ns[0]
        .min(durations_ns[1])
        .div_ceil(MAX_BLOCKS as u64);
    let blocks = only.sample.blocks(about.since, block_ns);
    if blocks == 0 || 0 < other.left_out {
        return None;
    }
    let [own, others] = durations_ns.map(|ns| ns as f64);
    let share = own / (own + others);
    Some(share.powi(i32::try_from(blocks).unwrap_or(i32::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::views::diff::sample::SampledDuration;
    use ctp_trace::record::Nanos;

    const LEAST: LeastChange = LeastChange {
        share: 0.2,
        time: Nanos(50_000),
    };

    /// Whether a change counts if it has no error.
    fn counts(before_ns: u64, after_ns: u64) -> bool {
        let change = (after_ns as f64 / before_ns as f64).ln();
        margin([before_ns, after_ns], LEAST) < change.abs()
    }

    #[test]
    fn increases_and_decreases_count_from_the_same_share() {
        assert!(!counts(1_000_000, 1_190_000) && counts(1_000_000, 1_210_000));
        assert!(!counts(1_000_000, 810_000) && counts(1_000_000, 790_000));
        assert!(!counts(100_000, 149_000) && counts(100_000, 151_000));
        assert!(!counts(100_000, 51_000) && counts(100_000, 49_000));
        assert!(!counts(40_000, 1));
    }

    /// A recording of 16 ms.
    fn about(left_out: u64) -> ProfileFacts {
        ProfileFacts {
            duration: Nanos(16_000_000),
            left_out,
            ..ProfileFacts::default()
        }
    }

    /// Forty waits of which each ended this much later than the wait before.
    fn series(period_ns: u64) -> Series {
        let mut series = Series::new();
        for number in 0..40 {
            let at_ns = number * period_ns;
            let length_ns = 1_000;
            series.add_wait(SampledDuration { at_ns, length_ns });
        }
        series
    }

    #[test]
    fn waits_at_the_same_time_are_no_more_evidence_than_a_wait() {
        let together = presence(&series(1_000), &about(0), &about(0));
        assert_eq!(together, Some(0.5));
        let scattered = presence(&series(400_000), &about(0), &about(0));
        assert_eq!(scattered, Some(0.5f64.powi(16)));
        let longer = ProfileFacts {
            duration: Nanos(160_000_000),
            ..ProfileFacts::default()
        };
        let scattered = presence(&series(400_000), &longer, &about(0));
        assert_eq!(scattered, Some((160.0f64 / 176.0).powi(16)));
    }

    #[test]
    fn sites_that_may_have_been_left_out_are_not_tested() {
        let series = series(400_000);
        assert_eq!(presence(&series, &about(0), &about(1)), None);
        assert!(presence(&series, &about(1), &about(0)).is_some());
    }
}
