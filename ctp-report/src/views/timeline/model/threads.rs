//! The threads that recorded events of their own: their lifetimes and lost records.

use std::cmp::Reverse;
use std::collections::HashMap;

use ctp_trace::model::TraceModel;
use ctp_trace::record::{Act, Nanos, ProcessId, ThreadEvent};

use crate::time_scale::Scale;

/// How many threads are shown.
const MAX_SHOWN: usize = 24;

/// How many threads are kept to select the shown threads from.
const MAX_KEPT: usize = 200;

/// How many losses of a thread are marked. All are counted.
const MAX_MARKED: usize = 100;

/// A thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadSpan {
    /// The thread's process.
    pub process: ProcessId,
    /// The kernel's thread id.
    pub tid: u64,
    /// When the thread first recorded an event.
    pub started: Nanos,
    /// When the thread recorded its end. Without an end, the end of the process's recording.
    pub until: Nanos,
    /// Whether the thread recorded its end.
    pub ended: bool,
    /// The first losses: when, and how many records.
    pub losses: Vec<(Nanos, u64)>,
    /// How many records were lost in all.
    pub lost: u64,
}

/// The shown threads, by start, and the number of all threads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShownThreads {
    /// The threads that are shown.
    pub threads: Vec<ThreadSpan>,
    /// How many threads lived in the shown time.
    pub total: u64,
}

/// All threads that a pass over the trace has seen.
#[derive(Clone, Debug, Default)]
pub struct AllThreads {
    all: Vec<ThreadSpan>,
    /// The indexes of live threads in `all`.
    alive: HashMap<(ProcessId, u64), usize>,
    total: u64,
}

impl AllThreads {
    /// Takes note of an event of a thread.
    pub fn note(&mut self, thread_event: &ThreadEvent) {
        match thread_event.act {
            Act::Begin => self.begin(thread_event),
            Act::End => {
                let thread = self.thread(thread_event);
                (thread.until, thread.ended) = (thread_event.at, true);
                self.alive.remove(&(thread_event.process, thread_event.tid));
            }
            Act::Loss(records) => {
                let thread = self.thread(thread_event);
                thread.lost = thread.lost.saturating_add(records);
                if thread.losses.len() < MAX_MARKED {
                    thread.losses.push((thread_event.at, records));
                }
            }
            _ => {}
        }
    }

    /// Selects threads that lived in the shown time: threads with lost records before others, the
    /// longest-lived first.
    pub fn pick(mut self, trace_model: &TraceModel, scale: &Scale) -> ShownThreads {
        for thread in self.all.iter_mut().filter(|thread| !thread.ended) {
            thread.until = trace_model.end_of(thread.process);
        }
        let forgotten = self.total - self.all.len() as u64;
        self.all
            .retain(|thread| thread.started <= scale.to && scale.from <= thread.until);
        let total = forgotten + self.all.len() as u64;
        self.all.sort_by_key(ThreadSpan::rank);
        self.all.truncate(MAX_SHOWN);
        self.all
            .sort_by_key(|thread| (thread.process, thread.started, thread.tid));
        ShownThreads {
            threads: self.all,
            total,
        }
    }

    fn thread(&mut self, thread_event: &ThreadEvent) -> &mut ThreadSpan {
        let key = (thread_event.process, thread_event.tid);
        if !self.alive.contains_key(&key) {
            self.begin(thread_event);
        }
        &mut self.all[self.alive[&key]]
    }

    fn begin(&mut self, thread_event: &ThreadEvent) {
        if 2 * MAX_KEPT <= self.all.len() {
            self.truncate();
        }
        self.total += 1;
        self.alive
            .insert((thread_event.process, thread_event.tid), self.all.len());
        self.all.push(ThreadSpan {
            process: thread_event.process,
            tid: thread_event.tid,
            started: thread_event.at,
            until: Nanos(u64::MAX),
            ended: false,
            losses: Vec::new(),
            lost: 0,
        });
    }

    /// Keeps the threads that would be shown first.
    fn truncate(&mut self) {
        self.all.sort_by_key(ThreadSpan::rank);
        self.all.truncate(MAX_KEPT);
        let alive = self.all.iter().zip(0..).filter(|(thread, _)| !thread.ended);
        self.alive = alive
            .map(|(thread, index)| ((thread.process, thread.tid), index))
            .collect();
    }
}

impl ThreadSpan {
    fn rank(&self) -> (bool, Reverse<Nanos>, Nanos, u64) {
        let length = Reverse(self.started.until(self.until));
        (self.lost == 0, length, self.started, self.tid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread_event(at: u64, tid: u64, act: Act) -> ThreadEvent {
        ThreadEvent {
            process: ProcessId(0),
            tid,
            at: Nanos(at),
            act,
        }
    }

    // CT-19: a thread has a beginning, an end and losses; a later thread may have the same id
    #[test]
    fn threads_with_a_reused_id_are_distinguished() {
        let mut threads = AllThreads::default();
        for (at, act) in [
            (10, Act::Begin),
            (20, Act::Loss(5)),
            (30, Act::End),
            (40, Act::Begin),
        ] {
            threads.note(&thread_event(at, 7, act));
        }
        let shown = threads.pick(&TraceModel::new(), &Scale::new(Nanos(0), Nanos(100)));
        assert_eq!((shown.total, shown.threads.len()), (2, 2));
        let first = &shown.threads[0];
        assert_eq!(
            (first.started, first.until, first.ended),
            (Nanos(10), Nanos(30), true)
        );
        assert_eq!((first.lost, &first.losses[..]), (5, &[(Nanos(20), 5)][..]));
        assert!(!shown.threads[1].ended);
    }

    // CT-19: few threads are shown however many there are, threads with losses first
    #[test]
    fn many_threads_are_sampled() {
        let mut threads = AllThreads::default();
        for i in 0..10_000 {
            threads.note(&thread_event(10 * i, i, Act::Begin));
            if i == 77 {
                threads.note(&thread_event(10 * i + 1, i, Act::Loss(3)));
            }
            threads.note(&thread_event(10 * i + 5, i, Act::End));
            assert!(threads.all.len() <= 2 * MAX_KEPT && threads.alive.is_empty());
        }
        let shown = threads.pick(&TraceModel::new(), &Scale::new(Nanos(0), Nanos(u64::MAX)));
        assert_eq!((shown.total, shown.threads.len()), (10_000, MAX_SHOWN));
        assert!(shown.threads.iter().any(|thread| thread.tid == 77));
    }
}
