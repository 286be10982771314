//! The history of one site: how long coroutines waited there, and how long they ran afterwards.

use super::families::FamilyId;
use super::few_families::FewFamilies;
use super::names::NameId;
use super::wakers::{WakeCounts, Woken};
use super::woken_from::WokenFrom;
use crate::hash::Map;
use crate::histogram::Histogram;
use crate::record::{Nanos, SiteId, WaitKind};
use crate::verdict::{ENOUGH, Level, Past};

/// Maximum number of sites. No real program has that many. Waits at further sites count for the
/// unknown site.
pub const MAX_SITES: usize = 1 << 17;

/// All waits of one kind at one site.
#[derive(Clone, Debug, Default)]
pub struct SiteStats {
    /// Where the coroutines wait.
    pub site: SiteId,
    /// What the coroutines wait for.
    pub wait: WaitKind,
    /// Waits that were followed by a run.
    pub waits: Histogram,
    /// Waits that are still open, measured to the end of the recording.
    pub open: Histogram,
    /// Waits that ended in a death.
    pub cancelled: Histogram,
    /// Runs after these waits. Runs that are still open are measured to the end of the recording.
    pub runs: Histogram,
    /// Known delays between a wake and the following run.
    pub queued: Histogram,
    /// How many of the waits were ended by a known call of `wake()`, by the origin of the call.
    pub wakers: WakeCounts,
    /// Coroutines that have waited here.
    pub coroutines: u64,
    /// Suspends here.
    pub events: u64,
    /// Events of coroutines that were here are lost, so these figures may be too small.
    pub approximate: bool,
    /// Name of the first coroutine seen here.
    pub name: NameId,
    /// Another coroutine here has another name.
    pub names_differ: bool,
    /// When the latest wait ended, of those that were followed by a run.
    pub(super) latest_end: Nanos,
    /// The sites from which the coroutines that ended the waits had resumed.
    pub(super) woken_from: WokenFrom,
    /// The families of the coroutines that ended waits.
    pub(super) waking_families: FewFamilies,
    /// How many of the waits were ended by threads that had run no coroutine.
    ended_by_helpers: u64,
}

impl SiteStats {
    /// Total time waited here: to the end of each wait, or of the recording.
    pub fn waited(&self) -> Nanos {
        let sums = [&self.waits, &self.open, &self.cancelled].map(|part| part.sum().0);
        Nanos(sums.into_iter().fold(0, u64::saturating_add))
    }

    /// Counts a wait that ended in a run at this time.
    #[inline]
    pub(super) fn ended(&mut self, length: Nanos, at: Nanos) {
        self.waits.add(length);
        self.latest_end = self.latest_end.max(at);
    }

    /// Counts a wait that this call ended.
    pub(super) fn ended_by(&mut self, call: &Woken) {
        self.wakers.add(call.origin());
        if let Some(from) = call.from {
            self.woken_from.add(from);
        }
        self.waking_families.add(call.caller_family);
        self.ended_by_helpers += u64::from(call.is_from_helper);
    }

    /// Whether only threads that had run no coroutine have ended waits here, as at the end of blocking calls.
    pub(super) fn are_ended_by_helpers(&self) -> bool {
        ENOUGH <= self.ended_by_helpers && self.ended_by_helpers == self.wakers.count()
    }

    /// The families of all coroutines that ended waits here. `None` if these are not all known.
    pub(super) fn all_waking_families(&self) -> Option<&[FamilyId]> {
        let are_known = self.wakers.count() == self.waits.count();
        self.waking_families.all().filter(|_| are_known)
    }

    /// The history of the site, with which a wait there is compared to find its verdict.
    pub fn past(&self) -> Past {
        Past {
            level: Level::Line,
            waits: self.waits.count(),
            mean: self.waits.mean().unwrap_or_default(),
            is_closest: false,
            // Where events are missing, a wait may have ended at any time.
            active: if self.approximate {
                Nanos(u64::MAX)
            } else {
                self.latest_end
            },
            p99: self.waits.bound(99).unwrap_or_default(),
            longest: self.waits.max().unwrap_or_default(),
            queued: self.queued.count(),
            longest_queued: self.queued.max().unwrap_or_default(),
            by_peers: false,
        }
    }
}

