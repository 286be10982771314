//! Coroutines that wait for room in channels that nothing empties.
//!
//! A program does not say which coroutine reads from a channel. But a sender wakes the reader, so the
//! readers of a waiting sender's channels are among the coroutines that it has woken. If none of these
//! can continue, neither can the sender: each waits for room itself, is stuck, is never woken again, waits
//! for a message that only such senders can send, or has turned away from the channel: it waits for
//! something else, far longer than ever before.

use std::collections::{BTreeMap, BTreeSet};

use super::TraceModel;
use super::coroutine::Coroutine;
use super::levels::past_of_coroutine;
use crate::hash::Map;
use crate::record::{CoroutineId, LeafKind, PollWakers, WakeCall, Waker};
use crate::verdict::{FullEvidence, Needs, WaitsFor, remaining};

/// For each coroutine, the coroutines that have woken it.
#[derive(Clone, Debug, Default)]
pub(super) struct Callers(Map<CoroutineId, KnownCallers>);

/// The coroutines that have woken a coroutine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct KnownCallers {
    first: [CoroutineId; Self::MAX_KNOWN],
    /// Whether other coroutines have woken the coroutine too.
    has_more: bool,
}

impl Callers {
    /// Takes a call of `wake()`. Threads without a coroutine do not count.
    #[inline]
    pub(super) fn note(&mut self, call: &WakeCall) {
        if let Waker::Coroutine(by) = call.by {
            self.0.entry(call.coroutine).or_default().note(by);
        }
    }

    pub(super) fn forget(&mut self, id: CoroutineId) {
        self.0.remove(&id);
    }

    /// Whether more coroutines have woken this coroutine than are distinguished.
    pub(super) fn has_more(&self, id: CoroutineId) -> bool {
        self.0.get(&id).is_some_and(|callers| callers.has_more)
    }

    /// Some coroutines that have woken this coroutine.
    pub(super) fn of(&self, id: CoroutineId) -> impl Iterator<Item = CoroutineId> {
        let callers = self.0.get(&id).into_iter();
        callers.flat_map(KnownCallers::known)
    }
}

impl KnownCallers {
    /// Maximum number of callers that are distinguished.
    const MAX_KNOWN: usize = 4;

    #[inline]
    fn note(&mut self, by: CoroutineId) {
        for known in &mut self.first {
            if known.0 == 0 {
                *known = by;
            }
            if *known == by {
                return;
            }
        }
        self.has_more = true;
    }

    /// The callers that are distinguished.
    fn known(&self) -> impl Iterator<Item = CoroutineId> {
        self.first.into_iter().filter(|id| id.0 != 0)
    }
}

/// For each coroutine, the coroutines that it has woken and that have not ended.
#[derive(Debug, Default)]
struct WokenCoroutines {
    known: Map<CoroutineId, Vec<CoroutineId>>,
    /// Coroutines that any coroutine may have woken.
    by_any: Vec<CoroutineId>,
}

impl WokenCoroutines {
    fn note(&mut self, woken: CoroutineId, callers: &KnownCallers) {
        if callers.has_more {
            self.by_any.push(woken);
            return;
        }
        for caller in callers.known() {
            self.known.entry(caller).or_default().push(woken);
        }
    }

    /// The coroutines that a coroutine may have woken, other than itself.
    fn of(&self, caller: CoroutineId) -> Vec<CoroutineId> {
        let known = self.known.get(&caller).into_iter().flatten();
        let all = known.chain(&self.by_any).copied();
        all.filter(|woken| *woken != caller).collect()
    }
}

/// For each coroutine that waits for room, those that it may have woken.
pub(super) type Senders = BTreeMap<CoroutineId, Vec<CoroutineId>>;

/// For each coroutine that waits for room in vain, the coroutine that it waits for.
pub(super) type FullChannels = Map<CoroutineId, FullEvidence>;

impl TraceModel {
    /// The coroutines that wait for room in channels which nothing empties, given that the coroutines in
    /// `stuck` are stuck.
    pub(super) fn full_channels(
        &self,
        senders: &Senders,
        stuck: &BTreeSet<CoroutineId>,
    ) -> FullChannels {
        let mut waits: WaitsFor = senders
            .iter()
            .filter_map(|(id, readers)| Some((*id, needs_any(readers)?)))
            .collect();
        let readers: BTreeSet<_> = senders.values().flatten().collect();
        for reader in readers.into_iter().filter_map(|id| self.get(*id)) {
            // A coroutine that is never woken again counts as waiting for itself.
            let is_over = is_never_woken(reader) || self.has_turned_away(reader);
            let needs = if is_over || stuck.contains(&reader.id) {
                needs_any(&[reader.id])
            } else {
                needs_any(&self.senders_to(reader))
            };
            waits.extend(needs.map(|needs| (reader.id, needs)));
        }
        let stay = remaining(&waits);
        let stuck = senders.iter().filter(|(id, _)| stay.contains(id));
        stuck
            .filter_map(|(id, readers)| Some((*id, self.full_evidence(*readers.first()?)?)))
            .collect()
    }

