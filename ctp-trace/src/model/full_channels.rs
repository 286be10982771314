//! Coroutines that wait for room in channels that nothing empties.
//!
//! A program does not say which coroutine reads from a channel. But a sender wakes the reader, so the
//! readers of a waiting sender's channels are among the coroutines that it has woken. If none of these
//! can continue, because each waits for room itself or is never woken again, neither can the sender.

use super::TraceModel;
use super::coroutine::Coroutine;
use crate::hash::Map;
use crate::record::{CoroutineId, LeafKind, PollWakers, WakeCall, Waker};
use crate::verdict::{FullEvidence, Needs, WaitsFor, remaining};

/// For each coroutine, those that have woken it.
#[derive(Clone, Debug, Default)]
pub(super) struct Callers(Map<CoroutineId, KnownCallers>);

/// The coroutines that have woken a coroutine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct KnownCallers {
    first: [CoroutineId; Self::MAX_KNOWN],
    /// More coroutines than these have woken the coroutine.
    more: bool,
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
        self.more = true;
    }

    /// The callers that are distinguished.
    fn known(&self) -> impl Iterator<Item = CoroutineId> {
        self.first.into_iter().filter(|id| id.0 != 0)
    }
}

/// Which coroutines each coroutine has woken that have not ended.
#[derive(Debug, Default)]
struct WokenBy {
    known: Map<CoroutineId, Vec<CoroutineId>>,
    /// Coroutines that any coroutine may have woken.
    by_any: Vec<CoroutineId>,
}

impl WokenBy {
    fn note(&mut self, woken: CoroutineId, callers: &KnownCallers) {
        if callers.more {
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

/// For each coroutine that waits for room in a channel that nothing empties, a reader of the channel.
pub(super) type FullChannels = Map<CoroutineId, FullEvidence>;

impl TraceModel {
    /// The coroutines that wait for room in channels that nothing empties.
    pub(super) fn full_channels(&self) -> FullChannels {
        let senders = self.senders();
        let mut waits: WaitsFor = senders
            .iter()
            .filter_map(|(id, readers)| Some((*id, needs_any(readers)?)))
            .collect();
        let resting = self
            .coroutines
            .all()
            .iter()
            .filter(|other| is_never_woken(other));
        // A coroutine that is never woken again waits for itself.
        waits.extend(resting.filter_map(|other| Some((other.id, needs_any(&[other.id])?))));
        let stay = remaining(&waits);
        let stuck = senders.iter().filter(|(id, _)| stay.contains(id));
        stuck
            .filter_map(|(id, readers)| Some((*id, self.full_evidence(*readers.first()?)?)))
            .collect()
    }

    /// The coroutines that wait for room, each with those that it may have woken.
    fn senders(&self) -> Vec<(CoroutineId, Vec<CoroutineId>)> {
        let all = self.coroutines.all().iter();
        let alive: Vec<&Coroutine> = all.filter(|other| other.is_alive()).collect();
        let senders = alive.iter().copied();
        let senders: Vec<_> = senders
            .filter(|sender| self.leaf_kind(sender) == LeafKind::Room)
            .collect();
        if senders.is_empty() {
            return Vec::new();
        }
        let mut woken = WokenBy::default();
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

/// Whether a coroutine waits for nothing, and no waker of it is left.
fn is_never_woken(coroutine: &Coroutine) -> bool {
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
        assert_eq!((known, callers.more), (vec![3, 4, 5, 6], false));
        callers.note(CoroutineId(8));
        assert!(callers.more);
    }
}
