//! Whether what a coroutine waits for may still come, although other waits at its line have ended since.

use std::collections::BTreeSet;

use super::TraceModel;
use super::coroutine::Coroutine;
use super::families::FamilyId;
use super::full_channels::is_never_woken;
use super::living::Living;
use super::site::SiteStats;
use crate::record::{CoroutineId, LeafKind, ProcessId, SiteId};

/// Where coroutines wait for messages.
#[derive(Clone, Debug, Default)]
pub(super) struct MessageWaits(BTreeSet<MessageWait>);

/// A place where coroutines wait for messages, and the number of the site where they waited before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct MessageWait {
    process: ProcessId,
    site: SiteId,
    resumed_at: Option<u32>,
}

impl TraceModel {
    /// The families of coroutines that have ended waits where this coroutine waits, as far as they are
    /// distinguished.
    pub fn families_of_wakers(&self, coroutine: &Coroutine) -> &[FamilyId] {
        let wait = coroutine.suspend();
        let stats = wait.and_then(|wait| self.site(wait.site, wait.wait));
        stats.map_or(&[], |stats| stats.givers.known())
    }

    /// Whether a thread without a coroutine, or a coroutine that may continue, has woken the coroutine
    /// before.
    pub(super) fn has_giver(&self, coroutine: &Coroutine) -> bool {
        let Some(call) = coroutine.wakes.call else {
            return false;
        };
        let may_give = |id: CoroutineId| {
            self.get(id)
                .is_some_and(|giver| self.may_give(giver, coroutine))
        };
        !call.may_be_from_coroutine
            || self.callers.has_more(coroutine.id)
            || self.callers.of(coroutine.id).any(may_give)
    }

    /// Whether the giver may wake the coroutine again: it has not ended, and does not wait for that
    /// coroutine only.
    fn may_give(&self, giver: &Coroutine, coroutine: &Coroutine) -> bool {
        let is_from_coroutine = giver
            .wakes
            .call
            .is_some_and(|call| call.may_be_from_coroutine);
        let is_of_this = |id: CoroutineId| id == coroutine.id;
        let waits_for_this = giver.suspend().is_some()
            && is_from_coroutine
            && !self.callers.has_more(giver.id)
            && self.callers.of(giver.id).all(is_of_this);
        giver.is_alive() && !is_never_woken(giver) && !waits_for_this
    }

    /// Whether each wait at the coroutine's site was ended by a coroutine of its family, which gives what
    /// it has taken there.
    pub(super) fn are_ended_by_peers(
        &self,
        coroutine: &Coroutine,
        stats: &SiteStats,
        living: &Living,
    ) -> bool {
        let family = coroutine.family.unwrap_or_default();
        let number = self.places.find_number(stats.site, stats.wait);
        let are_peers = stats.all_givers() == Some(&[family]);
        let take = living.is_complete(family, &self.families)
            || number.is_some_and(|number| living.have_visitors_ended(number, stats));
        are_peers && take
    }

    /// Whether a coroutine that may have the awaited lock waits for a message, as a worker does that keeps
    /// the lock of a shared queue while it waits for its next job. It went on from a wait at the same site,
    /// or waits where most runs begin that release the lock.
    pub(super) fn is_held_while_idle(
        &self,
        coroutine: &Coroutine,
        message_waits: &MessageWaits,
    ) -> bool {
        let wait = coroutine.suspend();
        let number = wait.and_then(|wait| self.places.find_number(wait.site, wait.wait));
        let Some(number) = number else {
            return false;
        };
        let from = self.usual_origins(self.places.get(number));
        let is_usual =
            |site: SiteId, from: &u32| self.lines.are_alike(site, self.places.get(*from).site);
        message_waits.0.iter().any(|other| {
            let may_have_lock = other.resumed_at == Some(number)
                || from.iter().any(|from| is_usual(other.site, from));
            other.process == coroutine.process && may_have_lock
        })
    }

    /// The waits for messages, each place once.
    pub(super) fn message_waits(&self) -> MessageWaits {
        let all = self.coroutines.all().iter();
        let waiting = all.filter(|coroutine| self.leaf_kind(coroutine) == LeafKind::Message);
        let places = waiting.filter_map(|coroutine| {
            Some(MessageWait {
                process: coroutine.process,
                site: coroutine.suspend()?.site,
                resumed_at: coroutine.waits.resumed_at(),
            })
        });
        MessageWaits(places.collect())
    }

    /// The numbers of the sites from which at least every second run ended a wait at this site.
    pub(super) fn usual_origins(&self, stats: &SiteStats) -> Vec<u32> {
        let waits = |site: u32| self.places.get(site).waits.count();
        stats.woken_from.usual(waits).collect()
    }
}
