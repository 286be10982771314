//! The waits and runs of a coroutine: the start of the current wait or run, and totals of earlier ones.

use super::visited::Visited;
use crate::model::names::NameId;
use crate::model::site::WaitSites;
use crate::model::wakers::Woken;
use crate::record::{Event, Nanos, SiteId, WaitKind};

/// The current wait or run of a coroutine, and totals of earlier ones.
#[derive(Clone, Debug, Default)]
pub struct Waits {
    /// Start of the latest run.
    pub ran_at: Option<Nanos>,
    /// Since when the coroutine has been waiting for the same resource at the same place, if any.
    /// Runs in between do not end this time.
    pub wants_since: Nanos,
    /// Start of the current wait, if there is one. Polls without a wake, after which the coroutine waits
    /// for the same resource again, do not end it.
    pub since: Nanos,
    /// The number of polls without a wake during the current wait.
    pub idle_polls: u32,
    /// Total time spent in waits that are over.
    pub waited: Total,
    /// Total time spent in runs that are over.
    pub ran: Total,
    /// The coroutine was dropped during a wait.
    pub cancelled: bool,
    /// The wait before the latest run; `None` if events after it are missing.
    pub(super) resumed: Option<Resumed>,
    /// Numbers of the sites where the coroutine has waited.
    pub(in crate::model) visited: Visited,
}

/// Durations, counted and summed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Total {
    /// The number of durations.
    pub count: u64,
    /// Their sum.
    pub sum: Nanos,
    /// The longest of them.
    pub longest: Nanos,
}

impl Total {
    fn add(&mut self, span: Nanos) {
        self.count += 1;
        self.sum.0 = self.sum.0.saturating_add(span.0);
        self.longest = self.longest.max(span);
    }

    /// Adds other durations.
    pub(in crate::model) fn merge(&mut self, other: &Total) {
        self.count = self.count.saturating_add(other.count);
        self.sum.0 = self.sum.0.saturating_add(other.sum.0);
        self.longest = self.longest.max(other.longest);
    }

    /// The arithmetic mean; zero without durations.
    pub(in crate::model) fn mean(&self) -> Nanos {
        Nanos(self.sum.0.checked_div(self.count).unwrap_or_default())
    }
}

/// A wait that ended in a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Resumed {
    suspended_at: Nanos,
    site: u32,
    /// What the wait was for; `Unknown` once the coroutine has acquired the resource.
    wait: WaitKind,
    arg: u64,
    /// The wake count that the coroutine knew when the wait began.
    pub(super) wake_seen: u16,
    /// Whether the delay between wake and run has been counted.
    is_delay_counted: bool,
    /// Whether the call that ended the wait has been counted.
    is_call_counted: bool,
    /// Whether the wait is not counted yet, because the run may be a poll without a wake, which does not end
    /// the wait.
    is_uncounted: bool,
}

impl Resumed {
    /// Whether this suspend, at the site with this number, continues the wait: same place, same
    /// resource.
    fn is_of(&self, suspend: &Event, site: u32) -> bool {
        (self.site, self.wait, self.arg) == (site, suspend.wait, suspend.arg)
    }
}

impl Waits {
    /// The number of the site of the wait before the latest run.
    pub(in crate::model) fn resumed_at(&self) -> Option<u32> {
        self.resumed.map(|resumed| resumed.site)
    }

    /// The awaited resource of the wait before the latest run.
    pub(in crate::model) fn resumed_by(&self) -> Option<(WaitKind, u64)> {
        self.resumed.map(|resumed| (resumed.wait, resumed.arg))
    }

    /// The start of the wait before the latest run, if that wait was for this resource. Returns it only
    /// once: the coroutine acquires the resource now.
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

    /// Whether exactly one wake came between the runs before and after the wait. If so, that wake ended
    /// the wait and has no further effect.
    pub(super) fn was_ended_by_single_wake(&self, next: &Event) -> bool {
        let before = self.resumed.map(|resumed| resumed.wake_seen);
        before.is_some_and(|before| next.wake_seen.wrapping_sub(before) == 1)
    }

    /// Whether the run that ends with this suspend was a poll without a wake that changed nothing, as
    /// when another future polls this future for reasons of its own.
    #[inline]
    pub(super) fn go_on(&self, suspend: &Event, places: &mut WaitSites) -> bool {
        let Some(resumed) = self.resumed.filter(|resumed| resumed.is_uncounted) else {
            return false;
        };
        suspend.wake_seen == resumed.wake_seen
            && resumed.is_of(suspend, places.number(suspend.site, suspend.wait))
    }

