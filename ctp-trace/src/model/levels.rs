//! The earlier waits with which each wait is compared, level by level.
//!
//! Everything is computed from the figures of sites, coroutines and names when verdicts are requested.
//! Reading an event therefore costs nothing extra.

use super::TraceModel;
use super::coroutine::{Coroutine, Total};
use super::idle_locks::MessageWaits;
use super::lines::LineId;
use super::living::Living;
use super::named::{ByName, GroupKey, Named};
use super::site::SiteStats;
use crate::hash::Map;
use crate::histogram::Histogram;
use crate::record::{Bins, Durations, Event, LeafKind, Nanos, ProcessId, SiteId, WaitKind};
use crate::verdict::{ENOUGH, Level, Past};

/// Ended waits of several sites.
#[derive(Clone, Debug, Default)]
struct EndedSiteWaits {
    waits: Histogram,
    active: Nanos,
}

/// The kind of a leaf. Without optimization, all leaf functions share one call of `Waker::clone`. Then only
/// `kind`, which comes from debug info or symbols, distinguishes a lock from a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct LeafKey {
    /// What the program announced.
    wait: WaitKind,
    /// What the functions of the chain wait for. Unknown if the program announced the wait, which is more
    /// precise.
    kind: LeafKind,
    process: ProcessId,
    /// The call in the library function that waits; 0 if unknown.
    call: u64,
}

impl LeafKey {
    /// Whether each wait has a time of its own, so that others say nothing about it.
    fn is_timer(&self) -> bool {
        self.wait == WaitKind::Timer
            || matches!(self.kind, LeafKind::Timer | LeafKind::TimeOrMessage)
    }
}

/// What verdicts need, computed once: the history at every level, where coroutines wait, and their totals.
#[derive(Debug, Default)]
pub struct Levels {
    lines: Map<(LineId, WaitKind), EndedSiteWaits>,
    inner_calls: Map<(ProcessId, Box<[u64]>, WaitKind), EndedSiteWaits>,
    names: Map<GroupKey, Total>,
    leaves: Map<LeafKey, EndedSiteWaits>,
    /// The site at which all living coroutines of a spawn site wait; `None` if some do not wait, or wait
    /// elsewhere.
    gathered: Map<SiteId, Option<(SiteId, WaitKind)>>,
    living: Living,
    message_waits: MessageWaits,
    /// Totals that programs kept of their coroutines, if any coroutine needs them.
    by_name: ByName,
}

impl EndedSiteWaits {
    fn add(&mut self, stats: &SiteStats) {
        self.waits.merge(&stats.waits);
        self.active = self.active.max(stats.latest_end);
    }

    fn past(&self, level: Level) -> Past {
        Past {
            level,
            waits: self.waits.count(),
            mean: self.waits.mean().unwrap_or_default(),
            p99: self.waits.bound(99).unwrap_or_default(),
            longest: self.waits.max().unwrap_or_default(),
            active: self.active,
            ..Past::default()
        }
    }
}

impl Total {
    /// The history of these waits. Their distribution is unknown, so the longest wait also bounds 99 % of them.
    fn past(&self, level: Level) -> Past {
        Past {
            level,
            waits: self.count,
            mean: self.mean(),
            p99: self.longest,
            longest: self.longest,
            ..Past::default()
        }
    }
}

impl TraceModel {
    /// What verdicts need of all coroutines, computed once.
    pub fn levels(&self) -> Levels {
        let mut levels = Levels {
            by_name: self.named_if_needed(),
            living: Living::of(self.coroutines.all()),
            message_waits: self.message_waits(),
            ..Levels::default()
        };
        self.requested_calls(&mut levels);
        for stats in &self.places.sites {
            self.add_site(stats, &mut levels);
        }
        for named in self.sums.by_name.all() {
            levels.add_name(named.group_key, &named.waited);
        }
        for coroutine in self.coroutines.all() {
            levels.add_name(coroutine.group_key(), &coroutine.waits.waited);
            levels.add_place(coroutine);
        }
        levels
    }

    /// The earlier waits with which the coroutine's wait is compared: at the first level with enough of
    /// them, or else at the closest level.
    pub fn past(&self, coroutine: &Coroutine, levels: &Levels) -> Past {
        let Some(wait) = coroutine.suspend() else {
            return Past::default();
        };
        let closest = self.closest(coroutine, wait, levels);
        if ENOUGH <= closest.waits {
            return self.with_earlier(coroutine, closest, closest, levels);
        }
        if coroutine.account.is_summed_up() {
            return self.past_in_summary(coroutine, closest, levels);
        }
        let is_for_lock = wait.wait == WaitKind::Lock;
        let mut coarser = self.coarser(coroutine, wait, levels).into_iter();
        let first = coarser.find(|past| {
            // For a lock, only waits at the same place count.
            let mixes_resources = matches!(past.level, Level::Coroutine | Level::Name);
            ENOUGH <= past.waits && !(is_for_lock && mixes_resources)
        });
        self.with_earlier(coroutine, closest, first.unwrap_or(closest), levels)
    }