/// The sites, each with one kind of wait, up to [`MAX_SITES`].
#[derive(Clone, Debug, Default)]
pub(super) struct WaitSites {
    pub(super) sites: Vec<SiteStats>,
    index: Map<(SiteId, WaitKind), u32>,
    /// The site that was accessed last, because many consecutive waits are at the same site.
    latest: u32,
}

impl WaitSites {
    /// Returns the index in `sites` of the entry for this site and kind of wait. Adds the entry if there
    /// is none.
    pub(super) fn number(&mut self, site: SiteId, wait: WaitKind) -> u32 {
        let latest = self.sites.get(self.latest as usize);
        if latest.is_none_or(|latest| (latest.site, latest.wait) != (site, wait)) {
            self.latest = self.find_or_add(site, wait);
        }
        self.latest
    }

    #[inline]
    fn find_or_add(&mut self, site: SiteId, wait: WaitKind) -> u32 {
        match self.index.get(&(site, wait)) {
            Some(&known) => known,
            None => self.add_or_use_unknown(site, wait),
        }
    }

    /// Adds a site, or finds the unknown site if there are too many.
    #[cold]
    fn add_or_use_unknown(&mut self, site: SiteId, wait: WaitKind) -> u32 {
        if self.sites.len() < MAX_SITES || site == SiteId(0) {
            self.add(site, wait)
        } else {
            self.find_or_add(SiteId(0), wait)
        }
    }

    fn add(&mut self, site: SiteId, wait: WaitKind) -> u32 {
        // There are at most a few more than `MAX_SITES`: one for each kind of wait.
        let number = self.sites.len() as u32;
        self.sites.push(SiteStats {
            site,
            wait,
            ..SiteStats::default()
        });
        self.index.insert((site, wait), number);
        number
    }

    /// Marks the figures of these sites as approximate.
    pub(super) fn mark_approximate(&mut self, numbers: &[u32]) {
        for number in numbers {
            self.by_number(*number).approximate = true;
        }
    }

    pub(super) fn at(&mut self, site: SiteId, wait: WaitKind) -> &mut SiteStats {
        let number = self.number(site, wait);
        self.by_number(number)
    }

    /// The site with a number from [`WaitSites::number`].
    pub(super) fn by_number(&mut self, number: u32) -> &mut SiteStats {
        &mut self.sites[number as usize]
    }

    pub(super) fn get(&self, number: u32) -> &SiteStats {
        &self.sites[number as usize]
    }

    pub(super) fn find(&self, site: SiteId, wait: WaitKind) -> Option<&SiteStats> {
        let number = self.find_number(site, wait)?;
        Some(self.get(number))
    }

    pub(super) fn find_number(&self, site: SiteId, wait: WaitKind) -> Option<u32> {
        self.index.get(&(site, wait)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excess_sites_count_as_the_unknown_site() {
        let mut places = WaitSites::default();
        let most = MAX_SITES as u32;
        for site in 1..=2 * most {
            places.at(SiteId(site), WaitKind::Lock).events += 1;
            places.at(SiteId(site % 7), WaitKind::Timer).events += 1;
        }
        let events = |site| {
            places
                .find(SiteId(site), WaitKind::Lock)
                .map(|site_stats| site_stats.events)
        };
        assert_eq!([1, most / 2, most].map(events), [Some(1), Some(1), None]);
        let unknown = events(0).expect("some were beyond the most");
        let sites = places.sites;
        let known = |site_stats: &&SiteStats| {
            site_stats.wait == WaitKind::Lock && site_stats.site != SiteId(0)
        };
        assert_eq!(
            sites.iter().filter(known).count() as u64 + unknown,
            2 * u64::from(most)
        );
        assert!(sites.len() <= MAX_SITES + 1);
        assert!(
            size_of::<SiteStats>() < 512,
            "a site without figures is small"
        );
    }
}
