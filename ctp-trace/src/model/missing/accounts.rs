//! The counts that a trace states about itself, compared with the records that were read.
//!
//! A trace from which a part was removed may look complete: its chunks are whole, and it has an end.
//! Only its counts reveal the gap.

use crate::model::TraceModel;
use crate::model::gaps::Gap;
use crate::reader::Reader;
use crate::record::Record;

/// Counts of what was read, and the counts that chunk headers state.
#[derive(Clone, Debug, Default)]
pub(in crate::model) struct Accounts {
    /// Records between the start and the end.
    records: u64,
    births: u64,
    /// The counts of some coroutine cannot be trusted, so the totals cannot match either.
    pub(in crate::model) inexact: bool,
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
    /// Takes the counts from chunk headers. Call this after the reader has returned all records.
    pub fn reconcile(&mut self, reader: &Reader<'_>) {
        let accounts = &mut self.missing.accounts;
        accounts.stated_lost = reader.stated_lost();
        accounts.unknown_chunks = reader.passed_over();
        self.branches.finish();
    }

    /// The stated counts that exceed what was read. If parts of the trace are known to be missing, they
    /// are the cause, and are reported as a gap of their own.
    pub(in crate::model) fn unmatched_counts(&self) -> Vec<Gap> {
        let accounts = &self.missing.accounts;
        let Some(end) = self.end().filter(|_| accounts.unreadable_parts == 0) else {
            return Vec::new();
        };
        let missing = [
            (
                end.coroutines,
                accounts.births,
                Gap::AbsentCoroutines as fn(u64) -> Gap,
            ),
            (end.events, self.totals().events, Gap::AbsentEvents),
            (
                end.lost.max(accounts.stated_lost),
                self.attributed_losses(),
                Gap::UnattributedLosses,
            ),
            (end.records, accounts.records, Gap::AbsentRecords),
        ];
        let mut gaps: Vec<Gap> = missing
            .into_iter()
            .filter(|(stated, found, _)| found < stated)
            .map(|(stated, found, gap)| gap(stated - found))
            .collect();
        if 1 < gaps.len() {
            // Coroutines and events are records too.
            gaps.retain(|gap| !matches!(gap, Gap::AbsentRecords(_)));
        }
        gaps
    }

    /// Lost events that belong to a known coroutine. If the counts of any coroutine cannot be trusted,
    /// every loss counts as attributed.
    fn attributed_losses(&self) -> u64 {
        if self.missing.accounts.inexact {
            return u64::MAX;
        }
        self.lost_by_coroutines()
    }
}
