//! The runs of a process by thread: the latest run, the runs that have not ended, and whether the thread's events are
//! complete.

use std::collections::VecDeque;

use super::parked::Silence;
use super::recent::Recent;
use crate::hash::Map;
use crate::record::{CoroutineId, Nanos};
use crate::verdict::Overtaker;

/// Maximum number of threads with known runs.
const THREADS: usize = 1 << 16;

/// Maximum depth of nested runs that is known of a thread; the innermost are kept.
const DEPTH: usize = 32;

/// Maximum number of births per thread that a later loss can make uncertain; the latest are kept.
const BIRTHS: usize = 1 << 10;

/// The runs of one process.
#[derive(Clone, Debug, Default)]
pub(super) struct Runners {
    /// The run of the coroutine that became ready last, among all runs.
    pub(super) overtaker: Option<Overtaker>,
    threads: Recent<u64, OnThread>,
    /// Threads with complete events in order.
    histories: Map<u64, ()>,
    /// How many threads have ended since the histories of ended threads were forgotten.
    ended_with_history: usize,
    /// Threads were forgotten, so a thread without known runs may be inside of a run.
    has_forgotten_threads: bool,
    /// When coroutines ran, and for how long none did.
    pub(super) silence: Silence,
    /// A thread without a recorded beginning has run coroutines: its wakes and lock events may be missing.
    pub(super) has_unrecorded: bool,
}

/// The runs of one thread.
#[derive(Clone, Debug, Default)]
pub(super) struct OnThread {
    /// The coroutine that ran last.
    pub(super) coroutine: CoroutineId,
    /// When that run began.
    pub(super) at: Nanos,
    /// The run of the coroutine that became ready last, among all runs of the thread.
    pub(super) overtaker: Option<Overtaker>,
    /// The thread announced its end after that run.
    pub(super) has_ended: bool,
    /// The coroutines that the thread is running, outermost first, as far as the ends of their runs are
    /// recorded.
    inside: Vec<CoroutineId>,
    /// Runs were forgotten, so the thread may be inside of more runs than known.
    has_forgotten_runs: bool,
    /// The time up to which the thread's events are known. An earlier event is out of order.
    pub(super) complete_until: Nanos,
    /// Coroutines that were born on the thread, with a parent, since its latest loss.
    births: VecDeque<CoroutineId>,
}

impl OnThread {
    fn enter(&mut self, coroutine: CoroutineId) {
        if self.inside.len() == DEPTH {
            self.inside.remove(0);
            self.has_forgotten_runs = true;
        }
        self.inside.push(coroutine);
    }

    /// Removes a coroutine, which need not be the innermost: a scheduler may run the next coroutine
    /// before the previous has recorded its suspend.
    fn leave(&mut self, coroutine: CoroutineId) {
        if self.inside.last() == Some(&coroutine) {
            self.inside.pop();
            return;
        }
        if let Some(depth) = self.inside.iter().rposition(|id| *id == coroutine) {
            self.inside.remove(depth);
        }
    }
}

impl Runners {
    /// Notes that a thread starts to record what it does, in order.
    pub(super) fn begins(&mut self, tid: u64) {
        if self.histories.len() == THREADS && !self.histories.contains_key(&tid) {
            self.forget_ended_histories();
        }
        if self.histories.len() < THREADS {
            self.histories.insert(tid, ());
        }
        if let Some(thread) = self.threads.get_mut(tid) {
            thread.inside.clear();
            thread.has_ended = false;
            thread.has_forgotten_runs = false;
        }
    }

    /// Forgets the histories of threads that have ended, unless these are too few to be worth a search.
    fn forget_ended_histories(&mut self) {
        if self.ended_with_history < THREADS / 16 {
            return;
        }
        self.ended_with_history = 0;
        let threads = &self.threads;
        let has_ended = |tid| threads.get(tid).is_some_and(|thread| thread.has_ended);
        self.histories.retain(|tid, ()| !has_ended(*tid));
    }

