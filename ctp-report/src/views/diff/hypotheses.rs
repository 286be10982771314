//! What may differ between two traces, with the probability that this is noise.

use crate::config::LeastChange;
use crate::views::diff::bootstrap::{self, Errors};
use crate::views::diff::matching::Pair;
use crate::views::diff::profile::Profile;
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
        /// The probability that a single trace has all of the waits by chance.
        p_value: f64,
    },
}

impl Test {
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
    number: usize,
    pair: &Pair,
    least: LeastChange,
) -> Vec<Test> {
    let durations = [before, after].map(|profile| profile.about.duration.0.max(1) as f64);
    match (pair.before, pair.after) {
        (Some((_, before)), Some((_, after))) => percentile_tests(number, before, after, least),
        (Some((_, only)), None) => presence_test(number, only, durations[0], durations[1]),
        (None, Some((_, only))) => presence_test(number, only, durations[1], durations[0]),
        (None, None) => Vec::new(),
    }
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

/// The logarithm of the largest change that does not count.
fn margin(values_ns: [u64; 2], least: LeastChange) -> f64 {
    let smaller = values_ns[0].min(values_ns[1]).max(1) as f64;
    least.share.max(least.time.0 as f64 / smaller).ln_1p()
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

/// The probability that all waits of a site are in the trace with this duration, if they were as frequent
/// in the other trace.
fn presence_test(pair: usize, only: &Series, duration: f64, other: f64) -> Vec<Test> {
    let share = duration / (duration + other);
    let waits = i32::try_from(only.waits()).unwrap_or(i32::MAX);
    if waits == 0 {
        return Vec::new();
    }
    let p_value = share.powi(waits);
    vec![Test::Presence { pair, p_value }]
}
