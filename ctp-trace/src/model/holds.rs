//! Which coroutine or thread holds which lock, according to the records.
//!
//! Uncertain holders are left out: a missing holder makes no coroutine stuck, but a wrong one would.
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

/// Maximum number of locks that are held at once. A program beyond this does not report its releases.
const MOST: usize = 1 << 20;

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
    /// Another coroutine may have the lock by now. Either the holder ended inside that coroutine, or it
    /// was dropped on another thread than the one on which it ran.
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
    of: Map<Resource, Held>,
    /// How often each coroutine holds each resource.
    own: BTreeMap<(CoroutineId, Resource), usize>,
    /// Coroutines with a lock that another coroutine or thread released. Either they end now, or the lock was
    /// handed over.
    released_elsewhere: Map<CoroutineId, ProcessId>,
    /// Processes in which locks are handed over without a record.
    moved: Map<ProcessId, ()>,
    /// The number of resources above which free resources are forgotten.
    limit: usize,
    /// There were very many holders, of which the earlier ones were forgotten.
    pub(super) forgotten: bool,
}

/// The holders of a resource.
#[derive(Clone, Debug, Default)]
pub(super) struct Held {
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
pub(super) struct Holders<'a> {
    /// The holders that are recorded.
    pub holders: &'a [Holding],
    /// There are no others.
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
        let is_own = |holding: &Holding| holding.by == hold.by && holding.at <= thread_event.at;
        if let Some(own) = held.holders.iter().rposition(is_own) {
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
            self.given_back_by(hold.by, &holding, thread_event.process);
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
            let is_taken = |last: Event| last.kind == EventKind::Run && last.tid != event.tid;
            let is_left = coroutine.polls.host.is_some() || coroutine.last.is_some_and(is_taken);
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

    /// The coroutine is no longer responsible for the resources that it holds.
    fn forget(&mut self, id: CoroutineId) {
        let resources: Vec<_> = self.resources_of(id).collect();
        for resource in resources {
            self.own.remove(&(id, resource));
        }
    }

    pub(super) fn get(&self, resource: &Resource) -> Option<&Held> {
        let held = self.of.get(resource)?;
        let is_recorded = held.others == 0 && !held.holders.is_empty();
        is_recorded.then_some(held)
    }

    /// What is known of the resource, whether it is held or not.
    pub(super) fn known(&self, resource: &Resource) -> Option<&Held> {
        self.of.get(resource)
    }

    pub(super) fn held(&mut self, resource: &Resource) -> Option<&mut Held> {
        self.of.get_mut(resource)
    }

    /// The holders of the resource, even if some are unknown. `None` if no acquire is recorded.
    pub(super) fn all_holders(&self, resource: &Resource) -> Option<Holders<'_>> {
        let held = self.of.get(resource)?;
        Some(Holders {
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

    /// A lock was released by another coroutine or thread than the one that acquired it. If the acquirer
    /// ends next, it was dropped along with the lock; otherwise the lock was handed over.
    fn given_back_by(&mut self, by: Waker, holding: &Holding, process: ProcessId) {
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
        if MOST <= self.of.len() {
            self.of.clear();
            self.own.clear();
            self.forgotten = true;
        }
        self.limit = MOST.min(2 * self.of.len());
    }
}

impl Held {
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
mod tests {
    use super::*;

    const LOCK: u64 = 0x1000;

    fn waker_of(id: u32) -> Waker {
        Waker::Coroutine(CoroutineId(id))
    }

    fn reported(at: u64, arg: u64, by: Waker) -> (ThreadEvent, Hold) {
        let thread_event = ThreadEvent {
            at: Nanos(at),
            ..ThreadEvent::default()
        };
        let hold = Hold {
            wait: WaitKind::Lock,
            arg,
            by,
            ..Hold::default()
        };
        (thread_event, hold)
    }

    fn takes(holds: &mut Holds, at: u64, by: Waker) {
        let (thread_event, hold) = reported(at, LOCK, by);
        holds.acquire(&thread_event, &hold, None);
    }

    fn gives(holds: &mut Holds, at: u64, by: Waker) {
        let (thread_event, hold) = reported(at, LOCK, by);
        holds.release(&thread_event, &hold, NameId::default());
    }

    fn happens(holds: &mut Holds, id: u32, at: u64, kind: EventKind) {
        let event = Event {
            coroutine: CoroutineId(id),
            at: Nanos(at),
            kind,
            ..Event::default()
        };
        holds.event(&Coroutine::named(CoroutineId(id)), &event);
    }

    fn holders(holds: &Holds) -> Vec<(Waker, u64)> {
        let held = holds.get(&(ProcessId(0), WaitKind::Lock, LOCK));
        let all = held.into_iter().flat_map(|held| &held.holders);
        all.map(|holding| (holding.by, holding.at.0)).collect()
    }

    #[test]
    fn last_acquirer_holds_lock_despite_late_records() {
        let mut holds = Holds::default();
        takes(&mut holds, 10, waker_of(1));
        takes(&mut holds, 30, waker_of(2));
        gives(&mut holds, 20, waker_of(1));
        assert_eq!(holders(&holds), [(waker_of(2), 30)]);
        gives(&mut holds, 40, waker_of(2));
        takes(&mut holds, 35, waker_of(3));
        assert_eq!(holders(&holds), [], "that is over");
    }

    #[test]
    fn reentrant_lock_needs_equally_many_releases() {
        let mut holds = Holds::default();
        takes(&mut holds, 10, waker_of(1));
        takes(&mut holds, 11, waker_of(1));
        gives(&mut holds, 12, waker_of(1));
        assert_eq!(holders(&holds), [(waker_of(1), 10)]);
        let held = holds.get(&(ProcessId(0), WaitKind::Lock, LOCK));
        assert!(!held.unwrap().shared);
    }

    #[test]
    fn lock_stays_shared_until_free() {
        let mut holds = Holds::default();
        let is_shared = |holds: &Holds| {
            let held = holds.get(&(ProcessId(0), WaitKind::Lock, LOCK));
            held.is_some_and(|held| held.shared)
        };
        takes(&mut holds, 10, waker_of(1));
        takes(&mut holds, 11, waker_of(2));
        gives(&mut holds, 12, waker_of(1));
        assert!(is_shared(&holds));
        gives(&mut holds, 13, waker_of(2));
        takes(&mut holds, 14, waker_of(3));
        assert!(!is_shared(&holds));
    }

    #[test]
    fn too_many_holders_are_not_reported() {
        let mut holds = Holds::default();
        let ids = 1..=100_000;
        ids.clone()
            .for_each(|id| takes(&mut holds, id.into(), waker_of(id)));
        assert_eq!(holders(&holds), []);
        ids.clone()
            .for_each(|id| gives(&mut holds, 200_000, waker_of(id)));
        takes(&mut holds, 200_001, waker_of(7));
        assert_eq!(holders(&holds), [(waker_of(7), 200_001)]);
        assert!(holds.are_recorded(ProcessId(0)) && holds.own.len() == 1);
    }

    #[test]
    fn many_deaths_with_a_lock_are_fast() {
        let mut holds = Holds::default();
        for id in 1..=100_000 {
            let (thread_event, hold) = reported(1, u64::from(id) << 32, waker_of(id));
            holds.acquire(&thread_event, &hold, None);
            happens(&mut holds, id, 2, EventKind::Death);
        }
        let ended = holds.of.values().flat_map(|held| &held.holders);
        assert_eq!(ended.filter(|ended| ended.ended.is_some()).count(), 100_000);
    }

    #[test]
    fn lock_released_elsewhere_is_moved_unless_acquirer_dies() {
        let mut holds = Holds::default();
        takes(&mut holds, 10, waker_of(1));
        gives(&mut holds, 11, Waker::Thread(7));
        happens(&mut holds, 1, 12, EventKind::Death);
        assert!(holds.are_recorded(ProcessId(0)), "it was dropped");
        takes(&mut holds, 20, waker_of(2));
        gives(&mut holds, 21, waker_of(3));
        happens(&mut holds, 2, 22, EventKind::Run);
        assert!(!holds.are_recorded(ProcessId(0)));
        assert!(holds.are_recorded(ProcessId(1)));
    }

    #[test]
    fn lock_released_after_acquirer_death_is_moved() {
        let mut holds = Holds::default();
        takes(&mut holds, 10, waker_of(1));
        happens(&mut holds, 1, 12, EventKind::Death);
        let ended = |holds: &Holds| {
            let held = holds.get(&(ProcessId(0), WaitKind::Lock, LOCK));
            held.and_then(|held| held.holders[0].ended)
        };
        assert_eq!(ended(&holds), Some(Nanos(12)));
        gives(&mut holds, 20, waker_of(3));
        assert!(!holds.are_recorded(ProcessId(0)));
    }

    #[test]
    fn returned_guard_has_unknown_holder() {
        let mut holds = Holds::default();
        takes(&mut holds, 10, waker_of(1));
        let death = Event {
            coroutine: CoroutineId(1),
            at: Nanos(12),
            kind: EventKind::Death,
            arg: 1,
            ..Event::default()
        };
        holds.event(&Coroutine::named(CoroutineId(1)), &death);
        assert_eq!(holders(&holds), [(Waker::Foreign, 10)]);
        gives(&mut holds, 20, waker_of(3));
        assert_eq!(holders(&holds), []);
        assert!(
            holds.are_recorded(ProcessId(0)),
            "that is no other than was told"
        );
    }

    #[test]
    fn million_locks_are_bounded_and_held_locks_stay() {
        let mut holds = Holds::default();
        takes(&mut holds, 1, waker_of(1));
        for at in 2..1_000_000 {
            let (thread_event, hold) = reported(at, at << 32, waker_of(2));
            holds.acquire(&thread_event, &hold, None);
            holds.release(&thread_event, &hold, NameId::default());
        }
        assert!(holds.of.len() <= 2 * ROOM && !holds.forgotten);
        assert_eq!(holders(&holds), [(waker_of(1), 1)]);
        for at in 2..2_000_000 {
            let (thread_event, hold) = reported(at, at << 32, waker_of(2));
            holds.acquire(&thread_event, &hold, None);
        }
        assert!(holds.of.len() <= MOST && holds.forgotten);
    }
}
