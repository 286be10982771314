//! Decides which findings are new. A site is reported once its count stops growing, and again when the count has doubled.
//! Busy coroutines are reported with `--stuck-after` only, and never cause a snapshot: a long computation may be intended.

use std::collections::{HashMap, HashSet};

use ctp_trace::record::{Nanos, SiteId};

use super::MonitorOptions;
use super::watch::StuckSite;

/// What happens when coroutines are stuck at a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A message is printed.
    Report,
    /// A snapshot is taken.
    Snapshot {
        /// Also print a message, because no `Report` notifier does.
        also_prints: bool,
    },
}

/// A purpose with its threshold and the sites reported so far.
#[derive(Debug)]
pub struct Notifier {
    pub purpose: Purpose,
    /// A coroutine counts as stuck after this time.
    pub after: Nanos,
    /// What was reported so far, by site and whether its coroutines are busy.
    sites: HashMap<(SiteId, bool), ReportedSite>,
}

/// The counts of a site, and what was reported of them. Once all coroutines of a site have recovered, the site counts as
/// new.
#[derive(Clone, Copy, Debug, Default)]
struct ReportedSite {
    /// The count when the site was last reported; 0 if never reported.
    reported: usize,
    /// Stuck coroutines at the latest check.
    latest: usize,
    /// How many checks in a row, up to the latest, found more than the check before.
    growing: u32,
}

/// A site is reported again when its count has grown by this factor.
const GROWTH: usize = 2;
/// A growing count is not reported until it stops growing, or has grown in this many checks in a row.
const MAX_GROWING: u32 = 4;

impl Purpose {
    pub(super) fn notifiers(monitor_options: MonitorOptions) -> impl Iterator<Item = Notifier> {
        let report = monitor_options
            .report_after
            .map(|after| (Purpose::Report, after));
        let also_prints = monitor_options.report_after.is_none();
        let snapshot = monitor_options
            .snapshot_after
            .map(|after| (Purpose::Snapshot { also_prints }, after));
        report
            .into_iter()
            .chain(snapshot)
            .map(|(purpose, after)| Notifier {
                purpose,
                after: Nanos(after.as_nanos() as u64),
                sites: HashMap::new(),
            })
    }
}

impl Notifier {
    /// Returns the findings to report now, and remembers them as reported.
    pub fn news(&mut self, findings: Vec<StuckSite>) -> Vec<StuckSite> {
        let mut findings = findings;
        // If even the latest arrival has been stuck for this long, no more coroutines are arriving at the site. The
        // finding is then reported now, because the next check may be far off.
        let settled_age = self.after.0.saturating_add(self.after.0 / 2);
        self.forget_recovered(&findings);
        findings.retain(|finding| {
            let is_busy = finding.kept_tid.is_some();
            if is_busy && self.purpose != Purpose::Report {
                return false;
            }
            let site = self.sites.entry(key(finding)).or_default();
            site.note_check(finding.count(), settled_age <= finding.shortest.0)
        });
        findings
    }

    /// Forgets the sites that are not among the findings.
    fn forget_recovered(&mut self, findings: &[StuckSite]) {
        let found: HashSet<(SiteId, bool)> = findings.iter().map(key).collect();
        self.sites.retain(|key, _| found.contains(key));
    }
}

/// A site, and whether its coroutines are busy.
fn key(finding: &StuckSite) -> (SiteId, bool) {
    (finding.site, finding.kept_tid.is_some())
}

impl ReportedSite {
    /// Notes the count of a check. Returns whether to report the site.
    fn note_check(&mut self, stuck: usize, is_settled: bool) -> bool {
        let before = std::mem::replace(&mut self.latest, stuck);
        self.growing = if before < stuck { self.growing + 1 } else { 0 };
        let is_settled = is_settled || self.growing == 0 || MAX_GROWING <= self.growing;
        let has_doubled = self.reported.saturating_mul(GROWTH).max(1) <= stuck;
        let is_news = is_settled && has_doubled;
        if is_news {
            self.reported = stuck;
        }
        is_news
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// The indexes of the checks that were reported.
    fn news(counts: &[usize]) -> Vec<usize> {
        let mut site = ReportedSite::default();
        counts
            .iter()
            .enumerate()
            .filter_map(|(check, &count)| site.note_check(count, false).then_some(check))
            .collect()
    }

    // CT-26
    #[test]
    fn a_site_is_news_when_settled_and_when_doubled() {
        assert_eq!(news(&[0, 0, 0]), []);
        assert_eq!(news(&[12, 47, 47, 47, 47]), [2]);
        assert_eq!(news(&[47, 47, 60, 60, 94, 94, 94]), [1, 5]);
        assert_eq!(news(&[1, 2, 3, 4, 5, 6, 7, 8, 9]), [3, 7]);
    }

    // CT-26
    #[test]
    fn a_site_without_recent_arrivals_is_news_at_once() {
        let monitor_options = MonitorOptions {
            report_after: Some(Duration::from_nanos(1_000)),
            snapshot_after: None,
        };
        let mut notifier = Purpose::notifiers(monitor_options).next().unwrap();
        let finding = |shortest| StuckSite {
            likely: 47,
            shortest: Nanos(shortest),
            ..StuckSite::default()
        };
        assert!(notifier.news(vec![finding(1_499)]).is_empty());
        notifier.sites.clear();
        assert_eq!(notifier.news(vec![finding(1_500)]).len(), 1);
    }

    // CT-26
    #[test]
    fn a_site_that_recovers_and_gets_stuck_again_is_news() {
        let monitor_options = MonitorOptions {
            report_after: Some(Duration::from_nanos(1_000)),
            snapshot_after: None,
        };
        let mut notifier = Purpose::notifiers(monitor_options).next().unwrap();
        let mut check = |likely: usize| {
            let finding = StuckSite {
                likely,
                ..StuckSite::default()
            };
            let findings = (0 < likely).then_some(finding);
            notifier.news(Vec::from_iter(findings)).len()
        };
        assert_eq!([3, 3, 10, 0].map(&mut check), [0, 1, 0, 0]);
        assert_eq!([10, 20, 20].map(&mut check), [0, 0, 1]);
        assert_eq!([0, 3, 3, 3].map(&mut check), [0, 0, 1, 0]);
    }

    // CT-26
    #[test]
    fn busy_coroutines_are_reported_without_a_snapshot() {
        let long = Some(Duration::from_nanos(1_000));
        let monitor_options = MonitorOptions {
            report_after: long,
            snapshot_after: long,
        };
        let busy = || StuckSite {
            certain: 1,
            kept_tid: Some(9),
            shortest: Nanos(2_000),
            ..StuckSite::default()
        };
        let reported = |mut notifier: Notifier| [0; 3].map(|_| notifier.news(vec![busy()]).len());
        let reported: Vec<_> = Purpose::notifiers(monitor_options).map(reported).collect();
        assert_eq!(reported, [[1, 0, 0], [0, 0, 0]]);
    }
}
