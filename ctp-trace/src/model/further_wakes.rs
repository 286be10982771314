//! Whether a waiting coroutine may still be woken: whether what woke it before can do so again.

use super::TraceModel;
use super::coroutine::Coroutine;
use super::families::FamilyId;
use super::full_channels::is_never_woken;
use super::living::Living;
use super::site::SiteStats;

impl TraceModel {
    /// The families of coroutines that have ended waits where this coroutine waits, as far as they are
    /// distinguished.
    pub fn families_of_wakers(&self, coroutine: &Coroutine) -> &[FamilyId] {
        let wait = coroutine.suspend();
        let stats = wait.and_then(|wait| self.site(wait.site, wait.wait));
        stats.map_or(&[], |stats| stats.waking_families.known())
    }

    /// Whether a thread without a coroutine, or a coroutine that may continue, has woken the coroutine
    /// before.
    pub(super) fn may_be_woken_again(&self, coroutine: &Coroutine) -> bool {
        let Some(call) = coroutine.wakes.call else {
            return false;
        };
        let mut callers = self.callers.of(coroutine.id);
        !call.may_be_from_coroutine
            || self.callers.has_more(coroutine.id)
            || callers.any(|id| {
                let caller = self.get(id);
                caller.is_some_and(|caller| self.may_wake_again(caller, coroutine))
            })
    }

    /// Whether the caller of an earlier wake may wake the coroutine again: the caller has not ended, and
    /// does not itself wait for that coroutine only.
    fn may_wake_again(&self, caller: &Coroutine, coroutine: &Coroutine) -> bool {
        let is_from_coroutine = caller
            .wakes
            .call
            .is_some_and(|call| call.may_be_from_coroutine);
        let waits_for_coroutine = caller.suspend().is_some()
            && is_from_coroutine
            && !self.callers.has_more(caller.id)
            && self.callers.of(caller.id).all(|id| id == coroutine.id);
        caller.is_alive() && !is_never_woken(caller) && !waits_for_coroutine
    }

    /// Whether only threads that run no coroutines have ended waits at the coroutine's site.
    pub(super) fn is_ended_by_helpers(&self, coroutine: &Coroutine) -> bool {
        let wait = coroutine.suspend();
        let stats = wait.and_then(|wait| self.site(wait.site, wait.wait));
        stats.is_some_and(SiteStats::are_ended_by_helpers)
    }

    /// Whether each wait at the coroutine's site was ended by a coroutine of its family, which returned
    /// what it had taken there, such as a permit.
    pub(super) fn are_ended_by_peers(
        &self,
        coroutine: &Coroutine,
        stats: &SiteStats,
        living: &Living,
    ) -> bool {
        let family = coroutine.family.unwrap_or_default();
        let number = self.places.find_number(stats.site, stats.wait);
        let are_peers = stats.all_waking_families() == Some(&[family]);
        let have_taken = living.is_complete(family, &self.families)
            || number.is_some_and(|number| living.have_visitors_ended(number, stats));
        are_peers && have_taken
    }

    /// The numbers of the sites from which at least every second run ended a wait at this site.
    pub(super) fn usual_origins(&self, stats: &SiteStats) -> Vec<u32> {
        let usual = stats
            .woken_from
            .usual(|site| self.places.get(site).waits.count());
        usual.collect()
    }
}
