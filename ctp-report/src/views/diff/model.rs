//! The differences of two traces that are more than noise.

use serde::Serialize;

use crate::config::LeastChange;
use crate::views::diff::hypotheses::{self, Test};
use crate::views::diff::matching::Pair;
use crate::views::diff::profile::{Identity, Profile};
use crate::views::diff::series::Series;
use crate::views::diff::significance;

/// The differences of two traces.
#[derive(Debug, Default)]
pub struct Comparison {
    /// Percentiles that changed, the most certain change first.
    pub changes: Vec<Change>,
    /// Sites that are only in the trace after.
    pub new: Vec<Row>,
    /// Sites that are only in the trace before.
    pub gone: Vec<Row>,
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
    pub identity: Identity,
    /// The line in the trace before, if that differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line_before: Option<u32>,
    /// The figures before.
    pub before: Option<Figures>,
    /// The figures after.
    pub after: Option<Figures>,
}

/// Figures of a site in a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Figures {
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

impl Figures {
    fn of(series: &Series) -> Self {
        Figures {
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
    fn of(pair: &Pair) -> Self {
        let line =
            |site: Option<(&Identity, &Series)>| site.and_then(|(identity, _)| identity.line);
        let identity = pair.identity().cloned().unwrap_or_default();
        let line_before = line(pair.before).filter(|line| Some(*line) != identity.line);
        let figures =
            |site: Option<(&Identity, &Series)>| site.map(|(_, series)| Figures::of(series));
        Row {
            line_before,
            before: figures(pair.before),
            after: figures(pair.after),
            identity,
        }
    }
}

/// Compares the sites of two traces. Changes that are not larger than `least` do not count.
pub fn compare(profiles: (&Profile, &Profile), pairs: &[Pair], least: LeastChange) -> Comparison {
    let (mut tests, mut p_values) = (Vec::new(), Vec::new());
    for (number, pair) in pairs.iter().enumerate() {
        for (test, p_value) in hypotheses::of_site(profiles, number, pair, least) {
            tests.push(test);
            p_values.push(p_value);
        }
    }
    let reported = significance::significant(&p_values);
    let miss = significance::miss(reported, p_values.len());
    let mut found = Comparison {
        sites: pairs.iter().map(Row::of).collect(),
        shared: pairs.iter().filter(|pair| is_shared(pair)).count(),
        ..Comparison::default()
    };
    let (mut is_tested, mut is_found) = (vec![false; pairs.len()], vec![false; pairs.len()]);
    for (test, p_value) in tests.iter().zip(&p_values) {
        let (Test::Percentile { pair, .. } | Test::Presence { pair }) = *test;
        is_tested[pair] = true;
        if *p_value <= miss && 0 < reported {
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

fn is_shared(pair: &Pair) -> bool {
    pair.before.is_some() && pair.after.is_some()
}

impl Comparison {
    fn add(&mut self, test: &Test, miss: f64) {
        match test {
            Test::Percentile {
                pair,
                percent,
                difference,
            } => {
                let (low, high) = difference.interval(miss);
                self.changes.push(Change {
                    row: self.sites[*pair].clone(),
                    percentile: *percent,
                    ratio: difference.log.exp(),
                    interval: [low.exp(), high.exp()],
                });
            }
            Test::Presence { pair } => {
                let row = self.sites[*pair].clone();
                if row.before.is_some() {
                    self.gone.push(row);
                } else {
                    self.new.push(row);
                }
            }
        }
    }

    /// Sorts changes by the least change that the interval allows, and sites by the time waited.
    fn sort(&mut self) {
        self.changes.sort_by(|a, b| b.least().total_cmp(&a.least()));
        for rows in [&mut self.new, &mut self.gone, &mut self.sites] {
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

#[cfg(test)]
mod tests {
    use ctp_trace::record::Nanos;

    use super::*;
    use crate::views::diff::matching;
    use crate::views::diff::profile::About;
    use crate::views::diff::sample::{Random, Sampled};

    const LEAST: LeastChange = LeastChange {
        share: 0.2,
        time: Nanos(50_000),
    };

    /// A trace of as many sites, at which waits take 0.5 to 1.5 ms, and `percent` of this at site 7.
    fn profile(sites: u32, waits: u64, percent: u64, random: &mut Random) -> Profile {
        let sites = (0..sites).map(|line| {
            let identity = Identity {
                function: format!("site_{line}"),
                line: Some(line),
                ..Identity::default()
            };
            let mut series = Series::new();
            for at_ns in 0..waits {
                let usual = 500_000 + random.below(1_000_000);
                let length_ns = if line == 7 {
                    usual * percent / 100
                } else {
                    usual
                };
                series.add_wait(Sampled { at_ns, length_ns });
            }
            (identity, series)
        });
        Profile {
            sites: sites.collect(),
            about: About {
                duration: Nanos(1_000_000_000),
                ..About::default()
            },
        }
    }

    fn compared(before: &Profile, after: &Profile) -> Comparison {
        compare((before, after), &matching::pairs(before, after), LEAST)
    }

    #[test]
    fn noise_at_hundreds_of_sites_is_no_change() {
        let mut random = Random::default();
        for _ in 0..5 {
            let [before, after] = [100, 100].map(|percent| profile(300, 64, percent, &mut random));
            let found = compared(&before, &after);
            assert!(found.changes.is_empty(), "{:?}", found.changes);
            assert_eq!((found.shared, found.noise, found.too_few), (300, 300, 0));
        }
    }

    #[test]
    fn slow_site_is_found_among_hundreds() {
        let mut random = Random::default();
        for percent in [200, 40] {
            let [before, after] =
                [100, percent].map(|percent| profile(300, 64, percent, &mut random));
            let found = compared(&before, &after);
            let [change] = &found.changes[..] else {
                panic!("{:?}", found.changes)
            };
            assert_eq!(change.row.identity.line, Some(7));
            let ratio = percent as f64 / 100.0;
            let [low, high] = change.interval;
            assert!(low < ratio && ratio < high, "{change:?}");
            assert_eq!(found.noise, 299);
        }
    }

    #[test]
    fn small_changes_do_not_count() {
        let mut random = Random::default();
        let [before, after] = [100, 115].map(|percent| profile(8, 5_000, percent, &mut random));
        assert!(compared(&before, &after).changes.is_empty());
    }

    #[test]
    fn new_sites_need_several_waits() {
        let mut random = Random::default();
        for (waits, new) in [(3, 0), (40, 1)] {
            let before = profile(7, 40, 100, &mut random);
            let mut after = profile(7, 40, 100, &mut random);
            let more = profile(8, waits, 100, &mut random);
            after.sites.extend(
                more.sites
                    .into_iter()
                    .filter(|(site, _)| site.line == Some(7)),
            );
            let found = compared(&before, &after);
            assert_eq!((found.new.len(), found.gone.len()), (new, 0));
            let back = compared(&after, &before);
            assert_eq!((back.new.len(), back.gone.len()), (0, new));
        }
    }
}
