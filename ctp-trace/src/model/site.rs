//! What is kept of one site: how long coroutines waited there, and ran from there on.

use super::names::NameId;
use super::wakers::Wakers;
use crate::hash::Map;
use crate::histogram::Histogram;
use crate::record::{Nanos, SiteId, WaitKind};
use crate::verdict::Past;

/// No program has so many places where it waits: those beyond are made up, and are counted as the
/// site that is not known.
pub const MOST_SITES: usize = 1 << 17;

/// All waits of one sort at one site.
#[derive(Clone, Debug, Default)]
pub struct SiteStats {
    /// The place where coroutines wait.
    pub site: SiteId,
    /// For what sort of thing.
    pub wait: WaitKind,
    /// Waits that ended in a run.
    pub waits: Histogram,
    /// Waits that had not ended, measured to the end of the recording.
    pub open: Histogram,
    /// Waits that ended in a death.
    pub cancelled: Histogram,
    /// Runs that began where one of these waits ended; measured to the end of the recording, if
    /// they had not ended.
    pub runs: Histogram,
    /// Delays between a wake and the run that followed, as far as known.
    pub queued: Histogram,
    /// Who ended the waits, as far as known.
    pub wakers: Wakers,
    /// Coroutines that have waited here.
    pub coroutines: u64,
    /// Suspends here.
    pub events: u64,
    /// Events of coroutines that were here are lost, so these figures may be short.
    pub approximate: bool,
    /// Name of the first coroutine seen here.
    pub name: NameId,
    /// Another one has another name.
    pub names_differ: bool,
}

impl SiteStats {
    /// Time waited here: to the end of each wait, or of the recording.
    pub fn waited(&self) -> Nanos {
        let parts = [&self.waits, &self.open, &self.cancelled];
        Nanos(
            parts
                .iter()
                .fold(0, |sum, part| sum.saturating_add(part.sum().0)),
        )
    }

    /// What is usual here, for the rule.
    pub fn past(&self) -> Past {
        Past {
            waits: self.waits.count(),
            p99: self.waits.bound(99).unwrap_or_default(),
            longest: self.waits.max().unwrap_or_default(),
            queued: self.queued.count(),
            longest_queued: self.queued.max().unwrap_or_default(),
        }
    }
}

/// The sites, each sort of wait at each place once, up to [`MOST_SITES`].
#[derive(Clone, Debug, Default)]
pub(super) struct Places {
    pub(super) sites: Vec<SiteStats>,
    index: Map<(SiteId, WaitKind), u32>,
    /// The one that was asked for last: many wait at the same one.
    latest: u32,
}

/// What is usual at each of [`Places`], worked out once for many judgements.
pub(super) type Pasts = Map<(SiteId, WaitKind), Past>;

impl Places {
    /// Number of a site, which is new if it was never asked for.
    pub(super) fn number(&mut self, site: SiteId, wait: WaitKind) -> u32 {
        let latest = self.sites.get(self.latest as usize);
        if latest.is_none_or(|latest| (latest.site, latest.wait) != (site, wait)) {
            self.latest = self.look_up(site, wait);
        }
        self.latest
    }

    #[inline]
    fn look_up(&mut self, site: SiteId, wait: WaitKind) -> u32 {
        match self.index.get(&(site, wait)) {
            Some(&known) => known,
            None => self.meet(site, wait),
        }
    }

    #[cold]
    fn meet(&mut self, site: SiteId, wait: WaitKind) -> u32 {
        match self.sites.len() < MOST_SITES || site == SiteId(0) {
            true => self.add(site, wait),
            false => self.look_up(SiteId(0), wait),
        }
    }

    fn add(&mut self, site: SiteId, wait: WaitKind) -> u32 {
        // There are not many more than the most: as many as there are sorts of waits.
        let number = self.sites.len() as u32;
        self.sites.push(SiteStats {
            site,
            wait,
            ..SiteStats::default()
        });
        self.index.insert((site, wait), number);
        number
    }

    /// Figures of these may be short.
    pub(super) fn caveat(&mut self, numbers: &[u32]) {
        for number in numbers {
            self.by_number(*number).approximate = true;
        }
    }

    pub(super) fn at(&mut self, site: SiteId, wait: WaitKind) -> &mut SiteStats {
        let number = self.number(site, wait);
        self.by_number(number)
    }

    /// The site of a number that [`Places::number`] gave.
    pub(super) fn by_number(&mut self, number: u32) -> &mut SiteStats {
        &mut self.sites[number as usize]
    }

    pub(super) fn get(&self, number: u32) -> &SiteStats {
        &self.sites[number as usize]
    }

    pub(super) fn pasts(&self) -> Pasts {
        let numbers = self.index.iter();
        let past = |(key, number): (&_, &u32)| (*key, self.get(*number).past());
        numbers.map(past).collect()
    }

    pub(super) fn find(&self, site: SiteId, wait: WaitKind) -> Option<&SiteStats> {
        self.index
            .get(&(site, wait))
            .map(|&number| self.get(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sites_beyond_the_most_are_counted_as_the_one_that_is_not_known() {
        let mut places = Places::default();
        let most = MOST_SITES as u32;
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
        assert!(sites.len() <= MOST_SITES + 1);
        assert!(
            size_of::<SiteStats>() < 512,
            "a site without figures is small"
        );
    }
}
