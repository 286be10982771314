//! Processes in which nothing can happen: no coroutine runs, and each thread waits for another.

use super::TraceModel;
use super::coroutine::Coroutine;
use super::full_channels::is_never_woken;
use super::levels::Levels;
use crate::hash::Map;
use crate::record::{LeafKind, Nanos, ProcessId, Threads, WaitKind};
use crate::verdict::{BEYOND_LONGEST, ENOUGH, FAR_BEYOND, ParkedEvidence, State};

/// A process that is about to end looks as if its threads ran: an observation does not count that is later than
/// this before the end.
const NEAR_END: Nanos = Nanos(100_000_000);

/// The observations of processes in which no thread could continue by itself.
#[derive(Clone, Debug, Default)]
pub(super) struct Parked(Map<ProcessId, Observed>);

#[derive(Clone, Copy, Debug)]
struct Observed {
    first: Nanos,
    latest: Nanos,
    /// Whether threads slept in some of these observations. A sleeping thread may continue by itself.
    sleeps: bool,
    /// The smallest number of threads that waited for others.
    parked: u64,
    /// When a thread was first seen that could continue by itself, after `latest`.
    over: Option<Nanos>,
}

/// The runs of a process, and the longest time without a run while its coroutines kept themselves going.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Silence {
    latest: Nanos,
    /// When the latest coroutine was born, or when a thread that runs no coroutines last did something.
    driven: Nanos,
    /// The longest time without runs since then.
    longest: Nanos,
    /// The runs since then.
    runs: u64,
}

impl Parked {
    pub(super) fn note(&mut self, threads: &Threads, latest_run: Nanos) {
        if threads.others > 0 {
            if let Some(observed) = self.0.get_mut(&threads.process) {
                observed.over.get_or_insert(threads.at);
            }
            return;
        }
        let new = Observed {
            first: threads.at,
            latest: threads.at,
            sleeps: false,
            parked: threads.parked,
            over: None,
        };
        let observed = self.0.entry(threads.process).or_insert(new);
        if observed.over.is_some() || observed.first <= latest_run {
            *observed = new;
        }
        observed.parked = observed.parked.min(threads.parked);
        observed.latest = threads.at;
        observed.sleeps |= threads.sleeping > 0;
    }
}

impl Silence {
    /// Notes the start of a run.
    #[inline]
    pub(super) fn ran(&mut self, at: Nanos) {
        if self.driven < at {
            let silent = self.latest.max(self.driven).until(at);
            self.longest = self.longest.max(silent);
            self.runs += 1;
        }
        self.latest = self.latest.max(at);
    }

    /// Notes the birth of a coroutine, or an act of a thread that runs no coroutine and may act again.
    #[inline]
    pub(super) fn note_driven(&mut self, at: Nanos) {
        if self.driven < at {
            (self.driven, self.longest, self.runs) = (at, Nanos(0), 0);
        }
    }

    pub(super) fn latest(&self) -> Nanos {
        self.latest
    }

    /// Whether the coroutines kept themselves going, and were never silent for nearly as long as now.
    fn is_unprecedented(&self, end: Nanos) -> bool {
        let beyond = self.longest.0.saturating_mul(FAR_BEYOND * BEYOND_LONGEST);
        ENOUGH * FAR_BEYOND <= self.runs && beyond <= self.latest.until(end).0
    }
}

/// A process in which nothing can happen.
#[derive(Clone, Copy, Debug)]
pub(super) struct ParkedProcess {
    evidence: ParkedEvidence,
    /// Threads sleep for a time, and may act then.
    sleeps: bool,
    /// Such a thread may give work to the coroutines, as far as the records show.
    may_get_work: bool,
    /// All coroutines wait for locks, or for the end of others.
    are_before_locks: bool,
    /// A thread is blocked while it runs a coroutine.
    is_blocked: bool,
}

impl TraceModel {
    /// Takes an observation of a process's threads.
    pub(super) fn note_threads(&mut self, threads: &Threads) {
        let runners = self.runners.get(threads.process);
        let latest_run = runners.map_or(Nanos(0), |runners| runners.silence.latest());
        self.parked.note(threads, latest_run);
    }

    /// The processes in which nothing can happen, because only coroutines and parked threads are left,
    /// each of which waits for another.
    pub(super) fn parked_processes(&self) -> Map<ProcessId, ParkedProcess> {
        let observed = self.parked.0.iter();
        let parked = observed.filter_map(|(process, observed)| {
            let runners = self.runners.get(*process)?;
            let silence = runners.silence;
            let end = self.end_of(*process);
            let is_after = silence.latest() < observed.first
                && observed.over.is_none_or(|over| over.until(end) < NEAR_END);
            if !is_after {
                return None;
            }
            let may_get_work = observed.sleeps
                && (observed.parked < runners.living() || !silence.is_unprecedented(end));
            let are_before_locks = self.are_before_locks(*process);
            let is_parked =
                (are_before_locks || !may_get_work) && !self.may_continue(*process, observed);
            let evidence = ParkedEvidence {
                ran: silence.latest(),
                first: observed.first,
                latest: observed.latest,
            };
            let mut all = self.coroutines.all().iter();
            let parked = ParkedProcess {
                evidence,
                sleeps: observed.sleeps,
                may_get_work,
                are_before_locks,
                is_blocked: all
                    .any(|other| other.process == *process && other.state().0 == State::Running),
            };
            is_parked.then_some((*process, parked))
        });
        parked.collect()
    }