    /// The waits at the same site. A summary has none of them.
    fn closest(&self, coroutine: &Coroutine, wait: &Event, levels: &Levels) -> Past {
        let level = if self.lines.has_chain(wait.site) {
            Level::Chain
        } else {
            Level::Line
        };
        let stats = self.site(wait.site, wait.wait);
        let stats = stats.filter(|_| !coroutine.account.is_summed_up());
        let by_peers = levels.are_gathered(coroutine.spawn_site, wait)
            && stats.is_some_and(|stats| self.are_ended_by_peers(coroutine, stats, &levels.living));
        Past {
            level,
            by_peers,
            ..stats.map_or_else(Past::default, |stats| self.past_of_site(stats))
        }
    }

    /// The history of the coroutine's name: a summary has all waits of a name, but not of a site.
    fn past_in_summary(&self, coroutine: &Coroutine, closest: Past, levels: &Levels) -> Past {
        let past = self.past_of_name(coroutine, levels);
        let past = Past {
            is_closest: true,
            ..past
        };
        self.with_earlier(coroutine, closest, past, levels)
    }

    fn past_of_site(&self, stats: &SiteStats) -> Past {
        let from = self.usual_origins(stats).into_iter();
        let active = from.map(|site| self.places.get(site).latest_end);
        let past = stats.past();
        Past {
            active: active.fold(past.active, Nanos::max),
            ..past
        }
    }

    /// The history at each level beyond the site, from fine to coarse.
    fn coarser(&self, coroutine: &Coroutine, wait: &Event, levels: &Levels) -> [Past; 5] {
        let line_id = self.lines.line(wait.site);
        let line = line_id.and_then(|line_id| levels.lines.get(&(line_id, wait.wait)));
        let leaf_key = self.leaf(wait.site, wait.wait);
        let leaf = levels.leaves.get(&leaf_key);
        [
            past_of_sites(line, Level::Line),
            past_of_sites(self.inner_calls_of(wait, levels), Level::InnerCalls),
            past_of_coroutine(coroutine),
            self.past_of_name(coroutine, levels),
            past_of_sites(leaf.filter(|_| !leaf_key.is_timer()), Level::Leaf),
        ]
    }

