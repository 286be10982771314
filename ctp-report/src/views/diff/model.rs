//! The differences of two traces that are more than noise.

#[cfg(test)]
mod tests;

use serde::Serialize;

use crate::config::LeastChange;
use crate::views::diff::common::{self, CommonChange};
use crate::views::diff::hypotheses::{self, PERCENTS, Test};
use crate::views::diff::matching::SitePair;
use crate::views::diff::profile::{Profile, SiteIdentity};
use crate::views::diff::series::Series;
use crate::views::diff::significance;

/// The differences of two traces.
#[derive(Debug, Default)]
pub struct Comparison {
    /// Percentiles that changed, the most certain change first.
    pub changes: Vec<Change>,
    /// What all sites have in common.
    pub common: Vec<CommonChange>,
    /// Sites that are only in the trace after.
    pub new: Vec<Row>,
    /// Sites that are only in the trace before.
    pub removed: Vec<Row>,
    /// All sites.
    pub sites: Vec<Row>,
    /// The number of sites in both traces.
    pub shared: usize,
    /// The number of sites that were compared and are the same, apart from noise.
    pub noise: usize,
    /// The number of sites with too few waits.
    pub too_few: usize,
}

/// A change of a percentile of the waits at a site.
#[derive(Clone, Debug, Serialize)]
pub struct Change {
    /// The site, with its figures.
    #[serde(flatten)]
    pub row: Row,
    /// The percentile that changed.
    pub percentile: u8,
    /// The value after, as a multiple of the value before.
    pub ratio: f64,
    /// The interval of the ratio.
    pub interval: [f64; 2],
}

/// A site, with its figures in both traces.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Row {
    /// The site, by its newest place.
    #[serde(flatten)]
    pub identity: SiteIdentity,
    /// The line in the trace before, if that differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line_before: Option<u32>,
    /// The figures before.
    pub before: Option<SiteFigures>,
    /// The figures after.
    pub after: Option<SiteFigures>,
}

/// Figures of a site in a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SiteFigures {
    /// Waits that ended in a run.
    pub waits: u64,
    /// Half of these waits took no longer.
    pub p50_ns: Option<u64>,
    /// 99 % of these waits took no longer.
    pub p99_ns: Option<u64>,
    /// The sum of the waits.
    pub waited_ns: u64,
    /// Runs that followed, and ended.
    pub runs: u64,
    /// The sum of the runs.
    pub ran_ns: u64,
}

impl SiteFigures {
    fn of(series: &Series) -> Self {
        SiteFigures {
            waits: series.waits(),
            p50_ns: series.percentile(50),
            p99_ns: series.percentile(99),
            waited_ns: series.waited_ns,
            runs: series.runs,
            ran_ns: series.ran_ns,
        }
    }

    /// One of the compared percentiles.
    pub fn percentile(&self, percent: u8) -> Option<u64> {
        if percent == 50 {
            self.p50_ns
        } else {
            self.p99_ns
        }
    }
}

impl Row {
    fn of(pair: &SitePair) -> Self {
        let line =
            |site: Option<(&SiteIdentity, &Series)>| site.and_then(|(identity, _)| identity.line);
        let identity = pair.identity().cloned().unwrap_or_default();
        let line_before = line(pair.before).filter(|line| Some(*line) != identity.line);
        let figures = |site: Option<(&SiteIdentity, &Series)>| {
            site.map(|(_, series)| SiteFigures::of(series))
        };
        Row {
            line_before,
            before: figures(pair.before),
            after: figures(pair.after),
            identity,
        }
    }
}

/// Compares the sites of two traces. Changes that are not larger than `least` do not count.
pub fn compare(
    profiles: (&Profile, &Profile),
    pairs: &[SitePair],
    least: LeastChange,
) -> Comparison {
    let tests = pairs.iter().enumerate();
    let tests = tests.flat_map(|(number, pair)| hypotheses::of_site(profiles, number, pair, least));
    let mut tests: Vec<Test> = tests.collect();
    let common = common::widen(&mut tests, &PERCENTS);
    let families = [false, true].map(|is_presence| miss(&tests, is_presence));
    let mut found = Comparison {
        common,
        sites: pairs.iter().map(Row::of).collect(),
        shared: pairs.iter().filter(|pair| is_shared(pair)).count(),
        ..Comparison::default()
    };
    let (mut is_tested, mut is_found) = (vec![false; pairs.len()], vec![false; pairs.len()]);
    for test in &tests {
        let (Test::Percentile { pair, .. } | Test::Presence { pair, .. }) = *test;
        is_tested[pair] = true;
        let miss = families[usize::from(test.is_presence())];
        if let Some(miss) = miss.filter(|miss| test.p_value() <= *miss) {
            is_found[pair] = true;
            found.add(test, miss);
        }
    }
    let tested = is_tested.iter().filter(|is_tested| **is_tested).count();
    found.noise = tested - is_found.iter().filter(|is_found| **is_found).count();
    found.too_few = pairs.len() - tested;
    found.sort();
    found
}

/// The largest p-value of significant tests, which are either those of percentiles or those of presence;
/// `None` if no test is significant. Many new sites must not make changes of percentiles seem less likely to
/// be noise.
fn miss(tests: &[Test], is_presence: bool) -> Option<f64> {
    let family = tests
        .iter()
        .filter(|test| test.is_presence() == is_presence);
    let p_values: Vec<f64> = family.map(Test::p_value).collect();
    let reported = significance::significant(&p_values);
    (0 < reported).then(|| significance::miss(reported, p_values.len()))
}

fn is_shared(pair: &SitePair) -> bool {
    pair.before.is_some() && pair.after.is_some()
}

impl Comparison {
    fn add(&mut self, test: &Test, miss: f64) {
        match test {
            Test::Percentile {
                pair,
                percent,
                difference,
                ..
            } => {
                let (low, high) = difference.interval(miss);
                self.changes.push(Change {
                    row: self.sites[*pair].clone(),
                    percentile: *percent,
                    ratio: difference.log.exp(),
                    interval: [low.exp(), high.exp()],
                });
            }
            Test::Presence { pair, .. } => {
                let row = self.sites[*pair].clone();
                if row.before.is_some() {
                    self.removed.push(row);
                } else {
                    self.new.push(row);
                }
            }
        }
    }

    /// Sorts changes by the least change that the interval allows, and sites by the time waited.
    fn sort(&mut self) {
        self.changes.sort_by(|a, b| b.least().total_cmp(&a.least()));
        for rows in [&mut self.new, &mut self.removed, &mut self.sites] {
            rows.sort_by_key(|row| std::cmp::Reverse(row.waited_ns()));
        }
    }
}

impl Row {
    /// The time waited in both traces.
    fn waited_ns(&self) -> u64 {
        let both = [self.before, self.after].into_iter().flatten();
        both.fold(0, |sum, figures| sum.saturating_add(figures.waited_ns))
    }
}

impl Change {
    /// The logarithm of the least change that the interval allows.
    fn least(&self) -> f64 {
        let [low, high] = self.interval.map(f64::ln);
        low.max(-high)
    }
}
