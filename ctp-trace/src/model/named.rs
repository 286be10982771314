//! Totals of all coroutines with the same name and spawn site, as kept by their programs. Plain v1 peers
//! keep no totals; theirs are computed from the events in the trace.

use super::TraceModel;
use super::coroutine::{Coroutine, Total};
use super::names::NameId;
use super::span::{Span, SpanActivity};
use crate::hash::Map;
use crate::histogram::Histogram;
use crate::record::{Bins, Dialect, Durations, EventKind, Nanos, SiteId};

/// The key of a group of coroutines that are expected to behave alike.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct GroupKey {
    /// The name of the coroutines: all async blocks of a function share a name.
    pub name: NameId,
    /// Where the coroutines were spawned.
    pub spawn_site: SiteId,
}

/// The coroutines with the same name and spawn site.
#[derive(Clone, Debug, Default)]
pub struct Named {
    /// Name and spawn site.
    pub group_key: GroupKey,
    /// The number of coroutines.
    pub coroutines: u64,
    /// The bounds of the bins.
    pub bins: Bins,
    /// Waits that were followed by a run.
    pub waiting: Durations,
    /// Completed runs.
    pub running: Durations,
    /// Waits that are still open, measured to the end. No total includes them.
    pub open: Histogram,
    /// Ended waits of forgotten coroutines, as far as their events are in the trace.
    pub(super) waited: Total,
    /// Lifetimes, by totals, of the coroutines that ran to completion and are forgotten or have no other
    /// record in the trace.
    pub(super) lives: Histogram,
    /// Coroutines that were dropped during a wait. No total includes these waits.
    pub cancelled: u64,
    /// Durations that no total includes, because a signal handler left them out.
    pub left_out: u64,
    /// The totals may be wrong: events of a coroutine without an aggregate are missing, or an aggregate
    /// cannot be trusted.
    pub approximate: bool,
}

/// All groups.
#[derive(Clone, Debug, Default)]
pub(super) struct ByName {
    all: Map<GroupKey, Named>,
    pub(super) has_aggregates: bool,
}

impl TraceModel {
    /// The totals of every group, including coroutines that have ended, in no order.
    pub fn by_name(&self) -> Vec<Named> {
        self.all_named().all.into_values().collect()
    }

    /// The totals of this group, unless it has no coroutines.
    pub fn named(&self, group_key: GroupKey) -> Option<Named> {
        let mut named = ByName::default();
        let known = self.sums.by_name.get(group_key).cloned();
        named.all.extend(known.map(|known| (group_key, known)));
        let all = self.coroutines.all().iter();
        all.filter(|coroutine| coroutine.group_key() == group_key)
            .for_each(|coroutine| named.add(coroutine, self.end_of(coroutine.process)));
        named.all.remove(&group_key)
    }

    pub(super) fn all_named(&self) -> ByName {
        let mut named = self.sums.by_name.clone();
        for coroutine in self.coroutines.all() {
            named.add(coroutine, self.end_of(coroutine.process));
        }
        named
    }

    /// Events that only totals include.
    pub fn summed_up(&self) -> u64 {
        let all = self.coroutines.all().iter();
        let all = all.map(|coroutine| coroutine.account.summed_up());
        all.fold(self.totals().summed_up_of_the_dead, u64::saturating_add)
    }

    /// Whether the program itself kept totals of its coroutines.
    pub fn has_aggregates(&self) -> bool {
        let mut all = self.coroutines.all().iter();
        self.sums.by_name.has_aggregates
            || all.any(|coroutine| coroutine.account.aggregate.is_some())
    }
}

impl ByName {
    pub(super) fn of(&mut self, group_key: GroupKey) -> &mut Named {
        self.all.entry(group_key).or_insert_with(|| Named {
            group_key,
            bins: Bins::USUAL,
            ..Named::default()
        })
    }

    /// All groups, in no order.
    pub(super) fn all(&self) -> impl Iterator<Item = &Named> {
        self.all.values()
    }

    pub(super) fn get(&self, group_key: GroupKey) -> Option<&Named> {
        self.all.get(&group_key)
    }

    /// Adds the totals of a coroutine. An open wait is measured to `end`.
    pub(super) fn add(&mut self, coroutine: &Coroutine, end: Nanos) {
        self.has_aggregates |= coroutine.account.aggregate.is_some();
        let named = self.of(coroutine.group_key());
        named.coroutines = named.coroutines.saturating_add(1);
        named.cancelled += u64::from(coroutine.waits.cancelled);
        named.approximate |= coroutine.account.is_approximate();
        if coroutine.suspend().is_some() {
            named.open.add(coroutine.waits.since.until(end));
        }
        match &coroutine.account.aggregate {
            Some(aggregate) => named.merge(
                aggregate.bins,
                &aggregate.waiting,
                &aggregate.running,
                aggregate.left_out,
            ),
            None => {
                named.approximate |=
                    coroutine.dialect == Dialect::Extended || coroutine.account.earlier > 0
            }
        }
    }

    /// Adds a completed span of a plain peer's coroutine.
    pub(super) fn add_span(&mut self, group_key: GroupKey, span: &Span, ended_by: EventKind) {
        let named = self.of(group_key);
        match span.activity {
            SpanActivity::Waiting(..) if ended_by == EventKind::Death => {}
            SpanActivity::Waiting(..) => named.waiting.add(span.length(), named.bins),
            SpanActivity::Running(_) => named.running.add(span.length(), named.bins),
        }
    }
}

impl Named {
    /// Whether the programs themselves kept totals of these coroutines.
    pub fn has_totals(&self) -> bool {
        0 < self.waiting.count || 0 < self.running.count
    }

    /// If the bins differ, only the figures outside the bins are added.
    pub(super) fn merge(
        &mut self,
        bins: Bins,
        waiting: &Durations,
        running: &Durations,
        left_out: u64,
    ) {
        if self.waiting.count == 0 && self.running.count == 0 {
            self.bins = bins;
        }
        self.left_out = self.left_out.saturating_add(left_out);
        self.approximate |= waiting.is_saturated() || running.is_saturated() || bins != self.bins;
        self.waiting.merge(waiting);
        self.running.merge(running);
    }
}
