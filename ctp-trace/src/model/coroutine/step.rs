//! The effect of one event on its coroutine: which span of time it ends, and where that span is counted.

use super::{Coroutine, suspend_of};
use crate::histogram::Histogram;
use crate::model::site::WaitSites;
use crate::model::span::{Span, SpanActivity};
use crate::record::{CoroutineKind, Event, EventKind, Nanos, WaitKind, Wake};
use crate::verdict::wakes_since;

/// Counts over all coroutines, including those that have ended and are forgotten.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// The number of coroutines.
    pub coroutines: u64,
    /// Events in the trace.
    pub events: u64,
    /// Events known to be missing, of coroutines that have ended.
    pub lost_by_ended: u64,
    /// Events that only an aggregate includes, of coroutines that have ended.
    pub summed_up_of_the_dead: u64,
    /// Events that a filter kept out, of coroutines with final counts.
    pub filtered: u64,
    /// A total over the events of an ended coroutine may be wrong.
    pub approximate: bool,
    /// Coroutines that were dropped during a wait.
    pub cancelled: u64,
    /// Runs without a known wait before them.
    pub first_runs: Histogram,
}

impl Coroutine {
    /// Takes the next event. Only two consecutive events bound a span of time.
    pub(in crate::model) fn step(
        &mut self,
        event: &Event,
        places: &mut WaitSites,
        totals: &mut Totals,
    ) -> Option<Span> {
        totals.events += 1;
        let gap = self.account.note_event(event, self.last.as_ref())?;
        let is_suspend = event.kind == EventKind::Suspend;
        if event.kind == EventKind::Run {
            self.waits.ran_at = Some(event.at);
        }
        let goes_on = gap == 0 && is_suspend && self.waits.go_on(event, places);
        let is_hidden = gap == 0 && is_suspend && self.waits.is_hidden_by(event);
        self.waits.settle(goes_on || is_hidden, places);
        let span = match self.last {
            Some(last) if gap == 0 && !event.after_filtered => {
                self.bound(&last, event, places, totals)
            }
            _ => self.jump(gap, places),
        };
        if is_suspend {
            self.arrive(event, gap, goes_on, places);
        }
        self.last = Some(*event);
        span
    }

    /// Takes the latest wake word.
    pub(in crate::model) fn wake(&mut self, wake: &Wake, places: &mut WaitSites) {
        let suspend = suspend_of(self.last.as_ref(), &self.account);
        self.wakes.note_word(wake, suspend);
        self.waits.count_queueing(wake.at, places);
    }

    /// Takes an event after a gap, which bounds no span. A gap that a filter left is no loss.
    fn jump(&mut self, gap: u64, places: &mut WaitSites) -> Option<Span> {
        self.account.gaps = self.account.gaps.saturating_add(gap);
        self.waits.resumed = None;
        // A site that is marked as uncertain stays so. Taking only new sites keeps the cost of many gaps
        // low.
        if self.account.misses_events() {
            places.mark_approximate(self.waits.visited.take_new());
        }
        None
    }

    #[inline]
    fn arrive(&mut self, suspend: &Event, gap: u64, goes_on: bool, places: &mut WaitSites) {
        if let Some(resumed) = self.waits.resumed.filter(|_| gap == 0) {
            self.polls.note_run(resumed.wake_seen == suspend.wake_seen);
        }
        if self
            .waits
            .arrive(suspend, (gap, goes_on), self.name, places)
        {
            self.wakes.first = Nanos(0);
        }
    }

    /// Counts the span between two consecutive events.
    #[inline]
    fn bound(
        &mut self,
        from: &Event,
        to: &Event,
        places: &mut WaitSites,
        totals: &mut Totals,
    ) -> Option<Span> {
        let activity = match from.kind {
            EventKind::Birth | EventKind::Death => return None,
            EventKind::Suspend if to.kind == EventKind::Death => {
                totals.cancelled += 1;
                self.waits.cancel(from, to.at, places);
                SpanActivity::Waiting(from.site, from.wait)
            }
            EventKind::Suspend => self.resume(from, to, places),
            EventKind::Run => self.pause(from.at.until(to.at), places, totals),
        };
        Some(Span {
            coroutine: self.id,
            activity,
            from: from.at,
            to: to.at,
        })
    }

    #[inline]
    fn resume(&mut self, from: &Event, run: &Event, places: &mut WaitSites) -> SpanActivity {
        let may_go_on = self.may_be_polled_without_wake(from);
        self.waits.resume(from, run, may_go_on, places);
        // The recorder reads the wake word only from time to time, but a lane has each call of `wake()`.
        for woken_at in self.wakes.times() {
            self.waits.count_queueing(woken_at, places);
        }
        if let Some(call) = self.wakes.call {
            self.waits.count_waker(&call, places);
        }
        SpanActivity::Waiting(from.site, from.wait)
    }

    /// Whether the run after this suspend may be a poll without a wake. Usually, a future whose runtime
    /// records wakes runs because of a wake. If no wake is known yet, only the end of the poll shows
    /// whether there was a wake. A future that yields or sets a timer has asked for its next poll.
    #[inline]
    fn may_be_polled_without_wake(&self, from: &Event) -> bool {
        let is_recorded = self.kind == CoroutineKind::Future && self.wakes.word.is_some();
        let asks = matches!(from.wait, WaitKind::Yield | WaitKind::Timer);
        let mut wakes = self
            .wakes
            .counts()
            .filter_map(|count| wakes_since(count, from.wake_seen));
        is_recorded && !asks && wakes.all(|wakes| wakes == 0)
    }

    #[inline]
    fn pause(
        &mut self,
        length: Nanos,
        places: &mut WaitSites,
        totals: &mut Totals,
    ) -> SpanActivity {
        let after = self.waits.pause(length, places);
        if after.is_none() {
            totals.first_runs.add(length);
        }
        SpanActivity::Running(after)
    }
}
