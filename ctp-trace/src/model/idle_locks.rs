//! Locks that a coroutine holds while it waits for a message. An example is the lock of a queue that
//! workers share: one worker holds the lock while it waits for a job, and the others wait for the lock.

use std::collections::BTreeSet;

use super::TraceModel;
use super::coroutine::Coroutine;
use super::families::FamilyId;
use super::site::SiteStats;
use crate::record::{LeafKind, Nanos, ProcessId, SiteId};
use crate::verdict::ENOUGH;

/// Maximum number of first waits that are kept.
const MAX_FIRST: usize = 64;

/// The waits for messages.
#[derive(Clone, Debug, Default)]
pub(super) struct MessageWaits {
    /// Each place once.
    places: BTreeSet<MessageWait>,
    /// Waits at sites with few ended waits, where the usual site before the wait is unknown.
    first: Vec<FirstWait>,
}

/// A place where coroutines wait for messages, and the number of the site where they waited before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct MessageWait {
    process: ProcessId,
    site: SiteId,
    resumed_at: Option<u32>,
}

/// A wait for a message at a site where few waits have ended.
#[derive(Clone, Copy, Debug)]
struct FirstWait {
    process: ProcessId,
    family: FamilyId,
    /// The coroutine's last run.
    run: (Nanos, Nanos),
}

impl TraceModel {
    /// Whether a coroutine that may hold the awaited lock waits for a message. A coroutine may hold the
    /// lock in each of these cases:
    /// - Its last run began after a wait at the same site as this wait.
    /// - It waits where most runs begin that release the lock.
    /// - It waits at a site with few ended waits, and [`FirstWait::may_have_lock`] is true.
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
        let stats = self.places.get(number);
        let from = self.usual_origins(stats);
        let usual: Vec<SiteId> = from
            .iter()
            .map(|from| self.places.get(*from).site)
            .collect();
        let mut first = message_waits.first.iter();
        let mut places = message_waits.places.iter();
        places.any(|other| {
            let mut usual = usual.iter();
            let may_have_lock = other.resumed_at == Some(number)
                || usual.any(|from| self.lines.are_alike(other.site, *from));
            other.process == coroutine.process && may_have_lock
        }) || first.any(|first| first.may_have_lock(coroutine, stats))
    }

    /// The waits for messages.
    pub(super) fn message_waits(&self) -> MessageWaits {
        let all = self.coroutines.all().iter();
        let waiting = all.filter(|coroutine| {
            matches!(
                self.leaf_kind(coroutine),
                LeafKind::Message | LeafKind::TimeOrMessage
            )
        });
        let mut waits = MessageWaits::default();
        for coroutine in waiting {
            waits.places.extend(MessageWait::of(coroutine));
            let first = self.first_wait(coroutine);
            waits
                .first
                .extend(first.filter(|_| waits.first.len() < MAX_FIRST));
        }
        waits
    }

    /// The wait of the coroutine, if few waits have ended at its site.
    fn first_wait(&self, coroutine: &Coroutine) -> Option<FirstWait> {
        let wait = coroutine.suspend()?;
        let ended = self.site(wait.site, wait.wait)?.waits.count();
        (ended < ENOUGH).then_some(FirstWait {
            process: coroutine.process,
            family: coroutine.family?,
            run: (coroutine.waits.ran_at?, wait.at),
        })
    }
}

impl MessageWait {
    fn of(coroutine: &Coroutine) -> Option<Self> {
        Some(MessageWait {
            process: coroutine.process,
            site: coroutine.suspend()?.site,
            resumed_at: coroutine.waits.resumed_at(),
        })
    }
}

impl FirstWait {
    /// Whether the coroutine of this wait may have taken, in its last run, the lock that `waiter` wants.
    /// Its family must have released the lock before, `waiter` must have begun to wait after that run
    /// began, and no wait for the lock must have ended since the run. `stats` is the history of the
    /// waiter's site.
    fn may_have_lock(&self, waiter: &Coroutine, stats: &SiteStats) -> bool {
        let (began, ended) = self.run;
        let since = waiter.suspend().map_or(Nanos(0), |wait| wait.at);
        self.process == waiter.process
            && stats.waking_families.known().contains(&self.family)
            && began <= since
            && stats.latest_end <= ended
    }
}
