//! Coroutines with contradicting events: sequences that no scheduler produces.
//!
//! Only consecutive events without a loss between them prove anything, and only those of this project's
//! probe, which records every change of state. A plain v1 peer may resume without a preceding suspend,
//! and may leave out any event.

use super::Coroutine;
use super::names::NameId;
use crate::hash::Map;
use crate::record::{CoroutineId, Dialect, Event, EventKind};

/// What is wrong with an event, given its predecessor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Violation {
    /// Resumed on one thread while running on another.
    DoubleResume,
    /// Suspended without a run since the previous suspend.
    SuspendedTwice,
    /// An event after the coroutine's death.
    AfterDeath,
    /// Born again while alive.
    BornTwice,
}

/// Two events of a coroutine, of which the second cannot follow the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contradiction {
    /// What is wrong.
    pub violation: Violation,
    /// The first event.
    pub before: Event,
    /// The second event.
    pub after: Event,
}

/// A coroutine with contradictions, whether alive or ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Broken {
    /// Number of the coroutine in this trace.
    pub id: CoroutineId,
    /// Name of the coroutine.
    pub name: NameId,
    /// How many contradictions there are.
    pub count: u64,
    /// The first few contradictions, in order of time.
    pub proofs: Vec<Contradiction>,
}

/// Maximum number of contradictions that are kept of each coroutine.
const MAX_PROOFS: usize = 4;
/// Maximum number of coroutines of which contradictions are kept.
const MAX_COROUTINES: usize = 1000;

/// All coroutines with contradictions.
#[derive(Clone, Debug, Default)]
pub(super) struct Breakages {
    kept: Map<CoroutineId, Broken>,
    /// Contradictions of coroutines for which there was no room.
    pub(super) others: u64,
}

impl Breakages {
    pub(super) fn note(&mut self, coroutine: &Coroutine, contradiction: Contradiction) {
        if self.kept.len() == MAX_COROUTINES && !self.kept.contains_key(&coroutine.id) {
            self.others += 1;
            return;
        }
        let broken = self.kept.entry(coroutine.id).or_default();
        (broken.id, broken.name) = (coroutine.id, coroutine.name);
        broken.count += 1;
        if broken.proofs.len() < MAX_PROOFS {
            broken.proofs.push(contradiction);
        }
    }

    /// All coroutines with contradictions, by id.
    pub(super) fn list(&self) -> Vec<&Broken> {
        let mut all: Vec<&Broken> = self.kept.values().collect();
        all.sort_unstable_by_key(|broken| broken.id);
        all
    }
}

impl Coroutine {
    /// The contradiction between the latest event and the next, if there is one.
    #[inline]
    pub(super) fn contradiction(&self, after: &Event) -> Option<Contradiction> {
        let before = self.last.as_ref()?;
        let violation = violation(before, after)?;
        let is_next = after.follows(before);
        let is_trusted =
            self.dialect == Dialect::Extended && !self.account.inexact && !self.account.uncertain;
        if !is_next || !is_trusted {
            return None;
        }
        Some(Contradiction {
            violation,
            before: *before,
            after: *after,
        })
    }
}

/// What is wrong with this sequence, if anything. A running coroutine may be resumed again on the same
/// thread (its run was recorded twice). Another thread may end it or record its suspend: a scheduler may
/// do so on its own thread.
#[inline]
fn violation(before: &Event, after: &Event) -> Option<Violation> {
    use EventKind::{Birth, Death, Run, Suspend};
    let elsewhere = before.tid != after.tid && before.tid != 0 && after.tid != 0;
    match (before.kind, after.kind) {
        (Death, _) => Some(Violation::AfterDeath),
        (_, Birth) => Some(Violation::BornTwice),
        (Suspend, Suspend) => Some(Violation::SuspendedTwice),
        (Run, Run) if elsewhere => Some(Violation::DoubleResume),
        _ => None,
    }
}
