//! One event of one coroutine: which stretch of time it ends, and where that is counted.

use super::coroutine::{Coroutine, Resumed};
use super::site::Places;
use super::span::{Doing, Span};
use crate::histogram::Histogram;
use crate::record::{CoroutineKind, Event, EventKind, Nanos, WaitKind, Wake};
use crate::verdict::wakes_since;

/// What is counted over all coroutines, also those that are forgotten since they ended.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// How many coroutines there were.
    pub coroutines: u64,
    /// How many events of them are in the trace.
    pub events: u64,
    /// Events known to be missing, of coroutines that have ended.
    pub lost_by_the_dead: u64,
    /// Events in no record but an aggregate, of coroutines that have ended.
    pub summed_up_of_the_dead: u64,
    /// Events that a filter kept out, of coroutines of which the account is closed.
    pub filtered: u64,
    /// A sum over the events of one that has ended may be wrong.
    pub approximate: bool,
    /// Coroutines that were dropped while they waited.
    pub cancelled: u64,
    /// Runs that no known wait came before.
    pub first_runs: Histogram,
}

impl Resumed {
    /// Whether who suspends so, at the site of that number, waits where this was, for the same.
    fn is_of(&self, suspend: &Event, site: u32) -> bool {
        (self.site, self.wait, self.arg) == (site, suspend.wait, suspend.arg)
    }
}

impl Coroutine {
    /// Goes one event on. Only an event and its direct successor bound a stretch of time.
    pub(super) fn step(
        &mut self,
        event: &Event,
        places: &mut Places,
        totals: &mut Totals,
    ) -> Option<Span> {
        totals.events += 1;
        self.events += 1;
        self.shaken = false;
        let expected = self
            .last
            .map_or(self.earlier, |last| last.n.saturating_add(1));
        let expected = expected.saturating_add(event.after_filtered.into());
        let Some(gap) = event.n.checked_sub(expected) else {
            self.inexact = true;
            return None;
        };
        if event.kind == EventKind::Run {
            self.ran_at = Some(event.at);
        }
        let waits_on = gap == 0 && self.waits_on(event, places);
        self.settle(waits_on, places);
        let span = match self.last {
            Some(last) if gap == 0 && !event.after_filtered => {
                self.bound(&last, event, places, totals)
            }
            _ => self.jump(gap, places),
        };
        if event.kind == EventKind::Suspend {
            if let Some(resumed) = self.resumed.as_ref().filter(|_| gap == 0) {
                let was_unasked = resumed.wake_seen == event.wake_seen;
                self.polled_by_others |= was_unasked;
                self.runs_when_woken |= !was_unasked;
            }
            self.arrive(event, gap, waits_on, places);
        }
        self.last = Some(*event);
        span
    }

    /// The latest wake word. Read after the events, it may belong to the wait before the last.
    pub(super) fn wake(&mut self, wake: &Wake, places: &mut Places) {
        self.wake = Some(*wake);
        if self.wakes_since_its_run().is_some_and(|wakes| 0 < wakes) {
            self.note_first_wake(wake.at);
        }
        self.count_queueing(places);
    }

    /// What a filter kept out is no loss, but bounds nothing either.
    fn jump(&mut self, gap: u64, places: &mut Places) -> Option<Span> {
        self.gaps = self.gaps.saturating_add(gap);
        self.resumed = None;
        // A site that was put in doubt stays so: many gaps take no longer where it was at many sites.
        if self.misses_events() {
            places.doubt(self.visited.take_new());
        }
        None
    }

    /// The run that ends with this event was one that nobody asked for, as where another future polls
    /// this one for reasons of its own, and changed nothing.
    fn waits_on(&self, event: &Event, places: &mut Places) -> bool {
        let Some(resumed) = self.resumed.filter(|it| it.uncounted) else {
            return false;
        };
        event.kind == EventKind::Suspend
            && event.wake_seen == resumed.wake_seen
            && resumed.is_of(event, places.number(event.site, event.wait))
    }

