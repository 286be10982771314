//! Which events of a coroutine are in the trace, and what is known of the missing events.

use crate::record::{Aggregate, Event, EventCounts, EventKind};

/// The account of a coroutine's events.
#[derive(Clone, Debug, Default)]
pub struct Account {
    /// Events in the trace.
    events: u64,
    /// Events before the first event that a flight recorder kept.
    pub(in crate::model) earlier: u64,
    /// Events known to be missing between events in the trace.
    pub(super) gaps: u64,
    stated: Option<Stated>,
    /// The kind of the latest event, if a filter kept it out.
    pub hidden: Option<EventKind>,
    /// The counts cannot be trusted.
    pub inexact: bool,
    /// A filter, or an unreadable part of the trace, may hide more events.
    pub uncertain: bool,
    /// Two events contradict each other.
    pub broken: bool,
    /// The latest totals that the program kept.
    pub(in crate::model) aggregate: Option<Box<Aggregate>>,
}

/// The part of an [`EventCounts`] that is kept; every coroutine has one, so size matters.
#[derive(Clone, Copy, Debug, Default)]
struct Stated {
    /// Events of the coroutine.
    attempted: u64,
    /// Events of the coroutine in the trace.
    recorded: u64,
    /// Index of an event that is incomplete because its writer died.
    torn: Option<u64>,
    /// Events that a filter kept out.
    filtered: u64,
}

/// Updates from records.
impl Account {
    /// Counts an event. Returns the number of missing events before it; `None` if the event is out of
    /// order.
    #[inline]
    pub(super) fn note_event(&mut self, event: &Event, last: Option<&Event>) -> Option<u64> {
        self.events += 1;
        self.uncertain = false;
        let gap = self.gap_before(event, last);
        self.inexact |= gap.is_none();
        gap
    }

    /// Notes that an unreadable part of the trace may have had more events.
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

/// Queries.
impl Account {
    /// Whether the trace has the final counts of the coroutine.
    pub fn is_closed(&self) -> bool {
        self.stated.is_some()
    }

    /// Index of an event that is incomplete because its writer died.
    pub fn torn(&self) -> Option<u64> {
        self.stated?.torn
    }

    /// The number of filtered events, if the latest event is among them; otherwise 0.
    pub(super) fn filtered_at_the_end(&self) -> u64 {
        let stated = self.stated.filter(|_| self.hidden.is_some());
        stated.map_or(0, |stated| stated.filtered)
    }

    /// Events that are missing in the trace or cannot be read, unless the aggregate includes them.
    pub fn lost(&self) -> u64 {
        let missing = if self.is_summed_up() {
            0
        } else {
            self.not_recorded().max(self.gaps)
        };
        missing.saturating_add(self.unread_at_the_end())
    }

    /// The number of missing events between `last` and the next event; `None` if the event is out of order. A
    /// flight recorder's events before the first event that it kept are not missing.
    #[inline]
    pub(super) fn gap_before(&self, event: &Event, last: Option<&Event>) -> Option<u64> {
        event.gap_after(last, self.earlier)
    }

    /// The number of lost events that are in no gap, once the trace has these final counts.
    pub(super) fn lost_in_no_gap(&self, event_counts: &EventCounts) -> u64 {
        self.lost_given(event_counts).saturating_sub(self.gaps)
    }

    /// What [`lost`](Self::lost) is once the trace has these final counts.
    pub fn lost_given(&self, event_counts: &EventCounts) -> u64 {
        let mut closed = self.clone();
        closed.note_event_counts(event_counts);
        closed.lost()
    }

    /// Events that only the aggregate, if there is one, includes.
    pub fn summed_up(&self) -> u64 {
        let others = if self.is_summed_up() {
            self.not_recorded().max(self.gaps)
        } else {
            0
        };
        others.saturating_add(self.earlier)
    }

    /// Missing events, except those that a flight recorder did not keep.
    fn not_recorded(&self) -> u64 {
        let missing = self
            .stated
            .map_or(0, |stated| stated.attempted.saturating_sub(stated.recorded));
        missing.saturating_sub(self.earlier)
    }

    /// Whether the aggregate includes events that are not in the trace.
    pub fn is_summed_up(&self) -> bool {
        let aggregate = self.aggregate.as_ref();
        aggregate.is_some_and(|aggregate| aggregate.stands_for_events)
    }

    /// The aggregate, if it includes more events than the trace has.
    pub(in crate::model) fn totals(&self) -> Option<&Aggregate> {
        self.aggregate
            .as_deref()
            .filter(|_| self.has_earlier_totals())
    }

    /// Whether the aggregate includes more events than the trace has.
    pub(in crate::model) fn has_earlier_totals(&self) -> bool {
        self.is_summed_up() || self.earlier > 0 && self.aggregate.is_some()
    }

    /// Whether the totals may be wrong: those of the aggregate if there is one, otherwise the sums over
    /// the events.
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

    /// Whether a sum over the events may be too small.
    pub fn misses_events(&self) -> bool {
        self.is_approximate() || self.summed_up() > 0
    }

    /// The number of missing events, if the latest known event may not be the last. `newest` is the index
    /// of the latest known event.
    pub(super) fn caveat(&self, newest: Option<u64>) -> Option<u64> {
        let torn = self
            .torn()
            .is_some_and(|n| newest.is_none_or(|newest| newest < n));
        let unread = self.unread_at_the_end();
        let unread = unread.max(u64::from(newest.is_none() && self.earlier > 0));
        (torn || self.inexact || self.uncertain || unread > 0)
            .then(|| self.lost().max(u64::from(torn)))
    }

    /// Events that the trace should have, but that were not read and are in no gap: they followed the
    /// last event read.
    fn unread_at_the_end(&self) -> u64 {
        let recorded = self.stated.map_or(0, |stated| stated.recorded);
        let damaged = self.gaps.saturating_sub(self.not_recorded());
        recorded.saturating_sub(self.events).saturating_sub(damaged)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // A flight recorder does not lose what it did not keep.
    #[test]
    fn final_counts_do_not_count_earlier_events_as_lost() {
        let account = Account {
            events: 3,
            earlier: 90,
            ..Account::default()
        };
        for (attempted, recorded, lost) in [(93, 3, 0), (95, 3, 2), (95, 4, 2)] {
            let event_counts = EventCounts {
                attempted,
                recorded,
                ..EventCounts::default()
            };
            assert_eq!(account.lost_given(&event_counts), lost, "{attempted}");
        }
        assert_eq!(account.lost(), 0);
    }
}
