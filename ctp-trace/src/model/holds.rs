//! Which coroutine or thread holds which lock, according to the records.
//!
//! Uncertain holders are left out: a missing holder makes no coroutine stuck, but a wrong holder would.
//! Records of different threads may be out of order in time.

use std::collections::BTreeMap;

use super::coroutine::Coroutine;
use super::lock_queue::SilentWaiters;
use super::names::NameId;
use super::resources::closings::{self, Resource};
use crate::hash::Map;
use crate::record::{
    CoroutineId, Event, EventKind, Hold, Nanos, ProcessId, SiteId, ThreadEvent, WaitKind, Waker,
};
use crate::verdict::TurnEvidence;

/// How many free resources are remembered.
const ROOM: usize = 1 << 14;

/// Maximum number of locks that are held at once. A program that exceeds this number does not report its
/// releases.
const MAX_LOCKS: usize = 1 << 20;

/// How many acquires of one lock are kept separately. Beyond this number, no holder is reported.
const SEPARATE: usize = 16;

/// An acquired lock that has not been released.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Holding {
    /// The holder.
    pub by: Waker,
    /// When the lock was acquired.
    pub at: Nanos,
    /// The thread of the acquire.
    pub tid: u64,
    /// The site of the acquire; 0 if unknown.
    pub site: SiteId,
    /// Others may hold the lock at the same time.
    pub shared: bool,
    /// When the holder ended; `None` if alive.
    pub ended: Option<Nanos>,
    /// The holder's name, if the holder has ended or released the lock.
    pub name: NameId,
    /// Another coroutine may have the lock by now. Either the holder ended inside that coroutine, or the
    /// holder was dropped on another thread than the thread on which it ran.
    pub(super) is_left: bool,
}

impl Holding {
    fn of(thread_event: &ThreadEvent, hold: &Hold) -> Self {
        Holding {
            by: hold.by,
            at: thread_event.at,
            tid: thread_event.tid,
            site: hold.site,
            shared: hold.shared,
            ..Holding::default()
        }
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Holds {
    of: Map<Resource, HeldResource>,
    /// How often each coroutine holds each resource.
    own: BTreeMap<(CoroutineId, Resource), usize>,
    /// Coroutines with a lock that another coroutine or thread released. Either they end now, or the lock was
    /// handed over.
    released_elsewhere: Map<CoroutineId, ProcessId>,
    /// Processes in which locks are handed over without a record.
    moved: Map<ProcessId, ()>,
    /// The number of resources above which free resources are forgotten.
    limit: usize,
    /// There were too many holders, and the earlier holders were forgotten.
    pub(super) has_forgotten: bool,
}

/// The holders of a resource.
#[derive(Clone, Debug, Default)]
pub(super) struct HeldResource {
    pub holders: Vec<Holding>,
    /// The resource has had several holders at once since it was last free.
    pub shared: bool,
    /// Acquires beyond those kept separately, not yet released.
    others: usize,
    /// When the resource was last released or closed.
    free_at: Nanos,
    /// The last release, if the resource has not been acquired since.
    pub(super) given: Option<Holding>,
    /// How waits for the resource ended without a record of an acquire.
    pub(super) silent: SilentWaiters,
    /// How the resource has changed hands.
    pub turn: TurnEvidence,
}

/// The present holders of a resource.
#[derive(Clone, Copy, Debug)]
pub(super) struct PresentHolders<'a> {
    /// The holders that are recorded.
    pub holders: &'a [Holding],
    /// Whether these are all holders.
    pub are_known: bool,
    /// The resource has had several holders at once since it was last free.
    pub are_several: bool,
}

impl Holds {
    /// Takes an acquire. `waited_since` is the start of the wait of the acquirer, if any.
    pub(super) fn acquire(
        &mut self,
        thread_event: &ThreadEvent,
        hold: &Hold,
        waited_since: Option<Nanos>,
    ) {
        let Some(resource) = closings::resource(thread_event.process, hold.wait, hold.arg) else {
            return;
        };
        self.make_room();
        let held = self.of.entry(resource).or_default();
        held.turn
            .take(thread_event.at, waited_since.unwrap_or(thread_event.at));
        if thread_event.at < held.free_at {
            return; // a late record of a lock that is free again
        }
        held.given = None;
        held.shared |= held.holders.iter().any(|other| other.by != hold.by);
        if held.holders.len() == SEPARATE {
            held.others += 1;
            return;
        }
        held.holders.push(Holding::of(thread_event, hold));
        self.count(hold.by, resource, 1);
    }

    /// Takes a release. `name` is the name of the releasing coroutine.
    pub(super) fn release(&mut self, thread_event: &ThreadEvent, hold: &Hold, name: NameId) {
        let Some(resource) = closings::resource(thread_event.process, hold.wait, hold.arg) else {
            return;
        };
        let Some(held) = self.of.get_mut(&resource) else {
            return;
        };
        held.free_at = held.free_at.max(thread_event.at);
        let mut holders = held.holders.iter();
        let own =
            holders.rposition(|holding| holding.by == hold.by && holding.at <= thread_event.at);
        if let Some(own) = own {
            held.holders.remove(own);
            held.shared &= !held.is_free();
            held.given = held.is_free().then(|| Holding {
                name,
                ..Holding::of(thread_event, hold)
            });
            return self.count(hold.by, resource, -1);
        }
        if 0 < held.others {
            held.others -= 1;
            held.shared &= !held.is_free();
            return;
        }
        for holding in held.take_those_until(thread_event.at) {
            self.count(holding.by, resource, -1);
            self.released_by(hold.by, &holding, thread_event.process);
        }
    }

