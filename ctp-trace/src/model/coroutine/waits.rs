//! The waits and the runs of a coroutine: since when it does what it does, and sums of what is over.

use super::visited::Visited;
use crate::model::names::NameId;
use crate::model::site::Places;
use crate::record::{Event, Nanos, SiteId, WaitKind, Wake};

/// Since when a coroutine waits or runs, and how long it did so before.
#[derive(Clone, Debug, Default)]
pub struct Waits {
    /// Start of its latest run.
    pub ran_at: Option<Nanos>,
    /// Since when it waits for what it waits for, if it does: runs that ended where the wait before
    /// was, for the same, are no end of it.
    pub wants_since: Nanos,
    /// Since when it waits there, if it does: polls that nobody asked for, and after which it went
    /// on waiting for the same, are no end of it.
    pub since: Nanos,
    /// So many such polls there were.
    pub idle_polls: u32,
    /// Time it waited, as far as it went on since.
    pub waited: Total,
    /// Time it ran, as far as that is over.
    pub ran: Total,
    /// Whether it was dropped while it waited.
    pub cancelled: bool,
    /// The wait that ended in the latest run; unknown if events after it are missing.
    pub(super) resumed: Option<Resumed>,
    /// Sites where it has waited, by number.
    pub(super) visited: Visited,
}

/// Spans, counted and summed up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Total {
    /// How many.
    pub count: u64,
    /// Their sum.
    pub sum: Nanos,
}

impl Total {
    fn add(&mut self, span: Nanos) {
        self.count += 1;
        self.sum.0 = self.sum.0.saturating_add(span.0);
    }
}

/// A wait that ended in a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Resumed {
    suspended_at: Nanos,
    site: u32,
    /// What it waited for; unknown once it has taken that.
    wait: WaitKind,
    arg: u64,
    /// Wakes that it knew of when that wait began.
    pub(super) wake_seen: u16,
    /// The delay between wake and run has been counted.
    queued: bool,
    /// The place that ended it has been counted.
    credited: bool,
    /// The run may be a poll that nobody asked for, and that ends nothing: the wait is counted once
    /// that is known.
    uncounted: bool,
}

impl Resumed {
    /// Whether one that suspends so, at the site of that number, waits where this was, for the same.
    fn is_of(&self, suspend: &Event, site: u32) -> bool {
        (self.site, self.wait, self.arg) == (site, suspend.wait, suspend.arg)
    }
}

impl Waits {
    /// The number of the site of the wait that ended in the latest run.
    pub(in crate::model) fn resumed_at(&self) -> Option<u32> {
        self.resumed.map(|resumed| resumed.site)
    }

    /// What the wait was for that ended in the latest run.
    pub(in crate::model) fn resumed_by(&self) -> Option<(WaitKind, u64)> {
        self.resumed.map(|resumed| (resumed.wait, resumed.arg))
    }

    /// When the wait began that ended in the latest run, if it was for this, and it has not taken
    /// it since: now it does.
    pub(in crate::model) fn take(
        &mut self,
        is_match: impl FnOnce(WaitKind, u64) -> bool,
    ) -> Option<Nanos> {
        let wait = self.resumed.as_mut()?;
        if !is_match(wait.wait, wait.arg) {
            return None;
        }
        wait.wait = WaitKind::Unknown;
        Some(wait.suspended_at)
    }

    /// Between the runs before and after the wait there was one wake. It is the one that ended the
    /// wait, so its coroutine has been queued, and nothing is to come of it any more.
    pub(super) fn was_ended_by_single_wake(&self, next: &Event) -> bool {
        let before = self.resumed.map(|resumed| resumed.wake_seen);
        before.is_some_and(|before| next.wake_seen.wrapping_sub(before) == 1)
    }

    /// Whether the run that ends with this suspend was one that nobody asked for, as where another
    /// future polls this one for reasons of its own, and changed nothing.
    #[inline]
    pub(super) fn go_on(&self, suspend: &Event, places: &mut Places) -> bool {
        let Some(resumed) = self.resumed.filter(|resumed| resumed.uncounted) else {
            return false;
        };
        suspend.wake_seen == resumed.wake_seen
            && resumed.is_of(suspend, places.number(suspend.site, suspend.wait))
    }