    /// Whether the previous wait goes on while another branch of the coroutine waits with this suspend: no wake
    /// has ended the wait, and the suspend is one of several. The length of the wait is not known then.
    #[inline]
    pub(super) fn is_hidden_by(&self, suspend: &Event) -> bool {
        let resumed = self.resumed.filter(|resumed| resumed.is_uncounted);
        suspend.marks.has_others
            && resumed.is_some_and(|resumed| resumed.wake_seen == suspend.wake_seen)
    }

    /// Counts the previous wait as completed, unless it goes on.
    #[inline]
    pub(super) fn settle(&mut self, goes_on: bool, places: &mut WaitSites) {
        if !goes_on {
            self.count(places);
        }
        if let Some(resumed) = &mut self.resumed {
            resumed.is_uncounted = false;
        }
    }

    /// Counts the previous wait as completed.
    #[inline]
    pub(in crate::model) fn count(&self, places: &mut WaitSites) {
        let resumed = self.resumed.filter(|resumed| resumed.is_uncounted);
        if let (Some(resumed), Some(ran_at)) = (resumed, self.ran_at) {
            let length = self.since.until(ran_at);
            places.by_number(resumed.site).ended(length, ran_at);
        }
    }

    /// Takes a suspend that follows `gap` missing events. Returns whether another wait begins.
    #[inline]
    pub(super) fn arrive(
        &mut self,
        suspend: &Event,
        (gap, goes_on): (u64, bool),
        name: NameId,
        places: &mut WaitSites,
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

    /// Takes the death of a waiting coroutine.
    pub(super) fn cancel(&mut self, from: &Event, at: Nanos, places: &mut WaitSites) {
        self.cancelled = true;
        let length = self.since.until(at);
        places.at(from.site, from.wait).cancelled.add(length);
    }

    /// Takes a run after a suspend. `may_go_on`: the run may be a poll after which the wait goes on.
    #[inline]
    pub(super) fn resume(
        &mut self,
        from: &Event,
        run: &Event,
        may_go_on: bool,
        places: &mut WaitSites,
    ) {
        self.waited.add(from.at.until(run.at));
        let site = places.number(from.site, from.wait);
        if !may_go_on {
            let length = self.since.until(run.at);
            places.by_number(site).ended(length, run.at);
        }
        self.resumed = Some(Resumed {
            suspended_at: from.at,
            site,
            wait: from.wait,
            arg: from.arg,
            wake_seen: from.wake_seen,
            is_delay_counted: false,
            is_call_counted: false,
            is_uncounted: may_go_on,
        });
    }

    /// Takes the end of a run. Returns the site of the preceding wait, if known.
    #[inline]
    pub(super) fn pause(
        &mut self,
        length: Nanos,
        places: &mut WaitSites,
    ) -> Option<(SiteId, WaitKind)> {
        self.ran.add(length);
        let stats = places.by_number(self.resumed?.site);
        stats.runs.add(length);
        Some((stats.site, stats.wait))
    }

    /// Counts the delay of the latest run, if a wake at `woken_at` came during the preceding wait.
    #[inline]
    pub(super) fn count_queueing(&mut self, woken_at: Nanos, places: &mut WaitSites) {
        let Some(ran_at) = self.ran_at else {
            return;
        };
        let Some(resumed) = self
            .resumed
            .as_mut()
            .filter(|resumed| !resumed.is_delay_counted)
        else {
            return;
        };
        if resumed.suspended_at < woken_at && woken_at <= ran_at {
            resumed.is_delay_counted = true;
            places
                .by_number(resumed.site)
                .queued
                .add(woken_at.until(ran_at));
        }
    }

    /// Counts a call of `wake()` during the wait before the latest run as the call that ended the wait.
    #[inline]
    pub(super) fn count_waker(&mut self, call: &Woken, places: &mut WaitSites) {
        let Some(ran_at) = self.ran_at else {
            return;
        };
        let Some(resumed) = self
            .resumed
            .as_mut()
            .filter(|resumed| !resumed.is_call_counted)
        else {
            return;
        };
        if resumed.suspended_at < call.at && call.at <= ran_at {
            resumed.is_call_counted = true;
            places.by_number(resumed.site).ended_by(call);
        }
    }
}
