//! Decides which of many differences are more than noise, and between which bounds each of them lies.
//!
//! At most a share of [`FALSE_SHARE`] of the reported differences is expected to be noise, however many
//! differences are tested (Benjamini and Hochberg, "Controlling the false discovery rate", 1995). Intervals
//! are wide enough that the same holds for them (Benjamini and Yekutieli, "False discovery rate-adjusted
//! multiple confidence intervals", 2005).

/// The expected share of noise among the reported differences.
pub const FALSE_SHARE: f64 = 0.01;

/// A difference of two logarithms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// The difference.
    pub log: f64,
    /// Its standard error.
    pub error: f64,
    /// The degrees of freedom of the standard error.
    pub freedom: f64,
}

impl Difference {
    /// The probability of a difference of at least this size, if the true difference is `margin` at most.
    pub fn p_value(&self, margin: f64) -> f64 {
        let beyond = (self.log.abs() - margin) / self.error;
        if beyond <= 0.0 {
            return 1.0;
        }
        (2.0 * tail(normal_of_t(beyond, self.freedom))).min(1.0)
    }

    /// The interval that misses the true difference with this probability.
    pub fn interval(&self, miss: f64) -> (f64, f64) {
        let half = t_of_normal(normal_beyond(miss / 2.0), self.freedom) * self.error;
        (self.log - half, self.log + half)
    }
}

/// The number of significant p-values. These are the smallest of the p-values.
pub fn significant(p_values: &[f64]) -> usize {
    let mut sorted = p_values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let is_significant = |rank: usize| sorted[rank - 1] <= miss(rank, sorted.len());
    (1..=sorted.len())
        .rev()
        .find(|rank| is_significant(*rank))
        .unwrap_or(0)
}

/// The probability with which intervals may miss the true value if `reported` of `tested` differences are
/// reported. P-values up to this are significant.
pub fn miss(reported: usize, tested: usize) -> f64 {
    FALSE_SHARE * reported.max(1) as f64 / tested.max(1) as f64
}

/// The probability that a normal variable is larger than `z`, which is positive: formula 26.2.17 of Abramowitz
/// and Stegun, "Handbook of mathematical functions", 1964, with an error of 7.5e-8 at most.
fn tail(z: f64) -> f64 {
    const FACTORS: [f64; 5] = [
        0.319_381_530,
        -0.356_563_782,
        1.781_477_937,
        -1.821_255_978,
        1.330_274_429,
    ];
    let t = 1.0 / (1.0 + 0.231_641_9 * z);
    let sum = FACTORS
        .iter()
        .rev()
        .fold(0.0, |sum, factor| (sum + factor) * t);
    sum * (-z * z / 2.0).exp() / std::f64::consts::TAU.sqrt()
}

/// The value that a normal variable exceeds with this probability, which is at most one half.
fn normal_beyond(probability: f64) -> f64 {
    let (mut low, mut high) = (0.0, 40.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if probability < tail(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// The normal variable with the same tail as `t` of Student's distribution (Wallace, "Bounds on normal
/// approximations to Student's and the chi-square distributions", 1959).
fn normal_of_t(t: f64, freedom: f64) -> f64 {
    scale(freedom) * (freedom * (t * t / freedom).ln_1p()).sqrt()
}

/// The inverse of [`normal_of_t`].
fn t_of_normal(z: f64, freedom: f64) -> f64 {
    let unscaled = z / scale(freedom);
    (freedom * (unscaled * unscaled / freedom).exp_m1()).sqrt()
}

fn scale(freedom: f64) -> f64 {
    (8.0 * freedom + 1.0) / (8.0 * freedom + 3.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_near(found: f64, expected: f64, share: f64) -> bool {
        (found - expected).abs() <= share * expected
    }

    #[test]
    fn tails_are_those_of_tables() {
        for (z, expected) in [(0.5, 0.308_54), (1.96, 0.024_998), (4.0, 3.167e-5)] {
            assert!(is_near(tail(z), expected, 0.01), "{z}: {}", tail(z));
            assert!(is_near(normal_beyond(expected), z, 0.001), "{expected}");
        }
        // 2.5 % of Student's distribution with 10 degrees of freedom are beyond 2.228.
        assert!(is_near(normal_of_t(2.228, 10.0), 1.96, 0.01));
        assert!(is_near(t_of_normal(1.96, 10.0), 2.228, 0.01));
    }

    #[test]
    fn more_tests_need_stronger_evidence() {
        assert_eq!(significant(&[]), 0);
        assert_eq!(significant(&[0.009]), 1);
        assert_eq!(significant(&[0.009, 0.9]), 0);
        assert_eq!(significant(&[0.009, 0.004]), 2);
        assert_eq!(significant(&[0.9, 0.004, 0.8]), 0);
    }

    #[test]
    fn small_differences_are_within_the_margin() {
        let difference = |log| Difference {
            log,
            error: 0.01,
            freedom: 62.0,
        };
        let margin = 1.1f64.ln();
        assert!(0.9 < difference(margin).p_value(margin));
        assert!(difference(-0.5).p_value(margin) < 1e-6);
        let (low, high) = difference(0.5).interval(0.05);
        assert!(is_near(low, 0.48, 0.01) && is_near(high, 0.52, 0.01));
    }
}
