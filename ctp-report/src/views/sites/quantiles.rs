//! Quantiles and standard deviations of the waits at each site, from the waits in the trace.

use std::collections::HashMap;

use ctp_trace::model::{SiteStats, Span, SpanActivity};
use ctp_trace::record::{SiteId, WaitKind};
use hdrhistogram::Histogram;

/// How many significant decimal digits a quantile has.
const DIGITS: u8 = 2;

/// How many sites have quantiles with these digits. The other sites have upper bounds, since a trace may
/// have any number of sites, and each histogram takes some kilobytes.
const MAX_SITES: usize = 4096;

/// The lengths of the ended waits at each site.
#[derive(Default)]
pub struct Quantiles(HashMap<(SiteId, WaitKind), Histogram<u32>>);

/// Figures of the ended waits at a site. `None` without such waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QuantileFigures {
    /// At least half of the waits took no longer.
    pub p50_ns: Option<u64>,
    /// At least 99 % of the waits took no longer.
    pub p99_ns: Option<u64>,
    /// The standard deviation.
    pub stddev_ns: Option<u64>,
}

impl Quantiles {
    /// Adds a span that has ended, if it is a wait.
    pub fn add(&mut self, span: &Span) {
        let SpanActivity::Waiting(site, wait) = span.activity else {
            return;
        };
        if MAX_SITES <= self.0.len() && !self.0.contains_key(&(site, wait)) {
            return;
        }
        let lengths = self.0.entry((site, wait)).or_insert_with(|| {
            Histogram::new(DIGITS).expect("the number of digits is from 0 to 5")
        });
        // The histogram grows as needed. If it cannot, the number of lengths differs from that of the site,
        // and the site has upper bounds.
        let _ = lengths.record(span.length().0);
    }

    /// The figures of a site. They are upper bounds, within a factor of two, beyond [`MAX_SITES`].
    pub fn of(&self, site: &SiteStats) -> QuantileFigures {
        let bound = |percent| site.waits.bound(percent).map(|bound| bound.0);
        let lengths = self.0.get(&(site.site, site.wait));
        match lengths.filter(|lengths| lengths.len() == site.waits.count()) {
            Some(lengths) if !lengths.is_empty() => {
                let longest = site.waits.max().unwrap_or_default().0;
                let quantile = |share| Some(lengths.value_at_quantile(share).min(longest));
                QuantileFigures {
                    p50_ns: quantile(0.5),
                    p99_ns: quantile(0.99),
                    stddev_ns: Some(lengths.stdev() as u64),
                }
            }
            _ => QuantileFigures {
                p50_ns: bound(50),
                p99_ns: bound(99),
                stddev_ns: None,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use ctp_trace::record::{CoroutineId, Nanos};

    use super::*;

    fn wait(ns: u64) -> Span {
        Span {
            coroutine: CoroutineId(1),
            activity: SpanActivity::Waiting(SiteId(1), WaitKind::Timer),
            from: Nanos(5),
            to: Nanos(5 + ns),
        }
    }

    fn stats(lengths: impl Iterator<Item = u64>) -> SiteStats {
        let mut stats = SiteStats::default();
        stats.site = SiteId(1);
        stats.wait = WaitKind::Timer;
        lengths.for_each(|ns| stats.waits.add(Nanos(ns)));
        stats
    }

    // AGG-25
    #[test]
    fn figures_are_those_of_the_waits() {
        let lengths = || (1..=1000).map(|i| i * 1_000_000);
        let mut quantiles = Quantiles::default();
        lengths().for_each(|ns| quantiles.add(&wait(ns)));
        let figures = quantiles.of(&stats(lengths()));
        let is_near = |found: Option<u64>, expected: u64| {
            found.is_some_and(|found| found.abs_diff(expected) <= expected / 50)
        };
        assert!(is_near(figures.p50_ns, 500_000_000), "{figures:?}");
        assert!(is_near(figures.p99_ns, 990_000_000), "{figures:?}");
        assert!(is_near(figures.stddev_ns, 288_675_000), "{figures:?}");
    }

    // AGG-25
    #[test]
    fn missing_waits_leave_upper_bounds() {
        let mut quantiles = Quantiles::default();
        quantiles.add(&wait(1000));
        let figures = quantiles.of(&stats([1000, 1100].into_iter()));
        let expected = QuantileFigures {
            p50_ns: Some(1023),
            p99_ns: Some(1100),
            stddev_ns: None,
        };
        assert_eq!(figures, expected);
        assert_eq!(
            quantiles.of(&SiteStats::default()),
            QuantileFigures::default()
        );
    }
}
