//! What may be missing in a trace: records that threads lost, filtered events and unreadable parts. Lost events
//! of a coroutine are in its own account.

pub(super) mod accounts;
pub(super) mod filtering;
pub(super) mod losses;

use crate::record::{Nanos, ProcessId};
use accounts::Accounts;
use filtering::Filtering;
use losses::Losses;

/// What is missing, by cause.
#[derive(Clone, Debug, Default)]
pub(super) struct Missing {
    pub(super) accounts: Accounts,
    pub(super) losses: Losses,
    pub(super) filtering: Filtering,
    /// Whether a part of the trace could not be read.
    is_damaged: bool,
}

impl Missing {
    /// Notes that a part of the trace could not be read.
    pub(super) fn note_damage(&mut self) {
        self.is_damaged = true;
        self.accounts.unreadable_parts += 1;
    }

    /// Whether a filter may have dropped events since this time, or any part of the trace could not be read.
    pub(super) fn may_miss_unread_or_filtered_since(&self, since: Nanos) -> bool {
        self.is_damaged || self.filtering.was_in_force_since(since)
    }

    /// Whether records of the process since this time may be missing.
    pub(super) fn is_any_since(&self, process: ProcessId, since: Nanos) -> bool {
        self.may_miss_unread_or_filtered_since(since) || self.losses.any_since(process, since)
    }

    /// Whether records of the process, of any time, may be missing.
    pub(super) fn is_any(&self, process: ProcessId) -> bool {
        self.is_damaged
            || self.losses.any_since(process, Nanos(0))
            || !self.filtering.changes.is_empty()
    }
}