    /// Removes the holders of a closed resource.
    pub(super) fn close(&mut self, at: Nanos, resource: Resource) {
        let Some(held) = self.of.get_mut(&resource) else {
            return;
        };
        held.free_at = held.free_at.max(at);
        (held.others, held.given) = (0, None);
        let removed = held.take_those_until(at);
        removed
            .iter()
            .for_each(|holding| self.count(holding.by, resource, -1));
    }

    /// Takes an event of a coroutine, which may affect locks that it holds.
    #[inline]
    pub(super) fn event(&mut self, coroutine: &Coroutine, event: &Event) {
        if !(self.own.is_empty() && self.released_elsewhere.is_empty()) {
            self.happened(coroutine, event);
        }
        if !self.of.is_empty() {
            self.note_end_of_run(coroutine, event);
        }
    }

    fn happened(&mut self, coroutine: &Coroutine, event: &Event) {
        let (id, is_over) = (event.coroutine, event.kind == EventKind::Death);
        if let Some(process) = self.released_elsewhere.remove(&id)
            && !is_over
        {
            self.moved.insert(process, ());
        }
        if is_over && event.gives_out() {
            self.all_of(id, |holding| holding.by = Waker::Foreign);
            self.forget(id);
        } else if is_over {
            let is_left = coroutine.polls.host.is_some()
                || coroutine
                    .last
                    .is_some_and(|last| last.kind == EventKind::Run && last.tid != event.tid);
            self.all_of(id, |holding| {
                (holding.ended, holding.name, holding.is_left) =
                    (Some(event.at), coroutine.name, is_left);
            });
        }
    }

    /// The resources that the coroutine holds.
    fn resources_of(&self, id: CoroutineId) -> impl Iterator<Item = Resource> {
        let first = (ProcessId(0), WaitKind::default(), 0);
        let from_resource = self.own.range((id, first)..);
        let own = from_resource.take_while(move |((of, _), _)| *of == id);
        own.map(|((_, resource), _)| *resource)
    }

    fn all_of(&mut self, id: CoroutineId, change: impl Fn(&mut Holding)) {
        let resources: Vec<_> = self.resources_of(id).collect();
        for resource in resources {
            let held = self.of.get_mut(&resource).into_iter();
            let holdings = held.flat_map(|held| &mut held.holders);
            holdings
                .filter(|holding| holding.by == Waker::Coroutine(id))
                .for_each(&change);
        }
    }

    /// Forgets which resources the coroutine holds, so that its end no longer affects them.
    fn forget(&mut self, id: CoroutineId) {
        let resources: Vec<_> = self.resources_of(id).collect();
        for resource in resources {
            self.own.remove(&(id, resource));
        }
    }

    pub(super) fn get(&self, resource: &Resource) -> Option<&HeldResource> {
        let held = self.of.get(resource)?;
        let is_recorded = held.others == 0 && !held.holders.is_empty();
        is_recorded.then_some(held)
    }

    /// What is known of the resource, whether it is held or not.
    pub(super) fn known(&self, resource: &Resource) -> Option<&HeldResource> {
        self.of.get(resource)
    }

    pub(super) fn held(&mut self, resource: &Resource) -> Option<&mut HeldResource> {
        self.of.get_mut(resource)
    }

    /// The holders of the resource, even if some are unknown. `None` if no acquire is recorded.
    pub(super) fn all_holders(&self, resource: &Resource) -> Option<PresentHolders<'_>> {
        let held = self.of.get(resource)?;
        Some(PresentHolders {
            holders: &held.holders,
            are_known: held.others == 0,
            are_several: held.shared || 0 < held.others,
        })
    }

    /// How the resource has changed hands.
    pub(super) fn turn(&self, resource: &Resource) -> Option<TurnEvidence> {
        self.of.get(resource).map(|held| held.turn)
    }

    /// Whether the acquirer of a lock is known to be its holder.
    pub(super) fn are_recorded(&self, process: ProcessId) -> bool {
        !self.moved.contains_key(&process)
    }

    /// Notes that a lock was released by another coroutine or thread than its acquirer. If the acquirer ends next,
    /// it was dropped along with the lock; otherwise the lock was handed over.
    fn released_by(&mut self, by: Waker, holding: &Holding, process: ProcessId) {
        match holding.by {
            _ if by == Waker::Foreign || holding.by == Waker::Foreign => {}
            Waker::Coroutine(id) if holding.ended.is_none() => {
                self.released_elsewhere.insert(id, process);
            }
            _ => {
                self.moved.insert(process, ());
            }
        }
    }

    fn count(&mut self, by: Waker, resource: Resource, more: isize) {
        let Waker::Coroutine(id) = by else { return };
        let count = self.own.entry((id, resource)).or_default();
        *count = count.saturating_add_signed(more);
        if *count == 0 {
            self.own.remove(&(id, resource));
        }
    }

    fn make_room(&mut self) {
        if self.of.len() < self.limit.max(ROOM) {
            return;
        }
        self.of.retain(|_, held| !held.is_free());
        if MAX_LOCKS <= self.of.len() {
            self.of.clear();
            self.own.clear();
            self.has_forgotten = true;
        }
        self.limit = MAX_LOCKS.min(2 * self.of.len());
    }
}

impl HeldResource {
    fn is_free(&self) -> bool {
        self.holders.is_empty() && self.others == 0
    }

    fn take_those_until(&mut self, at: Nanos) -> Vec<Holding> {
        let holders = std::mem::take(&mut self.holders);
        let (removed, rest) = holders
            .into_iter()
            .partition(|holder: &Holding| holder.at <= at);
        self.holders = rest;
        self.shared &= !self.is_free();
        removed
    }
}

#[cfg(test)]
mod tests;
