//! The trace model: one pass over the records derives the state of each coroutine and the usual behavior
//! of each site.
//!
//! The recorder feeds every record that it writes and the reporter every record that it reads, so both
//! come to the same verdicts. No event is kept: memory grows with the live coroutines, the held locks
//! and the sites, not with the length of the recording.

mod blockers;
mod blocks;
mod branches;
mod broken;
mod closed_groups;
mod consume;
mod coroutine;
mod coroutine_stacks;
mod extent;
mod families;
mod few_families;
mod flight;
mod full_channels;
mod further_wakes;
pub mod gaps;
mod holds;
mod idle_locks;
mod inspections;
mod judging;
mod levels;
mod lines;
mod lives;
mod living;
mod lock_queue;
mod lock_waits;
mod looks;
mod missing;
mod named;
mod names;
mod own_futures;
mod parked;
mod population;
mod probable_holders;
mod quiet;
mod recent;
mod resources;
mod runners;
mod shutdown;
mod site;
mod sockets;
mod span;
mod stuck_tasks;
mod sums;
mod thread_events;
mod unclear_waits;
mod wakers;
mod woken_from;

use std::collections::BTreeMap;

use crate::record::{CoroutineId, End, Nanos, ProcessEnd, ProcessId, SiteId, WaitKind};
use crate::verdict::Past;
use branches::Branches;
use broken::Breakages;
use coroutine_stacks::LatestStacks;
use extent::Extent;
use families::Families;
use full_channels::Callers;
use holds::Holds;
use inspections::Inspections;
use lines::SiteLines;
use lives::Lives;
use looks::Looks;
use missing::Missing;
use names::Names;
use parked::Parked;
use population::Population;
use recent::Recent;
use resources::Resources;
use runners::Runners;
use shutdown::Drops;
use site::WaitSites;
use sockets::SocketWaits;
use sums::Sums;

pub use blocks::{Block, Blocker, Blocks};
pub use broken::{Broken, Contradiction, Violation};
pub use coroutine::{Account, Coroutine, Total, Totals, Waits, Wakes};
pub use families::{Family, FamilyId, Parent, ThreadOccupancy};
pub use gaps::Gap;
pub use holds::Holding;
pub use inspections::{
    Inspected, InspectedProcess, InspectionTime, JudgedTask, KnownThread, KnownThreads,
    ThreadActivity, ThreadFacts, innermost,
};
pub use levels::Levels;
pub use looks::Looked;
pub use missing::filtering::Filtering;
pub use missing::losses::{LostRecords, ThreadLoss};
pub use named::{GroupKey, Named};
pub use names::{NameId, stem};
pub use resources::closings::Closing;
pub use shutdown::Shutdowns;
pub use site::{MAX_SITES, SiteStats};
pub use span::{Span, SpanActivity};
pub use wakers::{WakeCounts, WakeOrigin, Woken};

/// The state derived from a trace, updated record by record. Each part takes the records that concern
/// it.
///
/// ```
/// use ctp_trace::record::{End, Start};
/// use ctp_trace::verdict::THRESHOLD;
/// use ctp_trace::{Reader, TraceModel, Writer};
///
/// let bytes = Writer::new(Vec::new(), &Start::default())?.finish(&End::default())?;
/// let mut model = TraceModel::new();
/// for record in Reader::new(&bytes)? {
///     model.consume(&record?);
/// }
/// for (id, judgement) in model.judge(THRESHOLD) {
///     println!("{id:?}: {:?}", judgement.verdict);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct TraceModel {
    extent: Extent,
    missing: Missing,
    coroutines: Population,
    places: WaitSites,
    lines: SiteLines,
    names: Names,
    families: Families,
    lives: Lives,
    runners: Recent<ProcessId, Runners>,
    resources: Resources,
    holds: Holds,
    looks: Looks,
    socket_waits: SocketWaits,
    callers: Callers,
    inspections: Inspections,
    stacks: LatestStacks,
    branches: Branches,
    breakages: Breakages,
    sums: Sums,
    drops: Drops,
    parked: Parked,
    shutdowns: Shutdowns,
}

impl TraceModel {
    /// An empty model.
    pub fn new() -> Self {
        Self::default()
    }

    /// When a filter kept events out, and which events.
    pub fn filtering(&self) -> &Filtering {
        &self.missing.filtering
    }

    /// The coroutines that are not known to have ended, by id.
    pub fn coroutines(&self) -> Vec<&Coroutine> {
        let mut all: Vec<_> = self.coroutines.all().iter().collect();
        all.sort_unstable_by_key(|coroutine| coroutine.id);
        all
    }

    /// The branches of a coroutine's wait: the site of each, and since when the coroutine has waited for it.
    pub fn branches(&self, id: CoroutineId) -> impl Iterator<Item = (SiteId, Nanos)> {
        self.branches.waiting(id)
    }

    /// The lengths of the ended waits for this branch.
    pub fn past_of_branch(&self, site: SiteId) -> Option<Past> {
        self.branches.past(site)
    }

