//! How much all sites differ between two recordings, for example because the machine was busier. A site
//! counts as changed only if it differs from the other sites too.
//!
//! This is an empirical estimate of what no change looks like (Efron, "Large-scale simultaneous hypothesis
//! testing: the choice of a null hypothesis", 2004). Medians are used, so that a few real changes have no
//! influence.

use serde::Serialize;

use crate::views::diff::hypotheses::Test;

/// With fewer sites, a change of some could not be told from a change of all.
const MIN_SITES: usize = 5;

/// The median distance from the centre of a normal distribution is this part of the standard deviation.
const MEDIAN_DISTANCE: f64 = 0.6745;

/// The change of a percentile that the sites have in common.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CommonChange {
    /// The percentile.
    pub percentile: u8,
    /// The median of the ratios of all sites.
    pub ratio: f64,
    /// The number of sites.
    pub sites: usize,
}

/// Widens the errors of changes by what the sites have in common. Returns the common changes.
pub fn widen(tests: &mut [Test], percents: &[u8]) -> Vec<CommonChange> {
    let mut common = Vec::new();
    for percent in percents {
        let logs = of_percentile(tests, *percent, |log, _| log);
        if logs.len() < MIN_SITES {
            continue;
        }
        let distances = of_percentile(tests, *percent, |log, _| log.abs());
        let errors = of_percentile(tests, *percent, |_, error| error);
        let spread = median(distances) / MEDIAN_DISTANCE;
        let own = median(errors);
        add_error(
            tests,
            *percent,
            (spread * spread - own * own).max(0.0).sqrt(),
        );
        common.push(CommonChange {
            percentile: *percent,
            sites: logs.len(),
            ratio: median(logs).exp(),
        });
    }
    common
}

/// A value of each change of this percentile, from the logarithm of the ratio and its error.
fn of_percentile(tests: &[Test], of: u8, value: fn(f64, f64) -> f64) -> Vec<f64> {
    let values = tests.iter().filter_map(|test| match test {
        Test::Percentile {
            percent,
            difference,
            ..
        } if *percent == of => Some(value(difference.log, difference.error)),
        _ => None,
    });
    values.collect()
}

fn add_error(tests: &mut [Test], of: u8, error: f64) {
    for test in tests {
        if let Test::Percentile {
            percent,
            difference,
            ..
        } = test
            && *percent == of
        {
            difference.error = difference.error.hypot(error);
        }
    }
}

/// The median of values, of which there is at least one.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
