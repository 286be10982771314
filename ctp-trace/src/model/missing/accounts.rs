//! The counts that a trace states about itself, compared with the records that were read.
//!
//! A trace from which a part was removed may look complete: its chunks are whole, and it has an end.
//! Only its counts reveal the gap.

use crate::model::TraceModel;
use crate::model::gaps::Gap;
use crate::reader::Reader;
use crate::record::{End, Record};

/// Counts of what was read, and the counts that chunk headers state.
#[derive(Clone, Debug, Default)]
pub(in crate::model) struct Accounts {
    /// Records between the start and the end.
    records: u64,
    births: u64,
    /// The counts of some coroutine cannot be trusted, so the totals cannot match either.
    pub(in crate::model) has_untrusted_counts: bool,
    /// Parts of the trace that could not be read.
    pub(in crate::model) unreadable_parts: u64,
    /// The largest number of lost events that any chunk states.
    stated_lost: u64,
    /// Chunks of unknown types.
    pub(in crate::model) unknown_chunks: u64,
}

impl Accounts {
    #[inline]
    pub(in crate::model) fn count(&mut self, record: &Record) {
        let is_counted = !matches!(record, Record::Start(_) | Record::End(_));
        self.records += u64::from(is_counted);
        self.births += u64::from(matches!(record, Record::Birth(_)));
    }
}

impl TraceModel {
    /// Call this after the last record: takes the counts of chunk headers, and the polls that waited for
    /// later records.
    pub fn finish_reading(&mut self, reader: &Reader<'_>) {
        let accounts = &mut self.missing.accounts;
        accounts.stated_lost = reader.stated_lost();
        accounts.unknown_chunks = reader.passed_over();
        self.branches.finish();
    }

    /// The stated counts that exceed what was read. Empty if parts of the trace are unreadable: those parts
    /// explain the difference, and have a gap of their own.
    pub(in crate::model) fn unmatched_counts(&self) -> Vec<Gap> {
        let accounts = &self.missing.accounts;
        let Some(end) = self.end().filter(|_| accounts.unreadable_parts == 0) else {
            return Vec::new();
        };
        let coroutines = end.coroutines.saturating_sub(accounts.births);
        let events = end.events.saturating_sub(self.totals().events);
        // Coroutines and events are records too.
        let other_records = if coroutines == 0 && events == 0 {
            end.records.saturating_sub(accounts.records)
        } else {
            0
        };
        let missing = [
            (coroutines, Gap::AbsentCoroutines as fn(u64) -> Gap),
            (events, Gap::AbsentEvents),
            (self.unattributed_losses(end), Gap::UnattributedLosses),
            (other_records, Gap::AbsentRecords),
        ];
        missing
            .into_iter()
            .filter(|(count, _)| *count != 0)
            .map(|(count, gap)| gap(count))
            .collect()
    }

    /// Lost events that do not belong to a known coroutine. 0 if the counts of any coroutine cannot be
    /// trusted.
    fn unattributed_losses(&self, end: &End) -> u64 {
        let accounts = &self.missing.accounts;
        if accounts.has_untrusted_counts {
            return 0;
        }
        let lost = end.lost.max(accounts.stated_lost);
        lost.saturating_sub(self.lost_by_coroutines())
    }
}