    /// The evidence about a coroutine of a process in which nothing can happen. If a thread sleeps, it may
    /// be the source of work, as in a program that has no load at the moment. Then a coroutine counts only
    /// if it was woken before by another coroutine that still waits for something, and so has not come to
    /// its end, or if a thread is blocked while it runs a coroutine. A lock is not work: coroutines that
    /// wait for locks count if all coroutines do.
    pub(super) fn parked_evidence(
        &self,
        coroutine: &Coroutine,
        parked: &ParkedProcess,
        levels: &Levels,
    ) -> Option<ParkedEvidence> {
        let mut callers = self.callers.of(coroutine.id);
        let has_work = parked.is_blocked
            || self.is_kept_going_by_itself(coroutine)
            || callers.any(|id| {
                let other = self.get(id).filter(|_| id != coroutine.id);
                other.is_some_and(|other| other.is_alive() && !is_never_woken(other))
            });
        let before_lock = parked.are_before_locks && self.leaf_kind(coroutine) == LeafKind::Lock;
        let is_inside = has_work && self.is_ended_by_coroutines(coroutine, levels);
        let counts = !parked.sleeps || before_lock || !parked.may_get_work && is_inside;
        counts.then_some(parked.evidence)
    }

    /// Whether only coroutines have ended waits like this, if it is for messages: a thread that has sent
    /// some may send more. For a lock: whether no coroutine keeps it during a wait for messages, after
    /// which the coroutine would release it. True for other waits.
    fn is_ended_by_coroutines(&self, coroutine: &Coroutine, levels: &Levels) -> bool {
        let wait = coroutine.suspend();
        let stats = wait.and_then(|wait| self.site(wait.site, wait.wait));
        let families = stats.and_then(|stats| stats.waking_families.all());
        match self.leaf_kind(coroutine) {
            LeafKind::Message | LeafKind::TimeOrMessage => {
                families.is_some_and(|families| !families.is_empty())
            }
            LeafKind::Lock => !self.is_held_while_idle(coroutine, levels.message_waits()),
            _ => true,
        }
    }

    /// Whether the coroutine contains futures that have woken it at this place, in a run of its own. Then these
    /// kept it going, and not a thread. Such a wake came before the wait began, and no other wake ended the wait.
    fn is_kept_going_by_itself(&self, coroutine: &Coroutine) -> bool {
        let wait = coroutine.suspend();
        let stats = wait.and_then(|wait| self.site(wait.site, wait.wait));
        let were_woken_before =
            stats.is_some_and(|stats| stats.wakers.count() < stats.waits.count());
        let may_be_for_own_futures = matches!(
            self.leaf_kind(coroutine),
            LeafKind::Unknown | LeafKind::Lock | LeafKind::Semaphore | LeafKind::Room
        );
        let has_woken_itself = self.callers.of(coroutine.id).any(|id| id == coroutine.id);
        has_woken_itself && were_woken_before && may_be_for_own_futures
    }

    /// Whether all coroutines of the process wait for locks, or for the end of others.
    fn are_before_locks(&self, process: ProcessId) -> bool {
        let all = self.coroutines.all().iter();
        let mut alive = all.filter(|other| other.process == process && other.is_alive());
        alive.all(|other| {
            matches!(self.leaf_kind(other), LeafKind::Lock | LeafKind::Task)
                || is_never_woken(other)
        })
    }

    /// Whether a coroutine of the process is ready, or waits for something outside of the process. A coroutine that
    /// was never run is in no queue that a thread serves if all threads were parked after its birth. A thread that
    /// sleeps may poll it later.
    fn may_continue(&self, process: ProcessId, observed: &Observed) -> bool {
        let mut all = self.coroutines.all().iter();
        all.any(|coroutine| {
            let is_external = coroutine.suspend().is_some_and(|wait| {
                let is_outside = matches!(
                    wait.wait,
                    WaitKind::Readable | WaitKind::Writable | WaitKind::Timer
                );
                is_outside || wait.marks.idle
            });
            let is_woken = coroutine.wakes_since_run().is_some_and(|wakes| wakes > 0);
            let may_run = match coroutine.state().0 {
                State::Suspended => false,
                State::Running => !self.is_thread_parked(coroutine),
                State::Born => {
                    observed.sleeps
                        || observed.first <= coroutine.born
                        || coroutine.lived_before
                        || coroutine.caveat().is_some()
                }
                _ => true,
            };
            let is_ready = may_run || is_woken;
            coroutine.process == process && coroutine.is_alive() && (is_external || is_ready)
        })
    }
}
