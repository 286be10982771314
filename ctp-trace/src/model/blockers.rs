//! Finds what blocks a waiting coroutine: the holder of a lock, or its last holder if the lock stayed
//! free; an awaited coroutine; the coroutine that would have to poll it; or a coroutine that it polls
//! itself.

use super::blocks::{Block, Blocker};
use super::coroutine::Coroutine;
use super::holds::{HeldResource, Holding};
use super::lock_queue::{FirstWaiters, is_lock};
use super::resources::closings::{self, Resource};
use super::{ProcessId, TraceModel};
use crate::hash::Map;
use crate::record::{CoroutineId, Event, Nanos, WaitKind, Waker};
use crate::verdict::{Caveat, caveat_of_others};

/// Indices of what coroutines may wait for.
pub(super) struct Others {
    /// Coroutines by the id that programs know.
    awaited: Map<(ProcessId, u64), CoroutineId>,
    /// Coroutines by the coroutine inside which they first ran.
    inside: Map<CoroutineId, Vec<CoroutineId>>,
    /// Resources that a woken coroutine may be about to acquire.
    claimed: Map<Resource, ()>,
    /// The first waiter of each lock.
    first_waiters: FirstWaiters,
}

impl TraceModel {
    /// Builds the indices.
    pub(super) fn others(&self) -> Others {
        Others {
            awaited: self.awaited().into_iter().collect(),
            inside: self.inside(),
            claimed: self.claimed(),
            first_waiters: self.first_waiters(),
        }
    }

    /// Coroutines by the id that programs know; empty if no coroutine waits for another.
    pub fn awaited(&self) -> Vec<((ProcessId, u64), CoroutineId)> {
        let all = self.coroutines.all();
        let mut waits = all.iter().filter_map(Coroutine::suspend);
        if !waits.any(|event| event.wait == WaitKind::Coroutine) {
            return Vec::new();
        }
        let alive = all
            .iter()
            .filter(|coroutine| coroutine.is_alive() && coroutine.probe_id != 0);
        alive
            .map(|alive| ((alive.process, alive.probe_id), alive.id))
            .collect()
    }

    /// For each coroutine, the coroutines that run inside it.
    fn inside(&self) -> Map<CoroutineId, Vec<CoroutineId>> {
        let mut inside = Map::<_, Vec<_>>::default();
        let alive = self
            .coroutines
            .all()
            .iter()
            .filter(|coroutine| coroutine.is_alive());
        for (host, id) in alive.filter_map(|coroutine| Some((coroutine.polls.host?, coroutine.id)))
        {
            inside.entry(host).or_default().push(id);
        }
        inside
    }

    /// What blocks the coroutine, if known to wait.
    pub(super) fn block(&self, coroutine: &Coroutine, others: &Others) -> Option<Block> {
        if coroutine.caveat().is_some() {
            return None;
        }
        let Some(wait) = coroutine.suspend() else {
            return self.running_around(coroutine, others);
        };
        let wake = coroutine.wake_evidence();
        if wake.is_some_and(|wake| wake.woken) {
            return self.unpolled(coroutine);
        }
        let (by, caveat) = match wait.wait {
            WaitKind::Coroutine => {
                let id = *others.awaited.get(&(coroutine.process, wait.arg))?;
                (
                    vec![Blocker::Awaited(id)],
                    self.caveat_since(coroutine, wait.at),
                )
            }
            WaitKind::Unknown => self.around(coroutine, wait, others)?,
            _ => self.held(coroutine, wait, others)?,
        };
        let of_wake = match wake {
            None => Some(Caveat::WakesNotRecorded),
            Some(wake) => wake.close_call.then_some(Caveat::CloseCall),
        };
        let caveat = of_wake
            .or(caveat)
            .or_else(|| caveat_of_others(wait.marks.has_others, coroutine.wakes.wakers))
            .or_else(|| self.host_of(coroutine).map(|_| Caveat::DroppedInside));
        Some(Block { by, caveat })
    }

    /// The coroutine inside which this coroutine first ran, if still alive.
    fn host_of(&self, coroutine: &Coroutine) -> Option<CoroutineId> {
        coroutine
            .polls
            .host
            .filter(|host| self.get(*host).is_some())
    }

    /// The blockers of a coroutine that records no wait of its own, but polls coroutines inside it.
    fn around(
        &self,
        coroutine: &Coroutine,
        wait: &Event,
        others: &Others,
    ) -> Option<(Vec<Blocker>, Option<Caveat>)> {
        let is_alone = coroutine.wakes.wakers == Some(1) && !wait.marks.has_others;
        let inside = others.inside.get(&coroutine.id).filter(|_| is_alone)?;
        if inside
            .iter()
            .any(|id| self.get(*id).is_some_and(Coroutine::is_woken))
        {
            return None;
        }
        let by = inside.iter().copied().map(Blocker::Inside).collect();
        Some((by, Some(Caveat::MayDrop)))
    }

    /// The blockers of a running coroutine that has polled others in this run: it may block its thread
    /// until they complete.
    fn running_around(&self, coroutine: &Coroutine, others: &Others) -> Option<Block> {
        let (since, tid) = (coroutine.runs_since()?, coroutine.last?.tid);
        let inside = others.inside.get(&coroutine.id)?.iter();
        let by: Vec<_> = inside
            .filter(|id| {
                let wait = self.get(**id).and_then(Coroutine::suspend);
                wait.is_some_and(|wait| wait.tid == tid && since <= wait.at)
            })
            .copied()
            .map(Blocker::Inside)
            .collect();
        (!by.is_empty()).then_some(Block {
            by,
            caveat: Some(Caveat::MayDrop),
        })
    }

