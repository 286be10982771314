//! The counts that a trace states about itself, compared with the records that were read.
//!
//! A trace from which a part was left out may be sound otherwise: its chunks are whole, and it has
//! an end. Only its counts show that something is missing.

use crate::model::TraceModel;
use crate::model::gaps::Gap;
use crate::reader::Reader;
use crate::record::Record;

/// What was read, and what chunk headers state.
#[derive(Clone, Debug, Default)]
pub(in crate::model) struct Accounts {
    /// Records between the start and the end.
    records: u64,
    births: u64,
    /// The counts of some coroutine cannot be trusted, so that sums over all do not match either.
    pub(in crate::model) inexact: bool,
    /// Parts of the trace that could not be read.
    pub(in crate::model) unreadable_parts: u64,
    /// The most events that any chunk states as lost.
    stated_lost: u64,
    /// Chunks of types that this version does not know.
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
    /// Takes over what chunk headers state. To be called when the reader has given all its records.
    pub fn reconcile(&mut self, reader: &Reader<'_>) {
        let accounts = &mut self.missing.accounts;
        accounts.stated_lost = reader.stated_lost();
        accounts.unknown_chunks = reader.passed_over();
    }

    /// The counts to which the records do not add up. Where parts are known to be missing, that is
    /// why; those parts are a gap of their own.
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

    /// Lost events of which the trace says whose they were. Where the counts of a coroutine cannot
    /// be trusted, no loss is in excess.
    fn attributed_losses(&self) -> u64 {
        if self.missing.accounts.inexact {
            return u64::MAX;
        }
        self.lost_by_coroutines()
    }
}
