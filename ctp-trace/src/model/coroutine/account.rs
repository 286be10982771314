//! Which events of a coroutine are in the trace, and what is known of those that are not.

use crate::record::{Aggregate, Event, EventCounts, EventKind};

/// The account of a coroutine's events.
#[derive(Clone, Debug, Default)]
pub struct Account {
    /// Events seen.
    events: u64,
    /// Events before the first that a flight recorder kept.
    pub(in crate::model) earlier: u64,
    /// Events known to be missing between those seen.
    pub(super) gaps: u64,
    stated: Option<Stated>,
    /// What it did last, if a filter kept that out.
    pub hidden: Option<EventKind>,
    /// Whether its counts cannot be trusted.
    pub inexact: bool,
    /// Whether a filter, or a part of the trace that could not be read, may hide more of it.
    pub uncertain: bool,
    /// Whether two of its events contradict each other.
    pub broken: bool,
    /// What its program summed up of it, as last told.
    pub(in crate::model) aggregate: Option<Box<Aggregate>>,
}

/// What a [`EventCounts`] states: what is needed of it, since every coroutine has one.
#[derive(Clone, Copy, Debug, Default)]
struct Stated {
    /// Events that it had.
    attempted: u64,
    /// Events of it in the trace.
    recorded: u64,
    /// Index of an event whose writer died in the middle of it.
    torn: Option<u64>,
    /// Events that a filter kept out.
    filtered: u64,
}

/// What the records say.
impl Account {
    /// Counts an event. Returns how many are missing before it, or nothing if it is out of order.
    #[inline]
    pub(super) fn note_event(&mut self, event: &Event, last: Option<&Event>) -> Option<u64> {
        self.events += 1;
        self.uncertain = false;
        let expected = last.map_or(self.earlier, |last| last.n.saturating_add(1));
        let expected = expected.saturating_add(event.after_filtered.into());
        let gap = event.n.checked_sub(expected);
        self.inexact |= gap.is_none();
        gap
    }

    /// A part of the trace that may tell more of it could not be read.
    pub(in crate::model) fn note_damage(&mut self) {
        self.uncertain = self.stated.is_none();
    }

    pub(super) fn note_event_counts(&mut self, event_counts: &EventCounts) {
        self.stated = Some(Stated {
            attempted: event_counts.attempted,
            recorded: event_counts.recorded,
            torn: event_counts.torn,
            filtered: event_counts.filtered,
        });
        self.hidden = event_counts.hidden;
        self.inexact |= event_counts.inexact;
        self.uncertain = false;
    }
}

/// What follows from them.
impl Account {
    /// Whether the final account was read.
    pub fn is_closed(&self) -> bool {
        self.stated.is_some()
    }

    /// Index of an event whose writer died in the middle of it.
    pub fn torn(&self) -> Option<u64> {
        self.stated?.torn
    }

    /// Events that a filter kept out, if one kept out the latest; else 0.
    pub(super) fn filtered_at_the_end(&self) -> u64 {
        let stated = self.stated.filter(|_| self.hidden.is_some());
        stated.map_or(0, |stated| stated.filtered)
    }

    /// Events that it had but that are not in the trace, or could not be read from it, unless its
    /// aggregate stands for them.
    pub fn lost(&self) -> u64 {
        let missing = match self.is_summed_up() {
            true => 0,
            false => self.not_recorded().max(self.gaps),
        };
        missing.saturating_add(self.unread_at_the_end())
    }

    /// Events that are in no record but its aggregate, if it has one.
    pub fn summed_up(&self) -> u64 {
        let others = match self.is_summed_up() {
            true => self.not_recorded().max(self.gaps),
            false => 0,
        };
        others.saturating_add(self.earlier)
    }

    /// Without those that a flight recorder did not keep.
    fn not_recorded(&self) -> u64 {
        let missing = self
            .stated
            .map_or(0, |stated| stated.attempted.saturating_sub(stated.recorded));
        missing.saturating_sub(self.earlier)
    }

    /// Whether its aggregate stands for events that are not in the trace.
    pub fn is_summed_up(&self) -> bool {
        let aggregate = self.aggregate.as_ref();
        aggregate.is_some_and(|aggregate| aggregate.stands_for_events)
    }

    /// Whether there are totals of it that tell of more than the events that are there.
    pub(in crate::model) fn has_earlier_totals(&self) -> bool {
        self.is_summed_up() || self.earlier > 0 && self.aggregate.is_some()
    }

    /// Whether its totals may be wrong: those of its aggregate, if it has one, else the sums over
    /// its events.
    pub fn is_approximate(&self) -> bool {
        let left_out = self
            .aggregate
            .as_ref()
            .map_or(0, |aggregate| aggregate.left_out);
        self.lost() > 0
            || self.inexact
            || self.uncertain
            || self.broken
            || self.torn().is_some()
            || left_out > 0
    }

    /// Whether a sum over its events may be short.
    pub fn misses_events(&self) -> bool {
        self.is_approximate() || self.summed_up() > 0
    }

    /// Set if its last event may not be its last: how many are missing. `newest` is the index of
    /// the last event.
    pub(super) fn caveat(&self, newest: Option<u64>) -> Option<u64> {
        let torn = self
            .torn()
            .is_some_and(|n| newest.is_none_or(|newest| newest < n));
        let unread = self.unread_at_the_end();
        let unread = unread.max(u64::from(newest.is_none() && self.earlier > 0));
        (torn || self.inexact || self.uncertain || unread > 0)
            .then(|| self.lost().max(u64::from(torn)))
    }

    /// Events that the trace should have, were not read from it, and lie in no gap that was seen:
    /// they came after the last one read.
    fn unread_at_the_end(&self) -> u64 {
        let recorded = self.stated.map_or(0, |stated| stated.recorded);
        let damaged = self.gaps.saturating_sub(self.not_recorded());
        recorded.saturating_sub(self.events).saturating_sub(damaged)
    }
}
