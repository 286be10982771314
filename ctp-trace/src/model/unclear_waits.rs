//! Waits of which it is not clear what they are for.
//!
//! Without frame pointers, an optimised program shows only the library function that cloned the waker. Several
//! kinds of waits share such a function: a lock, room in a channel and a permit are all waits of tokio's
//! semaphore. So the rules for locks and for room do not apply, and a hang may look like a lack of work.

use std::collections::BTreeSet;

use super::TraceModel;
use super::coroutine::Coroutine;
use super::idle_locks::MessageWaits;
use super::quiet::Quiet;
use crate::record::{CoroutineId, LeafKind, Nanos, WaitKind};
use crate::verdict::{Judgement, Reason, State, Verdict};

/// Coroutines that have woken each other are followed up to this number.
const MAX_KNOWN: usize = 64;

/// What decides whether an unclear wait may be a hang.
pub(super) struct UnclearWaits<'m> {
    model: &'m TraceModel,
    message_waits: MessageWaits,
    quiet: Quiet,
    threshold: Nanos,
}

impl<'m> UnclearWaits<'m> {
    pub(super) fn new(model: &'m TraceModel, threshold: Nanos) -> Self {
        UnclearWaits {
            model,
            message_waits: model.message_waits(),
            quiet: model.quiet(),
            threshold,
        }
    }

    /// Whether the coroutine may be stuck, although it has only waited for far longer than usual.
    pub(super) fn may_hide_hang(&self, id: CoroutineId, judgement: &Judgement) -> bool {
        let is_long = judgement.verdict == Verdict::Waiting
            && matches!(
                judgement.reason,
                Reason::Quiet(_) | Reason::OnlyCoarse(_) | Reason::NoPast
            )
            && self.threshold <= judgement.age;
        let coroutine = self.model.get(id).filter(|_| is_long);
        coroutine.is_some_and(|coroutine| {
            is_unclear(self.model, coroutine) && self.may_be_stuck(coroutine, judgement.reason)
        })
    }

    fn may_be_stuck(&self, coroutine: &Coroutine, reason: Reason) -> bool {
        let is_new_place = reason.level().is_none_or(|level| !level.allows_stuck());
        let has_past = reason != Reason::NoPast;
        let in_quiet_process = is_new_place && self.is_process_quiet(coroutine);
        match self.model.leaf_kind(coroutine) {
            LeafKind::Semaphore => {
                (has_past || in_quiet_process) && !self.is_before_queue(coroutine)
            }
            LeafKind::Io => has_past && self.model.has_unsent(coroutine.process),
            LeafKind::SharedFunction if has_past && in_quiet_process => true,
            LeafKind::Unknown | LeafKind::SharedFunction => {
                has_past && self.is_woken_only_by_waiting(coroutine)
            }
            _ => false,
        }
    }

    /// Whether the coroutine may wait for the lock of a queue, which another holds while it waits for work.
    fn is_before_queue(&self, coroutine: &Coroutine) -> bool {
        self.model
            .is_held_while_idle(coroutine, &self.message_waits)
    }

    /// Whether no coroutine of the process has run for the threshold.
    fn is_process_quiet(&self, coroutine: &Coroutine) -> bool {
        let since = self.quiet.since(coroutine.process);
        let end = self.model.end_of(coroutine.process);
        since.is_some_and(|since| self.threshold <= since.until(end))
    }

    /// Whether the waits here were ended by coroutines only, which have been woken here by such coroutines only,
    /// and so on, and all of these wait likewise.
    fn is_woken_only_by_waiting(&self, coroutine: &Coroutine) -> bool {
        let mut known = BTreeSet::from([coroutine.id]);
        let mut pending = vec![coroutine.id];
        while let Some(id) = pending.pop() {
            let Some(member) = self.model.get(id) else {
                return false;
            };
            if !self.is_idle_member(member) || MAX_KNOWN < known.len() {
                return false;
            }
            let callers = self.model.callers.of(id);
            pending.extend(callers.filter(|caller| known.insert(*caller)));
        }
        true
    }

    /// Whether a coroutine waits, not for a time or for I/O, where only known coroutines have ended waits.
    fn is_idle_member(&self, coroutine: &Coroutine) -> bool {
        let wait = coroutine.suspend();
        let stats = wait.and_then(|wait| self.model.site(wait.site, wait.wait));
        let families = stats.and_then(|stats| stats.all_waking_families());
        let is_elsewhere = matches!(
            self.model.leaf_kind(coroutine),
            LeafKind::Timer | LeafKind::TimeOrMessage | LeafKind::Io
        );
        coroutine.state().0 == State::Suspended
            && coroutine.wakes_since_run() == Some(0)
            && !is_elsewhere
            && !self.model.callers.has_more(coroutine.id)
            && families.is_some_and(|families| !families.is_empty())
    }
}

/// Whether it is only known which library function cloned the waker.
fn is_unclear(model: &TraceModel, coroutine: &Coroutine) -> bool {
    coroutine
        .suspend()
        .is_some_and(|wait| wait.wait == WaitKind::Unknown && model.lines.has_only_leaf(wait.site))
}
