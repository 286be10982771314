//! Totals in place of events: those from before the window of a flight recorder, and those of a summary. They are
//! added to what is usual for coroutines with the same name: lengths of waits, and lifetimes.

use super::TraceModel;
use super::coroutine::Coroutine;
use super::lives;
use super::named::{GroupKey, Named};
use crate::record::{Dialect, EndedSums, Window};

impl TraceModel {
    /// The period whose events are all in the trace; `None` if the trace is not of a flight recorder.
    pub fn window(&self) -> Option<&Window> {
        self.extent.window.as_ref()
    }

    /// Adds the totals of coroutines that ended before the window and have no other record in the trace.
    pub(super) fn ended_sums(&mut self, ended_sums: &EndedSums) {
        let group_key = GroupKey {
            name: self.names.intern(&ended_sums.name),
            spawn_site: ended_sums.spawn_site,
        };
        self.sums.note_ended(ended_sums, group_key);
        self.add_ended(group_key, ended_sums.coroutines);
    }
}

impl Named {
    pub(super) fn add_ended(&mut self, ended_sums: &EndedSums) {
        let EndedSums { bins, left_out, .. } = *ended_sums;
        self.coroutines = self.coroutines.saturating_add(ended_sums.coroutines);
        self.approximate |= ended_sums.lost > 0 || left_out > 0;
        lives::add_estimates(ended_sums, &mut self.lives);
        self.merge(bins, &ended_sums.waiting, &ended_sums.running, left_out);
    }
}

impl Coroutine {
    /// Whether the coroutine can be compared with others of the same name and spawn site. A coroutine of an
    /// extended peer that has neither cannot: it may be of its own kind. A plain peer records neither, so
    /// all its coroutines are compared.
    pub(super) fn is_known(&self) -> bool {
        self.group_key() != GroupKey::default() || self.dialect != Dialect::Extended
    }
}