    /// The coroutine with this id, unless it is unknown, or has ended and was accounted for.
    pub fn get(&self, id: CoroutineId) -> Option<&Coroutine> {
        self.coroutines.get(id)
    }

    /// The name with this number; empty for a coroutine without a name.
    pub fn name(&self, name: NameId) -> &str {
        self.names.get(name)
    }

    /// The place of a coroutine: where it waits, otherwise where it last waited, otherwise where it was
    /// spawned.
    pub fn place_of(&self, coroutine: &Coroutine) -> SiteId {
        let waits = coroutine.suspend().map(|wait| wait.site);
        waits
            .or_else(|| self.resumed_from(coroutine).map(|stats| stats.site))
            .unwrap_or(coroutine.spawn_site)
    }

    /// Where the coroutine waited before its latest run, if known.
    pub fn resumed_from(&self, coroutine: &Coroutine) -> Option<&SiteStats> {
        let resumed_at = coroutine.waits.resumed_at()?;
        Some(self.places.get(resumed_at))
    }

    /// Completed waits of one kind at one site.
    pub fn site(&self, site: SiteId, wait: WaitKind) -> Option<&SiteStats> {
        self.places.find(site, wait)
    }

    /// The sites where coroutines waited, including the waits and runs that are still open at the end.
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

    /// Totals over all coroutines.
    pub fn totals(&self) -> &Totals {
        &self.sums.totals
    }

    /// The final account, if the trace has one.
    pub fn end(&self) -> Option<&End> {
        self.extent.end.as_ref()
    }

    /// The end of the recording, from which every age is measured. For an unfinished recording: the time
    /// up to which events are complete. Births and wakes are read from stations and may arrive before
    /// earlier events of lanes. With a later end, coroutines would seem idle only because their events
    /// have not arrived yet.
    pub fn end_at(&self) -> Nanos {
        self.extent.end_at()
    }

    /// The length of the time at the end of an unfinished recording of which the trace has only births
    /// and wakes.
    pub fn incomplete_tail(&self) -> Nanos {
        self.extent.incomplete_tail()
    }

    /// The time up to which the ages of the process's coroutines are measured: when the process dropped
    /// its coroutines, otherwise when it ended, otherwise the end of the recording.
    pub fn end_of(&self, process: ProcessId) -> Nanos {
        let dropped = self.shutdowns.of(process);
        dropped
            .or_else(|| Some(self.ended_early(process)?.at))
            .unwrap_or_else(|| self.end_at())
    }

    /// How the process ended, if it ended before the recording.
    pub fn ended_early(&self, process: ProcessId) -> Option<&ProcessEnd> {
        self.extent.ends.get(&process)
    }

    /// For each waiting coroutine, the first close of the awaited resource since the wait began. A close
    /// is left out if recording was stopped in between, because an earlier close may have been missed.
    pub fn closings(&self) -> BTreeMap<CoroutineId, Closing> {
        let lost = self.resources.closings.lost(self.coroutines.all());
        lost.into_iter()
            .filter_map(|(id, (_, closing))| {
                let since = self.get(id)?.suspend()?.at;
                let is_sure = !self
                    .missing
                    .filtering
                    .was_stopped_between(since, closing.at);
                is_sure.then_some((id, closing))
            })
            .collect()
    }

    /// Losses of the threads of a process after this time: the latest of each thread, in order. If there
    /// are very many threads, only the latest losses are known.
    pub fn losses_since(&self, process: ProcessId, since: Nanos) -> Vec<ThreadLoss> {
        self.missing.losses.since(process, since)
    }

    /// Total losses of all threads.
    pub fn lost_records(&self) -> LostRecords {
        self.missing.losses.all
    }

    /// Whether a total over the events of any coroutine may be wrong.
    pub fn is_approximate(&self) -> bool {
        let mut all = self.coroutines.all().iter();
        self.totals().approximate || all.any(|coroutine| coroutine.account.is_approximate())
    }

    /// Events known to be missing: the recorder's count, or more if more cannot be read.
    pub fn lost(&self) -> u64 {
        let reported = self.end().map_or(0, |end| {
            end.lost
                .saturating_add(end.events.saturating_sub(self.totals().events))
        });
        reported.max(self.lost_by_coroutines())
    }

    /// Missing events according to the accounts of the coroutines that had them.
    fn lost_by_coroutines(&self) -> u64 {
        let all = self
            .coroutines
            .all()
            .iter()
            .map(|coroutine| coroutine.account.lost());
        let seen = all.fold(0u64, u64::saturating_add);
        seen.saturating_add(self.totals().lost_by_ended)
    }

    /// The coroutines with contradicting events, by id; at most a thousand.
    pub fn broken(&self) -> Vec<&Broken> {
        self.breakages.list()
    }

    /// Contradictions of coroutines beyond those in the list.
    pub fn more_violations(&self) -> u64 {
        self.breakages.others
    }

    /// Whether the trace has all that the thread did since this time, in order.
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