    /// Now it is known whether the wait before the latest run goes on.
    fn settle(&mut self, waits_on: bool, places: &mut Places) {
        if !waits_on {
            self.count_wait(places);
        }
        if let Some(resumed) = &mut self.resumed {
            resumed.uncounted = false;
        }
    }

    /// That wait is over, for all that is known.
    pub(super) fn count_wait(&self, places: &mut Places) {
        let resumed = self.resumed.filter(|it| it.uncounted);
        if let (Some(resumed), Some(ran_at)) = (resumed, self.ran_at) {
            let length = self.waits_since.until(ran_at);
            places.by_number(resumed.site).waits.add(length);
        }
    }

    fn arrive(&mut self, suspend: &Event, gap: u64, waits_on: bool, places: &mut Places) {
        let number = places.number(suspend.site, suspend.wait);
        let is_same = |it: &&Resumed| gap == 0 && it.is_of(suspend, number);
        if self.resumed.as_ref().filter(is_same).is_none() {
            self.wants_since = suspend.at;
        }
        if waits_on {
            self.idle_polls = self.idle_polls.saturating_add(1);
            return;
        }
        (self.waits_since, self.idle_polls) = (suspend.at, 0);
        self.first_woken = Nanos(0);
        let stats = places.by_number(number);
        stats.events += 1;
        stats.approximate |= gap > 0;
        if self.visited.insert(number) {
            if stats.coroutines == 0 {
                stats.name = self.name;
            }
            stats.names_differ |= stats.name != self.name;
            stats.coroutines += 1;
        }
    }

    /// Counts the stretch from one event to the next.
    fn bound(
        &mut self,
        from: &Event,
        to: &Event,
        places: &mut Places,
        totals: &mut Totals,
    ) -> Option<Span> {
        let length = from.at.until(to.at);
        let doing = match from.kind {
            EventKind::Birth | EventKind::Death => return None,
            EventKind::Suspend if to.kind == EventKind::Death => {
                self.cancelled = true;
                totals.cancelled += 1;
                let length = self.waits_since.until(to.at);
                places.at(from.site, from.wait).cancelled.add(length);
                Doing::Waiting(from.site, from.wait)
            }
            EventKind::Suspend => self.resume(from, to, places),
            EventKind::Run => self.pause(length, places, totals),
        };
        Some(Span {
            coroutine: self.id,
            doing,
            from: from.at,
            to: to.at,
        })
    }

    fn resume(&mut self, from: &Event, run: &Event, places: &mut Places) -> Doing {
        self.waited.add(from.at.until(run.at));
        let site = places.number(from.site, from.wait);
        let may_go_on = self.may_be_polled_unasked(from);
        if !may_go_on {
            let length = self.waits_since.until(run.at);
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
        self.count_queueing(places);
        self.count_waker(places);
        Doing::Waiting(from.site, from.wait)
    }

    /// Who polls a future that tells of wakes has to be asked, or may poll it all the same: where no
    /// wake is known yet, that poll tells when it ends. One that yields asks by that.
    fn may_be_polled_unasked(&self, from: &Event) -> bool {
        let counts = [self.wake.map(|it| it.count), self.woken.map(|it| it.count)];
        let is_later = |count| wakes_since(count, from.wake_seen).is_some_and(|wakes| 0 < wakes);
        let is_told = self.kind == CoroutineKind::Future && self.wake.is_some();
        let asks = matches!(from.wait, WaitKind::Yield | WaitKind::Timer);
        is_told && !asks && !counts.into_iter().flatten().any(is_later)
    }

    fn pause(&mut self, length: Nanos, places: &mut Places, totals: &mut Totals) -> Doing {
        self.ran.add(length);
        let Some(resumed) = self.resumed else {
            totals.first_runs.add(length);
            return Doing::Running(None);
        };
        let stats = places.by_number(resumed.site);
        stats.runs.add(length);
        Doing::Running(Some((stats.site, stats.wait)))
    }

    /// A wake within the wait that ended in the latest run tells how long that run was delayed.
    fn count_queueing(&mut self, places: &mut Places) {
        let (Some(wake), Some(ran_at)) = (self.wake, self.ran_at) else {
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
}
