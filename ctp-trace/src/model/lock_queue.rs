//! The queue of a lock: which coroutine waits first, and which continued without a record of an acquire.

use super::TraceModel;
use super::coroutine::Coroutine;
use super::holds::{HeldResource, Holding, Holds};
use super::resources::closings::{self, Resource};
use crate::hash::Map;
use crate::record::{CoroutineId, Event, EventKind, Nanos, WaitKind};

/// For each lock, the coroutine that has waited longest of those that were not woken.
pub(super) type FirstWaiters = Map<Resource, (Nanos, CoroutineId)>;

/// The end of waits for a lock, as far as no acquire was recorded for them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SilentWaiters {
    /// A waiter that was woken by the release continued without a record of an acquire. So the program
    /// does not record each holder.
    took_lock: bool,
    /// A waiter continued for another reason, and may have left a future in the queue.
    left_future: bool,
}

impl TraceModel {
    /// The first waiter of each lock.
    pub(super) fn first_waiters(&self) -> FirstWaiters {
        let mut first = FirstWaiters::default();
        for coroutine in self.coroutines.all() {
            let Some(resource) = coroutine.awaited_lock() else {
                continue;
            };
            let own = (coroutine.waits.wants_since, coroutine.id);
            let earliest = first.entry(resource).or_insert(own);
            *earliest = own.min(*earliest);
        }
        first
    }
}

impl Coroutine {
    /// The lock that the coroutine waits for, if it was not woken.
    fn awaited_lock(&self) -> Option<Resource> {
        let wait = self.suspend().filter(|wait| is_lock(wait.wait))?;
        let is_woken = self.wake_evidence().is_some_and(|wake| wake.woken);
        let lock = closings::resource(self.process, wait.wait, wait.arg);
        lock.filter(|_| !is_woken && self.caveat().is_none())
    }

    /// The lock that the coroutine waited for before the run that ends with this event, if it waits for
    /// something else now and has not acquired the lock.
    fn silently_left(&self, event: &Event) -> Option<Resource> {
        let is_end_of_run = matches!(event.kind, EventKind::Suspend | EventKind::Death)
            && self.last.is_some_and(|last| last.kind == EventKind::Run);
        let (wait, arg) = self.waits.resumed_by().filter(|_| is_end_of_run)?;
        let is_same = event.kind == EventKind::Suspend && (event.wait, event.arg) == (wait, arg);
        let lock = closings::resource(self.process, wait, arg);
        lock.filter(|_| is_lock(wait) && !is_same)
    }

    /// Whether the release may have led to the run that ends now: the wake did not come earlier, nor from
    /// another thread.
    fn may_be_woken_by(&self, release: &Holding) -> bool {
        self.wakes
            .call
            .is_none_or(|call| release.at <= call.at && call.tid == release.tid)
    }
}

impl Holds {
    /// Takes the end of a run, which may follow a wait for a lock.
    pub(super) fn note_end_of_run(&mut self, coroutine: &Coroutine, event: &Event) {
        let Some(held) = coroutine
            .silently_left(event)
            .and_then(|lock| self.held(&lock))
        else {
            return;
        };
        match held.given {
            Some(release) if coroutine.may_be_woken_by(&release) => held.silent.took_lock = true,
            _ => held.silent.left_future = true,
        }
    }
}

impl HeldResource {
    /// The last holder, if the lock was released to a waiter that has not acquired it since. Without a
    /// waiter at the time of the release, a holder that records nothing has taken the lock since.
    pub(super) fn released_to(&self, first: Option<&(Nanos, CoroutineId)>) -> Option<Holding> {
        let release = self.given.filter(|_| !self.silent.took_lock)?;
        let is_waited_for = first.is_some_and(|(since, _)| *since <= release.at);
        (is_waited_for || self.silent.left_future).then_some(release)
    }

    /// Whether all holders said that others may hold the lock at the same time.
    pub(super) fn is_read_only(&self) -> bool {
        self.holders.iter().all(|holder| holder.shared)
    }
}

/// Whether the wait may be for a lock. A wait for a channel at the address of a lock is not.
pub(super) fn is_lock(wait: WaitKind) -> bool {
    matches!(wait, WaitKind::Lock | WaitKind::User)
}
