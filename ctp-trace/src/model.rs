//! One pass over the records: what became of each coroutine, and what is usual at each site.
//!
//! The recorder feeds each record that it writes, the reporter each one that it reads, and both
//! come to the same verdicts. No event is kept: memory grows with the coroutines that live, the
//! locks that are held and the sites that exist, not with the length of the recording.

mod blocks;
mod broken;
mod consume;
mod coroutine;
mod extent;
mod families;
mod flight;
pub mod gaps;
mod holds;
mod judging;
mod kept;
mod lives;
mod looks;
mod missing;
mod named;
mod names;
mod population;
mod recent;
mod resources;
mod runners;
mod site;
mod span;
mod sums;
mod thread_events;
mod wakers;

use std::collections::BTreeMap;

use crate::record::{CoroutineId, End, Nanos, ProcessEnd, ProcessId, SiteId, WaitKind};
use crate::verdict::Past;
use broken::Breakages;
use extent::Extent;
use families::Families;
use holds::Holds;
use lives::Lives;
use looks::Looks;
use missing::Missing;
use names::Names;
use population::Population;
use recent::Recent;
use resources::Resources;
use runners::Runners;
use site::Places;
use sums::Sums;

pub use blocks::{Block, Blocker, Blocks};
pub use broken::{Broken, Contradiction, Violation};
pub use coroutine::{Account, Coroutine, Total, Totals, Waits, Wakes};
pub use families::{Family, FamilyId, Parent, ThreadOccupancy};
pub use gaps::Gap;
pub use holds::Holding;
pub use looks::Looked;
pub use missing::filtering::Filtering;
pub use missing::losses::{LostRecords, ThreadLoss};
pub use named::{GroupKey, Named};
pub use names::{NameId, stem};
pub use resources::closings::Closing;
pub use site::{MOST_SITES, SiteStats};
pub use span::{Activity, Span};
pub use wakers::{Wakers, Woken};

/// The account of a trace, kept up record by record: each part takes the records that concern it.
#[derive(Clone, Debug, Default)]
pub struct TraceModel {
    extent: Extent,
    missing: Missing,
    coroutines: Population,
    places: Places,
    names: Names,
    families: Families,
    lives: Lives,
    runners: Recent<ProcessId, Runners>,
    resources: Resources,
    holds: Holds,
    looks: Looks,
    breakages: Breakages,
    sums: Sums,
}

impl TraceModel {
    /// Nothing counted yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// When something was kept out, and what.
    pub fn filtering(&self) -> &Filtering {
        &self.missing.filtering
    }

    /// The coroutines that are not known to be over, by id.
    pub fn coroutines(&self) -> Vec<&Coroutine> {
        let mut all: Vec<_> = self.coroutines.all().iter().collect();
        all.sort_unstable_by_key(|coroutine| coroutine.id);
        all
    }

    /// One coroutine, unless it is unknown or over and accounted for.
    pub fn get(&self, id: CoroutineId) -> Option<&Coroutine> {
        self.coroutines.get(id)
    }

    /// The name of this number, empty if a coroutine has none.
    pub fn name(&self, name: NameId) -> &str {
        self.names.get(name)
    }

    /// Where a coroutine is: where it waits, else where it waited last, else where it was spawned.
    pub fn place_of(&self, coroutine: &Coroutine) -> SiteId {
        let waits = coroutine.suspend().map(|wait| wait.site);
        let waited = || self.resumed_from(coroutine).map(|stats| stats.site);
        waits.or_else(waited).unwrap_or(coroutine.spawn_site)
    }

    /// Where this coroutine waited before its latest run; `None` if that is not known.
    pub fn resumed_from(&self, coroutine: &Coroutine) -> Option<&SiteStats> {
        let resumed_at = coroutine.waits.resumed_at()?;
        Some(self.places.get(resumed_at))
    }

    /// The waits of one sort at one place, without those that are open.
    pub fn site(&self, site: SiteId, wait: WaitKind) -> Option<&SiteStats> {
        self.places.find(site, wait)
    }

    /// What is usual where this coroutine waits. Where too few events are known for that, what is
    /// usual for those of its name.
    pub fn past(&self, coroutine: &Coroutine) -> Past {
        let past = self.past_of_place(coroutine);
        if coroutine.account.has_earlier_totals() {
            return coroutine.past(past, self.named(coroutine.group_key()).as_ref());
        }
        past
    }

    /// Whether [`past`](TraceModel::past) is what is usual for coroutines of its name, not where it
    /// waits.
    pub fn is_past_of_name(&self, coroutine: &Coroutine) -> bool {
        coroutine.needs_past_of_name(&self.past_of_place(coroutine))
    }

