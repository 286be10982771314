//! Tests the comparison of artificial traces with hundreds of sites.

use ctp_trace::record::Nanos;

use super::*;
use crate::views::diff::matching;
use crate::views::diff::profile::ProfileFacts;
use crate::views::diff::sample::{Random, SampledDuration};
use crate::views::diff::significance::Difference;

const LEAST: LeastChange = LeastChange {
    share: 0.2,
    time: Nanos(50_000),
};

const DURATION: Nanos = Nanos(1_000_000_000);

/// A trace with this many sites, and this many waits at each. A wait takes 0.5 to 1.5 ms; at site 7, `percent` of that.
fn profile(sites: u32, waits: u64, percent: u64, random: &mut Random) -> Profile {
    let sites = (0..sites).map(|line| {
        let identity = SiteIdentity {
            function: format!("site_{line}"),
            line: Some(line),
            ..SiteIdentity::default()
        };
        let mut series = Series::new();
        for number in 0..waits {
            let at_ns = number * DURATION.0 / waits;
            let usual = 500_000 + random.below(1_000_000);
            let length_ns = if line == 7 {
                usual * percent / 100
            } else {
                usual
            };
            series.add_wait(SampledDuration { at_ns, length_ns });
        }
        (identity, series)
    });
    Profile {
        sites: sites.collect(),
        about: ProfileFacts {
            duration: DURATION,
            ..ProfileFacts::default()
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
        let [before, after] = [100, percent].map(|percent| profile(300, 64, percent, &mut random));
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

/// A trace in which all waits take `percent` of the usual time, and at each site up to 30 % more than that.
fn busy_profile(percent: u64, random: &mut Random) -> Profile {
    let mut profile = profile(20, 3_000, 100, random);
    for series in profile.sites.values_mut() {
        let longer = percent + percent * random.below(30) / 100;
        let mut busy = Series::new();
        for sampled in series.sample.by_time() {
            let length_ns = sampled.length_ns * longer / 100;
            busy.add_wait(SampledDuration {
                length_ns,
                ..sampled
            });
        }
        *series = busy;
    }
    profile
}

#[test]
fn changes_of_all_sites_are_no_change_of_any() {
    let mut random = Random::default();
    for percent in [100, 180] {
        let before = busy_profile(100, &mut random);
        let after = busy_profile(percent, &mut random);
        let found = compared(&before, &after);
        assert!(found.changes.is_empty(), "{:?}", found.changes);
        let ratio = found.common[0].ratio;
        let expected = percent as f64 / 100.0;
        assert!((0.85..1.15).contains(&(ratio / expected)), "{ratio}");
    }
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
        assert_eq!((found.new.len(), found.removed.len()), (new, 0));
        let back = compared(&after, &before);
        assert_eq!((back.new.len(), back.removed.len()), (0, new));
    }
}

/// A test of whether a site is new or gone (`is_presence`), or of a percentile, with this p-value.
fn test(is_presence: bool, p_value: f64) -> Test {
    if is_presence {
        return Test::Presence { pair: 0, p_value };
    }
    // The probability of a normal variable beyond 2.807, or below -2.807, is 0.005.
    let log = if p_value < 1.0 { 2.807 } else { 0.0 };
    Test::Percentile {
        pair: 0,
        percent: 50,
        difference: Difference {
            log,
            error: 1.0,
            freedom: 1e6,
        },
        margin: 0.0,
    }
}

#[test]
fn new_sites_do_not_make_changes_significant() {
    let mut tests = vec![test(false, 0.005)];
    tests.extend((0..9).map(|_| test(false, 1.0)));
    tests.extend((0..100).map(|_| test(true, 1e-9)));
    assert_eq!(miss(&tests, false), None);
    assert!(miss(&tests, true).is_some_and(|miss| 1e-9 <= miss));
}
