//! Traces of flight recorders: what came before the window, and what that says of what is usual.

use super::Census;
use super::coroutine::Coroutine;
use super::named::{Kin, Named};
use crate::record::{Dialect, Former, Window};
use crate::verdict::{ENOUGH, Past};

impl Census {
    /// Set if this is the trace of a flight recorder.
    pub fn window(&self) -> Option<&Window> {
        self.extent.window.as_ref()
    }

    /// Adds what those come to of which nothing else is in the trace.
    pub(super) fn former(&mut self, former: &Former) {
        let kin = Kin {
            name: self.names.intern(&former.name),
            spawn_site: former.spawn_site,
        };
        self.sums.note_former(former, kin);
        self.meet_former(kin, former.coroutines);
    }
}

impl Named {
    pub(super) fn add_former(&mut self, former: &Former) {
        let Former { bins, left_out, .. } = *former;
        self.coroutines = self.coroutines.saturating_add(former.coroutines);
        self.approximate |= former.lost > 0 || left_out > 0;
        self.merge(bins, &former.waiting, &former.running, left_out);
    }
}

impl Coroutine {
    /// Whether too little is known of the place where it waits.
    pub(super) fn needs_past_of_name(&self, of_place: &Past) -> bool {
        let is_short = self.account.has_earlier_totals() && of_place.waits < ENOUGH;
        self.account.is_summed_up() || is_short
    }

    /// Of those of an extended peer that have neither name nor place, each may be of its own sort. A
    /// plain peer tells neither of any.
    fn is_known(&self) -> bool {
        self.kin() != Kin::default() || self.dialect != Dialect::Extended
    }

    /// What is usual, from that of the place where it waits and that of its name.
    pub(super) fn past(&self, of_place: Past, named: Option<&Named>) -> Past {
        let named = named.filter(|_| self.is_known());
        let of_name = of_place.of_name(named);
        if self.needs_past_of_name(&of_place) {
            return of_name;
        }
        // Before the window, waits and delays there may have been as long as any.
        Past {
            longest: of_name.longest,
            queued: 0,
            longest_queued: of_name.longest_queued,
            ..of_place
        }
    }
}