    fn past_of_place(&self, coroutine: &Coroutine) -> Past {
        let wait = coroutine.suspend();
        let stats = wait.and_then(|wait| self.site(wait.site, wait.wait));
        stats.map(SiteStats::past).unwrap_or_default()
    }

    /// The sites where coroutines waited, with the waits and the runs that are open at the end.
    pub fn sites(&self) -> Vec<SiteStats> {
        let mut places = self.places.clone();
        for coroutine in self.coroutines.all() {
            let end = self.end_of(coroutine.process);
            if let Some(wait) = coroutine.suspend() {
                places
                    .at(wait.site, wait.wait)
                    .open
                    .add(coroutine.waits.since.until(end));
            }
            if let (Some(since), Some(from)) =
                (coroutine.runs_since(), coroutine.waits.resumed_at())
            {
                coroutine.waits.count(&mut places);
                places.by_number(from).runs.add(since.until(end));
            }
            coroutine.distrust_sites(&mut places);
        }
        places.sites
    }

    /// Sums over all coroutines.
    pub fn totals(&self) -> &Totals {
        &self.sums.totals
    }

    /// The closing account, if the trace has one.
    pub fn end(&self) -> Option<&End> {
        self.extent.end.as_ref()
    }

    /// When the recording ended, as far as known: every age is measured to this. While it goes on, or
    /// where the recorder was killed, it is the time until which events are told. Births and wakes are read
    /// from stations, and may be told before events of lanes that are earlier: by those, coroutines whose
    /// history is still to come would seem to stand still.
    pub fn end_at(&self) -> Nanos {
        self.extent.end_at()
    }

    /// For how long nothing but births and wakes is told at the end of a recording that was not closed.
    pub fn incomplete_tail(&self) -> Nanos {
        self.extent.incomplete_tail()
    }

    /// When this process ended, or the recording of it: ages of its coroutines are measured to
    /// this.
    pub fn end_of(&self, process: ProcessId) -> Nanos {
        let ended = self.ended_early(process);
        ended.map_or_else(|| self.end_at(), |end| end.at)
    }

    /// How this process ended, if that was before the recording did.
    pub fn ended_early(&self, process: ProcessId) -> Option<&ProcessEnd> {
        self.extent.ends.get(&process)
    }

    /// The first closing of what each that waits does wait for, since it does. Not if recording was
    /// stopped in between: an earlier one may have gone unseen.
    pub fn closings(&self) -> BTreeMap<CoroutineId, Closing> {
        let lost = self.resources.closings.lost(self.coroutines.all());
        let seen = |(id, (_, closing)): (CoroutineId, (u64, Closing))| {
            let since = self.get(id)?.suspend()?.at;
            let is_sure = !self
                .missing
                .filtering
                .was_stopped_between(since, closing.at);
            is_sure.then_some((id, closing))
        };
        lost.into_iter().filter_map(seen).collect()
    }

    /// Losses of threads of a process after a moment, the latest of each thread, in order. Of very
    /// many threads only the latest losses are known.
    pub fn losses_since(&self, process: ProcessId, since: Nanos) -> Vec<ThreadLoss> {
        self.missing.losses.since(process, since)
    }

    /// What threads lost in all.
    pub fn lost_records(&self) -> LostRecords {
        self.missing.losses.all
    }

    /// Whether a sum over the events of some coroutine may be wrong.
    pub fn is_approximate(&self) -> bool {
        let mut all = self.coroutines.all().iter();
        self.totals().approximate || all.any(|coroutine| coroutine.account.is_approximate())
    }

    /// Events known to be missing: as the recorder counted, or more if more cannot be read.
    pub fn lost(&self) -> u64 {
        let reported = self.end().map_or(0, |end| {
            end.lost
                .saturating_add(end.events.saturating_sub(self.totals().events))
        });
        reported.max(self.lost_by_coroutines())
    }

    /// Events that are missing by the account of the coroutine that had them.
    fn lost_by_coroutines(&self) -> u64 {
        let all = self
            .coroutines
            .all()
            .iter()
            .map(|coroutine| coroutine.account.lost());
        let seen = all.fold(0u64, u64::saturating_add);
        seen.saturating_add(self.totals().lost_by_the_dead)
    }

    /// The coroutines whose events contradict each other, by id. Of very many, the first thousand.
    pub fn broken(&self) -> Vec<&Broken> {
        self.breakages.list()
    }

    /// Contradictions of coroutines that are not in that list.
    pub fn more_violations(&self) -> u64 {
        self.breakages.others
    }

    /// Whether all that a thread did from that moment on is told in its order.
    fn is_recorded(&self, process: ProcessId, tid: u64, since: Nanos) -> bool {
        match self.window() {
            Some(window) => window.since <= since,
            None => {
                let runners = self.runners.get(process);
                runners.is_some_and(|runners| runners.has_history(tid))
            }
        }
    }
}