    /// The ended waits with the same innermost calls as this wait, for the largest number of calls with
    /// which there are enough waits.
    fn inner_calls_of<'a>(&self, wait: &Event, levels: &'a Levels) -> Option<&'a EndedSiteWaits> {
        let all = self.lines.inner_calls(wait.site);
        let mut matching = all.filter_map(|(process, calls)| {
            let key = (process, calls.into(), wait.wait);
            levels.inner_calls.get(&key)
        });
        matching.find(|ended| ENOUGH <= ended.waits.count())
    }

    fn past_of_name(&self, coroutine: &Coroutine, levels: &Levels) -> Past {
        if !coroutine.is_known() {
            return Past::default();
        }
        let key = coroutine.group_key();
        match levels.by_name.get(key) {
            Some(named) => past_of_totals(&named.waiting, named.bins, Level::Name),
            None => levels
                .names
                .get(&key)
                .map_or_else(Past::default, |total| total.past(Level::Name)),
        }
    }

    /// Adds what the chosen level does not know: delays in the run queue, and waits before the window of
    /// a flight recorder.
    fn with_earlier(
        &self,
        coroutine: &Coroutine,
        closest: Past,
        past: Past,
        levels: &Levels,
    ) -> Past {
        if !self.has_totals_only(coroutine) {
            return Past {
                queued: closest.queued,
                longest_queued: closest.longest_queued,
                ..past
            };
        }
        let of_name = self.past_of_name(coroutine, levels).longest;
        // Totals do not count delays in the run queue. A wait includes its delay, so the longest wait bounds the
        // longest delay.
        Past {
            longest: past.longest.max(of_name),
            queued: 0,
            longest_queued: closest.longest.max(of_name),
            ..past
        }
    }

    /// Whether all coroutines that ended waits at the place of this wait are known, and have ended. Others like
    /// these may still be spawned.
    pub fn have_wakers_ended(&self, coroutine: &Coroutine, levels: &Levels) -> bool {
        let waking = coroutine.suspend().and_then(|wait| {
            let number = self.places.find_number(wait.site, wait.wait)?;
            self.places.get(number).all_waking_families()
        });
        let have_ended = waking.is_some_and(|waking| {
            !waking.is_empty() && !waking.iter().any(|family| levels.living.has(*family))
        });
        have_ended && !self.missing.is_any(coroutine.process)
    }

    /// Whether waits of coroutines like this one may be in totals only.
    pub(super) fn has_totals_only(&self, coroutine: &Coroutine) -> bool {
        coroutine.account.has_earlier_totals() || self.window().is_some()
    }

    /// The totals of each name, if any coroutine needs them: they take a kilobyte per name.
    fn named_if_needed(&self) -> ByName {
        let mut all = self.coroutines.all().iter();
        if all.any(|coroutine| self.has_totals_only(coroutine)) {
            self.all_named()
        } else {
            ByName::default()
        }
    }

    fn leaf(&self, site: SiteId, wait: WaitKind) -> LeafKey {
        let (process, call) = self.lines.leaf(site);
        let is_announced = wait != WaitKind::Unknown;
        LeafKey {
            wait,
            kind: if is_announced {
                LeafKind::Unknown
            } else {
                self.leaf_kind_at(site)
            },
            process,
            call,
        }
    }

    /// Prepares the calls of waits at sites with too little history.
    fn requested_calls(&self, levels: &mut Levels) {
        for wait in self.coroutines.all().iter().filter_map(Coroutine::suspend) {
            let stats = self.site(wait.site, wait.wait);
            if stats.is_some_and(|stats| stats.waits.count() < ENOUGH) {
                for (process, calls) in self.lines.inner_calls(wait.site) {
                    let key = (process, calls.into(), wait.wait);
                    levels.inner_calls.entry(key).or_default();
                }
            }
        }
    }

    fn add_site(&self, stats: &SiteStats, levels: &mut Levels) {
        let SiteStats { site, wait, .. } = *stats;
        if stats.waits.count() == 0 {
            return;
        }
        if let Some(line) = self.lines.line(site) {
            levels.lines.entry((line, wait)).or_default().add(stats);
        }
        let leaf = self.leaf(site, wait);
        levels.leaves.entry(leaf).or_default().add(stats);
        if levels.inner_calls.is_empty() {
            return;
        }
        for (process, calls) in self.lines.inner_calls(site) {
            if let Some(ended) = levels.inner_calls.get_mut(&(process, calls.into(), wait)) {
                ended.add(stats);
            }
        }
    }
}

impl Levels {
    fn add_name(&mut self, key: GroupKey, waited: &Total) {
        if 0 < waited.count {
            self.names.entry(key).or_default().merge(waited);
        }
    }

    /// Adds the place of a living coroutine to `gathered`.
    fn add_place(&mut self, coroutine: &Coroutine) {
        if !coroutine.is_alive() {
            return;
        }
        let place = coroutine.suspend().map(|wait| (wait.site, wait.wait));
        let gathered = self.gathered.entry(coroutine.spawn_site).or_insert(place);
        if *gathered != place {
            *gathered = None;
        }
    }

    /// Whether all coroutines of the spawn site that have not ended wait at the same site.
    fn are_gathered(&self, spawn_site: SiteId, wait: &Event) -> bool {
        self.gathered.get(&spawn_site) == Some(&Some((wait.site, wait.wait)))
    }

    pub(super) fn message_waits(&self) -> &MessageWaits {
        &self.message_waits
    }

    pub(super) fn living(&self) -> &Living {
        &self.living
    }

    /// The totals of a group, if programs kept any that are needed.
    pub(super) fn named(&self, key: GroupKey) -> Option<&Named> {
        self.by_name.get(key)
    }
}

fn past_of_sites(ended: Option<&EndedSiteWaits>, level: Level) -> Past {
    ended.map_or_else(Past::default, |ended| ended.past(level))
}

/// The coroutine's own waits at any place.
pub(super) fn past_of_coroutine(coroutine: &Coroutine) -> Past {
    match coroutine.account.totals() {
        Some(totals) => past_of_totals(&totals.waiting, totals.bins, Level::Coroutine),
        None => coroutine.waits.waited.past(Level::Coroutine),
    }
}

fn past_of_totals(waiting: &Durations, bins: Bins, level: Level) -> Past {
    Past {
        level,
        waits: waiting.count,
        mean: waiting.mean().unwrap_or_default(),
        p99: waiting.bound(99, bins).unwrap_or_default(),
        longest: waiting.max,
        ..Past::default()
    }
}