    /// The coroutines that wait for room, each with those that it may have woken.
    pub(super) fn senders(&self) -> Senders {
        let all = self.coroutines.all().iter();
        let alive: Vec<&Coroutine> = all.filter(|other| other.is_alive()).collect();
        let senders = alive.iter().copied();
        let senders: Vec<_> = senders
            .filter(|sender| self.leaf_kind(sender) == LeafKind::Room)
            .collect();
        if senders.is_empty() {
            return Senders::default();
        }
        let mut woken = WokenCoroutines::default();
        for other in &alive {
            if let Some(callers) = self.callers.0.get(&other.id) {
                woken.note(other.id, callers);
            }
        }
        senders
            .into_iter()
            .map(|sender| (sender.id, woken.of(sender.id)))
            .collect()
    }

    /// The coroutines that may send the message that a reader waits for. Empty if these are not all known
    /// and alive, or if the reader has not woken each of them before, as it does when it makes room.
    fn senders_to(&self, reader: &Coroutine) -> Vec<CoroutineId> {
        let callers = self.callers.0.get(&reader.id);
        let waits_for_message = self.leaf_kind(reader) == LeafKind::Message;
        let Some(callers) = callers.filter(|callers| waits_for_message && !callers.has_more) else {
            return Vec::new();
        };
        let known: Vec<CoroutineId> = callers.known().collect();
        let are_woken_by_reader = known.iter().all(|sender| {
            let woken_by = self.callers.0.get(sender);
            let is_by_reader =
                woken_by.is_some_and(|callers| callers.known().any(|caller| caller == reader.id));
            is_by_reader && self.get(*sender).is_some_and(Coroutine::is_alive)
        });
        if are_woken_by_reader {
            known
        } else {
            Vec::new()
        }
    }

    /// Whether a reader waits for a notification, far longer than it ever waited, at a place where no wait has
    /// ended. A reader that sleeps, or waits for I/O, a reply or a task, may come back to its channel when that
    /// is over.
    fn has_turned_away(&self, reader: &Coroutine) -> bool {
        let is_woken = reader.wakes_since_run().is_some_and(|wakes| 0 < wakes);
        let is_elsewhere = self.leaf_kind(reader) == LeafKind::Notification && !is_woken;
        let Some(wait) = reader.suspend().filter(|wait| {
            is_elsewhere && !wait.marks.idle && !wait.marks.has_others && reader.caveat().is_none()
        }) else {
            return false;
        };
        let stats = self.site(wait.site, wait.wait);
        let ends_here = stats.is_some_and(|stats| 0 < stats.waits.count());
        let far = past_of_coroutine(reader).far_beyond();
        let age = wait.at.until(self.end_of(reader.process));
        let has_branches = self.branches(reader.id).next().is_some();
        !ends_here && !has_branches && far.is_some_and(|far| far <= age)
    }

    fn full_evidence(&self, reader: CoroutineId) -> Option<FullEvidence> {
        let wait = self.get(reader)?.suspend()?;
        Some(FullEvidence {
            reader,
            since: wait.at,
        })
    }
}

fn needs_any(readers: &[CoroutineId]) -> Option<Needs> {
    (!readers.is_empty()).then(|| Needs {
        of: readers.to_vec(),
        all: false,
    })
}

/// Whether nothing can wake a coroutine: its latest poll registered no waker, and no wake has come since the
/// poll began.
pub(super) fn is_never_woken(coroutine: &Coroutine) -> bool {
    let wait = coroutine.suspend();
    wait.is_some_and(|wait| wait.marks.wakers == PollWakers::Unregistered)
        && coroutine.is_alive()
        && coroutine.wakes_since_run() == Some(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_callers_may_include_any() {
        let mut callers = KnownCallers::default();
        for id in [3, 3, 4, 5, 6] {
            callers.note(CoroutineId(id));
        }
        let known: Vec<u32> = callers.known().map(|id| id.0).collect();
        assert_eq!((known, callers.has_more), (vec![3, 4, 5, 6], false));
        callers.note(CoroutineId(8));
        assert!(callers.has_more);
    }
}
