//! Totals of all coroutines of a name that were spawned at one place: what their programs summed up, and for plain v1 peers,
//! which sum up nothing, what follows from the events that are there.

use super::TraceModel;
use super::coroutine::Coroutine;
use super::names::NameId;
use super::span::{Activity, Span};
use crate::hash::Map;
use crate::histogram::Histogram;
use crate::record::{Bins, Dialect, Durations, EventKind, Nanos, SiteId};
use crate::verdict::Past;

/// What coroutines have in common that are expected to behave alike.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct GroupKey {
    /// Their name: all async blocks of a function have the same.
    pub name: NameId,
    /// Where they were spawned.
    pub spawn_site: SiteId,
}

/// The coroutines of one name and place of spawning.
#[derive(Clone, Debug, Default)]
pub struct Named {
    /// Their name and place.
    pub group_key: GroupKey,
    /// How many there were.
    pub coroutines: u64,
    /// How the durations are divided.
    pub bins: Bins,
    /// Waits that ended in a run.
    pub waiting: Durations,
    /// Runs that ended.
    pub running: Durations,
    /// Waits that go on, measured to the end. They are in no total.
    pub open: Histogram,
    /// How many of them were dropped while they waited. These waits are in no total.
    pub cancelled: u64,
    /// Durations that are in no total, since a signal handler left them out.
    pub left_out: u64,
    /// The totals may be wrong: events are missing of one that has no aggregate, or what an
    /// aggregate says is doubtful.
    pub approximate: bool,
}

/// All of them.
#[derive(Clone, Debug, Default)]
pub(super) struct ByName {
    all: Map<GroupKey, Named>,
    pub(super) has_aggregates: bool,
}

impl TraceModel {
    /// The totals of all coroutines of each name and place, those that are over included, in no order.
    pub fn by_name(&self) -> Vec<Named> {
        self.all_named().all.into_values().collect()
    }

    /// The totals of these coroutines, unless there are none.
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

    /// Events that no record tells of, but totals do.
    pub fn summed_up(&self) -> u64 {
        let all = self.coroutines.all().iter();
        let all = all.map(|coroutine| coroutine.account.summed_up());
        all.fold(self.totals().summed_up_of_the_dead, u64::saturating_add)
    }

    /// Whether the program itself summed up what its coroutines did.
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

    pub(super) fn get(&self, group_key: GroupKey) -> Option<&Named> {
        self.all.get(&group_key)
    }

    /// Adds what this one amounts to; `end` is to when its wait is measured if it goes on.
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

    /// A plain peer's coroutine came to the end of a span.
    pub(super) fn add_span(&mut self, group_key: GroupKey, span: &Span, ended_by: EventKind) {
        let named = self.of(group_key);
        match span.activity {
            Activity::Waiting(..) if ended_by == EventKind::Death => {}
            Activity::Waiting(..) => named.waiting.add(span.length(), named.bins),
            Activity::Running(_) => named.running.add(span.length(), named.bins),
        }
    }
}

impl Named {
    /// Of other bins only the figures beside them are added.
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

impl Past {
    /// What is usual for all coroutines of a name and place of spawning, wherever they waited. How long they queued is
    /// not known, but no longer than they waited: what rests on that can be likely at most.
    pub(super) fn of_name(self, named: Option<&Named>) -> Past {
        let Some(Named { waiting, bins, .. }) = named else {
            return Past::default();
        };
        let longest = waiting.max.max(self.longest);
        Past {
            waits: waiting.count,
            p99: waiting.bound(99, *bins).unwrap_or_default(),
            longest,
            queued: 0,
            longest_queued: longest,
        }
    }
}