    /// Now it is known whether the wait before the latest run goes on.
    #[inline]
    pub(super) fn settle(&mut self, goes_on: bool, places: &mut Places) {
        if !goes_on {
            self.count(places);
        }
        if let Some(resumed) = &mut self.resumed {
            resumed.uncounted = false;
        }
    }

    /// That wait is over, for all that is known.
    #[inline]
    pub(in crate::model) fn count(&self, places: &mut Places) {
        let resumed = self.resumed.filter(|resumed| resumed.uncounted);
        if let (Some(resumed), Some(ran_at)) = (resumed, self.ran_at) {
            let length = self.since.until(ran_at);
            places.by_number(resumed.site).waits.add(length);
        }
    }

    /// It suspends; `gap` events are missing before that. Returns whether another wait begins.
    #[inline]
    pub(super) fn arrive(
        &mut self,
        suspend: &Event,
        (gap, goes_on): (u64, bool),
        name: NameId,
        places: &mut Places,
    ) -> bool {
        let number = places.number(suspend.site, suspend.wait);
        let is_same = |resumed: &&Resumed| gap == 0 && resumed.is_of(suspend, number);
        if self.resumed.as_ref().filter(is_same).is_none() {
            self.wants_since = suspend.at;
        }
        if goes_on {
            self.idle_polls = self.idle_polls.saturating_add(1);
            return false;
        }
        (self.since, self.idle_polls) = (suspend.at, 0);
        let stats = places.by_number(number);
        stats.events += 1;
        stats.approximate |= gap > 0;
        if self.visited.insert(number) {
            if stats.coroutines == 0 {
                stats.name = name;
            }
            stats.names_differ |= stats.name != name;
            stats.coroutines += 1;
        }
        true
    }

    /// It is dropped while it waits.
    pub(super) fn cancel(&mut self, from: &Event, at: Nanos, places: &mut Places) {
        self.cancelled = true;
        let length = self.since.until(at);
        places.at(from.site, from.wait).cancelled.add(length);
    }

    /// A run follows a suspend, and may be a poll after which the wait goes on.
    #[inline]
    pub(super) fn resume(
        &mut self,
        from: &Event,
        run: &Event,
        may_go_on: bool,
        places: &mut Places,
    ) {
        self.waited.add(from.at.until(run.at));
        let site = places.number(from.site, from.wait);
        if !may_go_on {
            let length = self.since.until(run.at);
            places.by_number(site).waits.add(length);
        }
        self.resumed = Some(Resumed {
            suspended_at: from.at,
            site,
            wait: from.wait,
            arg: from.arg,
            wake_seen: from.wake_seen,
            queued: false,
            credited: false,
            uncounted: may_go_on,
        });
    }

    /// A run is over. Returns the site of the wait before it, if that is known.
    #[inline]
    pub(super) fn pause(
        &mut self,
        length: Nanos,
        places: &mut Places,
    ) -> Option<(SiteId, WaitKind)> {
        self.ran.add(length);
        let stats = places.by_number(self.resumed?.site);
        stats.runs.add(length);
        Some((stats.site, stats.wait))
    }

    /// A wake within the wait that ended in the latest run tells how long that run was delayed.
    #[inline]
    pub(super) fn count_queueing(&mut self, wake: Option<Wake>, places: &mut Places) {
        let (Some(wake), Some(ran_at)) = (wake, self.ran_at) else {
            return;
        };
        let Some(resumed) = self.resumed.as_mut().filter(|resumed| !resumed.queued) else {
            return;
        };
        if resumed.suspended_at < wake.at && wake.at <= ran_at {
            resumed.queued = true;
            places
                .by_number(resumed.site)
                .queued
                .add(wake.at.until(ran_at));
        }
    }

    /// A call within the wait that ended in the latest run is what ended it.
    #[inline]
    pub(super) fn count_waker(&mut self, called: (Nanos, SiteId), places: &mut Places) {
        let (Some(ran_at), (at, site)) = (self.ran_at, called) else {
            return;
        };
        let Some(resumed) = self.resumed.as_mut().filter(|resumed| !resumed.credited) else {
            return;
        };
        if resumed.suspended_at < at && at <= ran_at {
            resumed.credited = true;
            places.by_number(resumed.site).wakers.add(site);
        }
    }
}
