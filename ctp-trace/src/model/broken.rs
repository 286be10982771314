//! Coroutines whose events contradict each other: what no scheduler may do.
//!
//! Only two events that follow each other without a loss prove anything, and only those of our
//! probe, which tells every change of state: a plain v1 peer resumes without a suspend before it,
//! and may leave out what it likes.

use super::Coroutine;
use super::names::NameId;
use crate::hash::Map;
use crate::record::{CoroutineId, Dialect, Event, EventKind};

/// What is wrong with an event, given the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Violation {
    /// It was resumed on one thread while it ran on another.
    DoubleResume,
    /// It was suspended though it had not run since it was suspended.
    SuspendedTwice,
    /// It did something after its death.
    AfterDeath,
    /// It was born though it existed.
    BornTwice,
}

/// Two events of a coroutine of which the second may not follow the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contradiction {
    /// What is wrong.
    pub violation: Violation,
    /// The first of them.
    pub before: Event,
    /// The second.
    pub after: Event,
}

/// A coroutine with contradictions, also if it is over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Broken {
    /// Its number in this trace.
    pub id: CoroutineId,
    /// Its name.
    pub name: NameId,
    /// How many contradictions there are.
    pub count: u64,
    /// The first few of them, in the order of time.
    pub proofs: Vec<Contradiction>,
}

/// Contradictions that are kept of each coroutine.
const PROOFS: usize = 4;
/// Coroutines whose contradictions are kept.
const MOST: usize = 1000;

/// All that are broken.
#[derive(Clone, Debug, Default)]
pub(super) struct Breakages {
    kept: Map<CoroutineId, Broken>,
    /// Contradictions of coroutines that found no room.
    pub(super) others: u64,
}

impl Breakages {
    pub(super) fn note(&mut self, coroutine: &Coroutine, contradiction: Contradiction) {
        if self.kept.len() == MOST && !self.kept.contains_key(&coroutine.id) {
            self.others += 1;
            return;
        }
        let broken = self.kept.entry(coroutine.id).or_default();
        (broken.id, broken.name) = (coroutine.id, coroutine.name);
        broken.count += 1;
        if broken.proofs.len() < PROOFS {
            broken.proofs.push(contradiction);
        }
    }

    /// By id.
    pub(super) fn list(&self) -> Vec<&Broken> {
        let mut all: Vec<&Broken> = self.kept.values().collect();
        all.sort_unstable_by_key(|broken| broken.id);
        all
    }
}

impl Coroutine {
    /// What is wrong with its next event, if anything.
    #[inline]
    pub(super) fn contradiction(&self, after: &Event) -> Option<Contradiction> {
        let before = self.last.as_ref()?;
        let violation = violation(before, after)?;
        let is_next = before.n.checked_add(1) == Some(after.n) && !after.after_filtered;
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

/// A coroutine that runs may be resumed again on the same thread (its run was told twice). Another
/// thread may end it, and may tell that it was suspended: a scheduler may do so on its own thread.
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
