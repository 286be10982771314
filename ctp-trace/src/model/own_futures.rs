//! Coroutines that may wait for what another of their own futures holds.
//!
//! An example is the body of a loop over a `buffer_unordered` that wants a permit. The futures in the buffer
//! hold all permits, and are polled only when the body is over. When a permit is given back, the semaphore
//! hands it to one of these futures, so the coroutine wakes itself. It runs, but still waits for a permit.

use super::TraceModel;
use super::coroutine::Coroutine;
use super::families::FamilyId;
use crate::record::LeafKind;
use crate::verdict::State;

impl TraceModel {
    /// Whether the coroutine waits for a lock, a permit or room, and was woken for another of its futures: after its
    /// previous wait at this place, it waits here again.
    pub(super) fn may_wait_for_own_future(&self, coroutine: &Coroutine) -> bool {
        let wait = coroutine.suspend();
        let number = wait.and_then(|wait| self.places.find_number(wait.site, wait.wait));
        let is_again = number.is_some() && coroutine.waits.resumed_at() == number;
        let is_for_resource = matches!(
            self.leaf_kind(coroutine),
            LeafKind::Lock | LeafKind::Semaphore | LeafKind::Room
        );
        is_again
            && is_for_resource
            && coroutine.state().0 == State::Suspended
            && coroutine.wakes_since_run() == Some(0)
            && self.was_woken_for_other_future(coroutine)
            && self.is_only_wait(coroutine)
            && !self.has_other_releasers(coroutine)
    }

    /// Whether coroutines of another family have ended waits at this place: then they may hold what the coroutine
    /// wants.
    fn has_other_releasers(&self, coroutine: &Coroutine) -> bool {
        let wait = coroutine.suspend();
        let stats = wait.and_then(|wait| self.site(wait.site, wait.wait));
        let families = stats.map_or(&[][..], |stats| stats.waking_families.known());
        let own = [FamilyId::default(), coroutine.family.unwrap_or_default()];
        families.iter().any(|family| !own.contains(family))
    }

    /// Whether the coroutine woke itself, or a timer or a descriptor woke it: other coroutines give back locks,
    /// permits and room.
    fn was_woken_for_other_future(&self, coroutine: &Coroutine) -> bool {
        coroutine.wakes.call.is_some_and(|call| {
            let is_outside = matches!(self.leaf_kind_at(call.site), LeafKind::Timer | LeafKind::Io);
            call.is_own || !call.may_be_from_coroutine && is_outside
        })
    }
}
