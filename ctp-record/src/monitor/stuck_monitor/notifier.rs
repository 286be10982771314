//! What of it is news: each site once, and again only when it has grown much. Of those that are busy
//! it is told, but no snapshot is taken: one that runs for long may be meant to.

use std::collections::HashMap;

use ctp_trace::record::{Nanos, SiteId};

use super::MonitorOptions;
use super::watch::Finding;

/// What is done about a site where somebody is stuck.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// It is told of.
    Say,
    /// A snapshot is taken. It is told of too, unless that is done anyway.
    Snapshot {
        /// Tell of it?
        is_reported: bool,
    },
}

/// One who wants to know.
#[derive(Debug)]
pub struct Notifier {
    pub purpose: Purpose,
    /// Somebody is stuck after so long.
    pub after: Nanos,
    /// By site, and whether those there are busy.
    sites: HashMap<(SiteId, bool), Known>,
}

/// What is known of a site.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    /// How many were stuck when it was told of; 0 if it was not.
    reported: usize,
    /// How many were stuck at the latest look.
    latest: usize,
    /// Looks at which there were more than before, one after the other.
    growing: u32,
}

/// A site is told of again if it has so many times as many.
const MUCH: usize = 2;
/// While it grows one waits for the whole of it, but not for longer than so many looks.
const TIMEOUT: u32 = 4;

impl Purpose {
    pub(super) fn all(monitor_options: MonitorOptions) -> impl Iterator<Item = Notifier> {
        let say = monitor_options.say_after.map(|after| (Purpose::Say, after));
        let is_reported = monitor_options.say_after.is_none();
        let snapshot = monitor_options
            .snapshot_after
            .map(|after| (Purpose::Snapshot { is_reported }, after));
        say.into_iter()
            .chain(snapshot)
            .map(|(purpose, after)| Notifier {
                purpose,
                after: Nanos(after.as_nanos() as u64),
                sites: HashMap::new(),
            })
    }
}

impl Notifier {
    /// Which of these are to be told.
    pub fn news(&mut self, findings: Vec<Finding>) -> Vec<Finding> {
        let mut findings = findings;
        // Looks may be far apart: where nobody came since long, nobody is waited for.
        let long = self.after.0.saturating_add(self.after.0 / 2);
        findings.retain(|finding| {
            let is_busy = finding.keeps_tid.is_some();
            if is_busy && self.purpose != Purpose::Say {
                return false;
            }
            let known = self.sites.entry((finding.site, is_busy)).or_default();
            known.is_news(finding.count(), long <= finding.shortest.0)
        });
        findings
    }
}

impl Known {
    fn is_news(&mut self, stuck: usize, is_old: bool) -> bool {
        let before = std::mem::replace(&mut self.latest, stuck);
        self.growing = if before < stuck { self.growing + 1 } else { 0 };
        let is_settled = is_old || self.growing == 0 || TIMEOUT <= self.growing;
        let is_more = self.reported.saturating_mul(MUCH).max(1) <= stuck;
        let is_news = is_settled && is_more;
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

    /// At which looks it was news.
    fn news(counts: &[usize]) -> Vec<usize> {
        let mut known = Known::default();
        let reported =
            |(look, &count): (usize, &usize)| known.is_news(count, false).then_some(look);
        counts.iter().enumerate().filter_map(reported).collect()
    }

    // CT-26
    #[test]
    fn a_site_is_news_once_it_grows_no_more_and_again_when_it_has_doubled() {
        assert_eq!(news(&[0, 0, 0]), []);
        assert_eq!(news(&[12, 47, 47, 47, 47]), [2]);
        assert_eq!(news(&[47, 47, 60, 60, 94, 94, 94]), [1, 5]);
        assert_eq!(news(&[1, 2, 3, 4, 5, 6, 7, 8, 9]), [3, 7]);
    }

    // CT-26
    #[test]
    fn a_site_to_which_nobody_came_since_long_is_news_at_the_first_look() {
        let monitor_options = MonitorOptions {
            say_after: Some(Duration::from_nanos(1_000)),
            snapshot_after: None,
        };
        let mut notifier = Purpose::all(monitor_options).next().unwrap();
        let finding = |shortest| Finding {
            likely: 47,
            shortest: Nanos(shortest),
            ..Finding::default()
        };
        assert!(notifier.news(vec![finding(1_499)]).is_empty());
        notifier.sites.clear();
        assert_eq!(notifier.news(vec![finding(1_500)]).len(), 1);
    }

    // CT-26
    #[test]
    fn who_keeps_a_thread_is_told_of_once_and_no_reason_for_a_snapshot() {
        let long = Some(Duration::from_nanos(1_000));
        let monitor_options = MonitorOptions {
            say_after: long,
            snapshot_after: long,
        };
        let busy = || Finding {
            certain: 1,
            keeps_tid: Some(9),
            shortest: Nanos(2_000),
            ..Finding::default()
        };
        let reported = |mut notifier: Notifier| [0; 3].map(|_| notifier.news(vec![busy()]).len());
        let reported: Vec<_> = Purpose::all(monitor_options).map(reported).collect();
        assert_eq!(reported, [[1, 0, 0], [0, 0, 0]]);
    }
}