    /// The blocker of a woken coroutine that runs inside another: the other has to poll it.
    fn unpolled(&self, coroutine: &Coroutine) -> Option<Block> {
        let host = self.host_of(coroutine)?;
        Some(Block {
            by: vec![Blocker::Host(host)],
            caveat: Some(Caveat::PolledInside),
        })
    }

    /// The holders of the awaited lock.
    fn held(
        &self,
        coroutine: &Coroutine,
        wait: &Event,
        others: &Others,
    ) -> Option<(Vec<Blocker>, Option<Caveat>)> {
        if !is_lock(wait.wait) {
            return None;
        }
        let resource = closings::resource(coroutine.process, wait.wait, wait.arg)?;
        let (held, first) = (
            self.holds.known(&resource)?,
            others.first_waiters.get(&resource),
        );
        if let Some(holding) = held.released_to(first) {
            let is_free = !others.claimed.contains_key(&resource);
            let is_match = is_free && self.is_recorded_since(coroutine, holding.at);
            return is_match.then(|| {
                (
                    vec![Blocker::PreviousHolder(holding)],
                    Some(Caveat::AcquiredUnrecorded),
                )
            });
        }
        let held = self.holds.get(&resource)?;
        if held
            .holders
            .iter()
            .any(|holder| self.may_be_released(holder))
        {
            return None;
        }
        let caveat = self.caveat_of_holders(coroutine, held);
        let ahead = first.filter(|(_, id)| held.is_read_only() && *id != coroutine.id);
        if let Some((_, id)) = ahead {
            let own = Waker::Coroutine(coroutine.id);
            let is_holder = held.holders.iter().any(|holder| holder.by == own);
            let by = Blocker::Ahead {
                first: *id,
                is_holder,
            };
            return Some((vec![by], caveat));
        }
        let mut holders = held.holders.clone();
        holders.dedup_by_key(|holder| holder.by); // a holder may acquire the lock again
        let by = holders.into_iter().map(Blocker::Holder).collect();
        Some((by, caveat))
    }

    /// Whether a release may be missing because recording was stopped. A holder that has not run since
    /// then cannot have released the lock.
    fn may_be_released(&self, holding: &Holding) -> bool {
        let last_ran = match (holding.ended, holding.by) {
            (Some(ended), _) => Some(ended),
            (None, Waker::Coroutine(id)) => self
                .get(id)
                .and_then(Coroutine::suspend)
                .map(|event| event.at),
            (None, _) => None,
        };
        let until = last_ran.unwrap_or(Nanos(u64::MAX));
        self.missing
            .filtering
            .was_stopped_between(holding.at, until)
    }

    /// Why the acquirers of a lock may not be its holders.
    fn caveat_of_holders(&self, coroutine: &Coroutine, held: &HeldResource) -> Option<Caveat> {
        let since = held.holders.iter().map(|holder| holder.at).min()?;
        match () {
            () if !self.is_recorded_since(coroutine, since) => Some(Caveat::Incomplete),
            () if self.extent.has_refused()
                && held.holders.iter().any(|holder| holder.ended.is_some()) =>
            {
                Some(Caveat::Incomplete)
            }
            () if held.shared && !held.is_read_only() => Some(Caveat::Shared),
            () if !self.holds.are_recorded(coroutine.process) => Some(Caveat::Moved),
            () if held.holders.iter().any(|holder| holder.is_left) => Some(Caveat::Moved),
            () => None,
        }
    }

    /// The caveat if records since this time may be missing.
    fn caveat_since(&self, coroutine: &Coroutine, since: Nanos) -> Option<Caveat> {
        let since = since.min(coroutine.state().1);
        let is_missing =
            !coroutine.account.is_closed() || self.missing.may_miss_unread_or_filtered_since(since);
        is_missing.then_some(Caveat::Incomplete)
    }

    /// Whether all records of locks since this time are in the trace.
    fn is_recorded_since(&self, coroutine: &Coroutine, since: Nanos) -> bool {
        let runners = self.runners.get(coroutine.process);
        self.caveat_since(coroutine, since).is_none()
            && !self.missing.losses.any_since(coroutine.process, since)
            && self.window().is_none()
            && !self.holds.has_forgotten
            && runners.is_none_or(|runners| !runners.has_unrecorded)
    }

    /// Resources that woken coroutines may be about to acquire: these coroutines have been polled, or
    /// have run, since they waited.
    fn claimed(&self) -> Map<Resource, ()> {
        let all = self.coroutines.all().iter();
        all.filter_map(|coroutine| {
            let (wait, arg) = match (coroutine.suspend(), coroutine.waits.resumed_by()) {
                (Some(wait), _) if self.may_go_on(coroutine) => (wait.wait, wait.arg),
                (None, Some(resumed)) => resumed,
                _ => return None,
            };
            Some((closings::resource(coroutine.process, wait, arg)?, ()))
        })
        .collect()
    }

    /// Whether the coroutine may continue: it was woken, and is not inside a coroutine that does not
    /// continue.
    fn may_go_on(&self, coroutine: &Coroutine) -> bool {
        let host = coroutine.polls.host.and_then(|host| self.get(host));
        let is_polled = host.is_none_or(|host| host.suspend().is_none() || host.is_woken());
        let is_known = coroutine.caveat().is_none() && coroutine.wake_evidence().is_some();
        !is_known || coroutine.is_woken() && is_polled
    }
}

impl Coroutine {
    /// Whether the coroutine waits, and was woken since its last run began.
    fn is_woken(&self) -> bool {
        self.wake_evidence().is_some_and(|wake| wake.woken)
    }
}
