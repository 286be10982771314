//! Totals over all coroutines, including those that have ended and are forgotten.

use super::coroutine::{Coroutine, Totals};
use super::lives;
use super::named::{ByName, GroupKey};
use super::span::Span;
use crate::record::{Dialect, EndedSums, EventKind, Nanos};

/// Totals, overall and by name.
#[derive(Clone, Debug, Default)]
pub(super) struct Sums {
    pub(super) totals: Totals,
    /// Totals of forgotten coroutines.
    pub(super) by_name: ByName,
}

impl Sums {
    /// Takes a span that an event ended. Only plain peers are counted here, since they keep no totals.
    #[inline]
    pub(super) fn note_span(&mut self, coroutine: &Coroutine, span: &Span, by: EventKind) {
        if coroutine.dialect != Dialect::Extended {
            self.by_name.add_span(coroutine.group_key(), span, by);
        }
    }

    /// Adds the totals of a coroutine that is about to be forgotten.
    pub(super) fn forget(&mut self, coroutine: &Coroutine) {
        let lost = &mut self.totals.lost_by_ended;
        *lost = lost.saturating_add(coroutine.account.lost());
        let summed_up = &mut self.totals.summed_up_of_the_dead;
        *summed_up = summed_up.saturating_add(coroutine.account.summed_up());
        self.totals.approximate |= coroutine.account.is_approximate();
        self.by_name.add(coroutine, Nanos(0));
        let named = self.by_name.of(coroutine.group_key());
        named.waited.merge(&coroutine.waits.waited);
        if let Some(life) = lives::lifetime_from_totals(coroutine) {
            named.lives.add(life);
        }
    }

    /// Adds coroutines that ended before a flight recorder's window and have no other record.
    pub(super) fn note_ended(&mut self, ended_sums: &EndedSums, group_key: GroupKey) {
        let totals = &mut self.totals;
        totals.coroutines = totals.coroutines.saturating_add(ended_sums.coroutines);
        for (sum, events) in [
            (&mut totals.summed_up_of_the_dead, ended_sums.events),
            (&mut totals.lost_by_ended, ended_sums.lost),
            (&mut totals.filtered, ended_sums.filtered),
        ] {
            *sum = sum.saturating_add(events);
        }
        totals.approximate |= ended_sums.lost > 0 || ended_sums.left_out > 0;
        self.by_name.has_aggregates = true;
        self.by_name.of(group_key).add_ended(ended_sums);
    }
}