    /// Notes that a thread announces its end. A thread that ran no coroutine is forgotten.
    pub(super) fn ends(&mut self, tid: u64) {
        if let Some(thread) = self.threads.get_mut(tid) {
            thread.has_ended = true;
            thread.inside.clear();
            thread.has_forgotten_runs = false;
            self.ended_with_history += 1;
        } else {
            self.histories.remove(&tid);
        }
    }

    /// Whether the thread may be inside of a run that was forgotten.
    pub(super) fn has_forgotten_runs(&self, tid: u64) -> bool {
        match self.threads.get(tid) {
            Some(thread) => thread.has_forgotten_runs,
            None => self.has_forgotten_threads,
        }
    }

    /// What is known of a thread, if it has run a coroutine.
    pub(super) fn thread(&self, tid: u64) -> Option<&OnThread> {
        self.threads.get(tid)
    }

    /// The latest time of an event of any thread that ran coroutines.
    pub(super) fn complete_until(&self) -> Nanos {
        let times = self.threads.values().map(|thread| thread.complete_until);
        times.max().unwrap_or_default()
    }

    /// The number of threads that have run coroutines and have not ended.
    pub(super) fn living(&self) -> u64 {
        let living = self.threads.values().filter(|thread| !thread.has_ended);
        living.count() as u64
    }

    /// Takes an act of a thread.
    pub(super) fn acted(&mut self, tid: u64, at: Nanos) {
        if self.threads.get(tid).is_none() {
            self.silence.note_driven(at);
        }
    }

    /// Whether the thread recorded its beginning, so that its runs are known and in order.
    pub(super) fn has_history(&self, tid: u64) -> bool {
        self.histories.contains_key(&tid)
    }

    /// Takes the start of a run. `ready` is the earliest time at which the coroutine can have become
    /// ready, if known.
    pub(super) fn ran(
        &mut self,
        coroutine: CoroutineId,
        tid: u64,
        at: Nanos,
        ready: Option<Nanos>,
    ) {
        self.silence.ran(at);
        if self.threads.get(tid).is_none() {
            self.make_room_for_thread(tid);
            self.threads.of(tid).has_forgotten_runs = self.has_forgotten_threads;
        }
        let thread = self.threads.of(tid);
        if thread.at <= at {
            (thread.coroutine, thread.at, thread.has_ended) = (coroutine, at, false);
        }
        thread.complete_until = at.max(thread.complete_until);
        thread.enter(coroutine);
        let run = ready.map(|ready| Overtaker { ready, ran: at });
        for overtaker in [&mut self.overtaker, &mut thread.overtaker] {
            *overtaker = run
                .filter(|later| overtaker.is_none_or(|before| before.ready <= later.ready))
                .or(*overtaker);
        }
    }

    /// Makes room for a thread that is new or was forgotten, and notes whether its history is unrecorded.
    fn make_room_for_thread(&mut self, tid: u64) {
        if self.threads.len() == THREADS {
            self.threads.clear();
            self.has_forgotten_threads = true;
        }
        self.has_unrecorded |= !self.has_history(tid);
    }

    /// Takes the end of a coroutine's run on this thread.
    pub(super) fn left(&mut self, coroutine: CoroutineId, tid: u64, at: Nanos) {
        if let Some(thread) = self.threads.get_mut(tid) {
            thread.complete_until = at.max(thread.complete_until);
            thread.leave(coroutine);
        }
    }

    /// The coroutines that a thread is running according to the records, innermost first.
    pub(super) fn inside(&self, tid: u64) -> impl Iterator<Item = CoroutineId> {
        let thread = self.threads.get(tid).into_iter();
        thread.flat_map(|thread| thread.inside.iter().rev().copied())
    }

    /// Takes a birth on this thread by a parent that was running there.
    pub(super) fn born(&mut self, child: CoroutineId, tid: u64) {
        if let Some(thread) = self.threads.get_mut(tid) {
            if thread.births.len() == BIRTHS {
                thread.births.pop_front();
            }
            thread.births.push_back(child);
        }
    }

    /// Takes a loss of records on this thread. Returns the coroutines with births that are now uncertain:
    /// earlier events of the thread may have been found elsewhere, out of order.
    pub(super) fn lost(&mut self, tid: u64) -> VecDeque<CoroutineId> {
        let thread = self.threads.get_mut(tid);
        thread.map_or_else(VecDeque::new, |thread| {
            thread.inside.clear();
            std::mem::take(&mut thread.births)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overtaker_is_the_latest_ready_not_the_latest_run() {
        let mut runners = Runners::default();
        assert_eq!(runners.overtaker, None);
        runners.ran(CoroutineId(1), 7, Nanos(10), Some(Nanos(8)));
        runners.ran(CoroutineId(2), 8, Nanos(20), Some(Nanos(5)));
        runners.ran(CoroutineId(3), 8, Nanos(30), None);
        let overtaker = runners
            .overtaker
            .map(|overtaker| (overtaker.ready.0, overtaker.ran.0));
        assert_eq!(overtaker, Some((8, 10)));
        let on = |tid| {
            runners
                .thread(tid)
                .map(|thread| (thread.coroutine, thread.at))
        };
        assert_eq!(on(7), Some((CoroutineId(1), Nanos(10))));
        assert_eq!(on(8), Some((CoroutineId(3), Nanos(30))));
        let there = |tid| Some(runners.thread(tid)?.overtaker?.ready.0);
        assert_eq!([7, 8, 9].map(there), [Some(8), Some(5), None]);
    }

    #[test]
    fn innermost_is_the_latest_unfinished_run() {
        let mut runners = Runners::default();
        for id in 1..=3 {
            runners.ran(CoroutineId(id), 7, Nanos(id.into()), None);
        }
        let innermost = |runners: &Runners| runners.inside(7).next().map(|id| id.0);
        assert_eq!(innermost(&runners), Some(3));
        runners.left(CoroutineId(3), 8, Nanos(4));
        runners.left(CoroutineId(2), 7, Nanos(4));
        assert_eq!(
            innermost(&runners),
            Some(3),
            "3 ran before 2 had said that it waits"
        );
        runners.left(CoroutineId(3), 7, Nanos(5));
        assert_eq!(
            runners.thread(7).map(|thread| thread.complete_until),
            Some(Nanos(5))
        );
        assert_eq!(innermost(&runners), Some(1));
        runners.begins(7);
        assert_eq!(innermost(&runners), None, "it is another thread");
        runners.ran(CoroutineId(1), 7, Nanos(4), None);
        runners.ends(7);
        assert_eq!(innermost(&runners), None);
        (0..1000).for_each(|id| runners.ran(CoroutineId(id), 9, Nanos(1), None));
        assert_eq!(runners.inside(9).count(), DEPTH);
        assert!(runners.has_forgotten_runs(9) && !runners.has_forgotten_runs(7));
        runners.begins(9);
        assert!(!runners.has_forgotten_runs(9));
    }

    #[test]
    fn a_million_threads_are_bounded() {
        let mut runners = Runners::default();
        (0..1_000_000).for_each(|tid| runners.ran(CoroutineId(1), tid, Nanos(tid), None));
        assert!(runners.threads.len() <= THREADS);
        assert!(runners.has_forgotten_runs(1), "its runs were forgotten");
    }

    #[test]
    fn histories_of_ended_threads_make_room_for_others() {
        let mut runners = Runners::default();
        for tid in 0..3 * THREADS as u64 {
            runners.begins(tid);
            if tid % 2 == 0 {
                runners.ran(CoroutineId(1), tid, Nanos(tid), None);
            }
            runners.ends(tid);
        }
        assert!(runners.histories.len() <= THREADS);
        assert!(
            !runners.has_unrecorded,
            "all threads recorded their beginning"
        );
    }
}
