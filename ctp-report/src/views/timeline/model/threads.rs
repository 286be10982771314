//! The threads that tell of themselves: from when to when, and where records of theirs were lost.

use std::cmp::Reverse;
use std::collections::HashMap;

use ctp_trace::record::{Act, Nanos, ProcessId, ThreadEvent};
use ctp_trace::trace_model::TraceModel;

use crate::time_scale::Scale;

/// Threads that are shown.
const SHOWN: usize = 24;

/// Threads that are remembered, so that the best to show are among them.
const REMEMBERED: usize = 200;

/// Losses of one thread that are marked; all are counted.
const MARKED: usize = 100;

/// One thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    /// Its process.
    pub process: ProcessId,
    /// The kernel's id of it.
    pub tid: u64,
    /// When it recorded something first.
    pub started: Nanos,
    /// When it said that it ends; the end of the recording of its process, if it did not.
    pub until: Nanos,
    /// Whether it said that it ends.
    pub ended: bool,
    /// When records of it were lost, and how many: the first of them.
    pub losses: Vec<(Nanos, u64)>,
    /// How many were lost in all.
    pub lost: u64,
}

/// Those that are shown, in the order in which they began, and of how many.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// The threads that are shown.
    pub threads: Vec<Thread>,
    /// How many there were.
    pub total: u64,
}

/// All threads of which a reading of the trace learnt.
#[derive(Clone, Debug, Default)]
pub struct Threads {
    all: Vec<Thread>,
    /// Where those are that have not ended.
    alive: HashMap<(ProcessId, u64), usize>,
    total: u64,
}

impl Threads {
    /// Takes note of what a thread says of itself.
    pub fn see(&mut self, thread_event: &ThreadEvent) {
        match thread_event.act {
            Act::Begin => self.begin(thread_event),
            Act::End => {
                let thread = self.of(thread_event);
                (thread.until, thread.ended) = (thread_event.at, true);
                self.alive.remove(&(thread_event.process, thread_event.tid));
            }
            Act::Loss(records) => {
                let thread = self.of(thread_event);
                thread.lost = thread.lost.saturating_add(records);
                if thread.losses.len() < MARKED {
                    thread.losses.push((thread_event.at, records));
                }
            }
            _ => {}
        }
    }

    /// Those that lived in the time that is shown: first those that lost something, then the
    /// longest-lived.
    pub fn pick(mut self, trace_model: &TraceModel, scale: &Scale) -> Shown {
        for thread in self
            .all
            .iter_mut()
            .filter(|other_thread| !other_thread.ended)
        {
            thread.until = trace_model.end_of(thread.process);
        }
        let forgotten = self.total - self.all.len() as u64;
        let is_in = |thread: &Thread| thread.started <= scale.to && scale.from <= thread.until;
        self.all.retain(is_in);
        let total = forgotten + self.all.len() as u64;
        self.all.sort_by_key(Thread::rank);
        self.all.truncate(SHOWN);
        self.all
            .sort_by_key(|thread| (thread.process, thread.started, thread.tid));
        Shown {
            threads: self.all,
            total,
        }
    }

    fn of(&mut self, thread_event: &ThreadEvent) -> &mut Thread {
        let key = (thread_event.process, thread_event.tid);
        if !self.alive.contains_key(&key) {
            self.begin(thread_event);
        }
        &mut self.all[self.alive[&key]]
    }

    fn begin(&mut self, thread_event: &ThreadEvent) {
        if 2 * REMEMBERED <= self.all.len() {
            self.forget();
        }
        self.total += 1;
        self.alive
            .insert((thread_event.process, thread_event.tid), self.all.len());
        self.all.push(Thread {
            process: thread_event.process,
            tid: thread_event.tid,
            started: thread_event.at,
            until: Nanos(u64::MAX),
            ended: false,
            losses: Vec::new(),
            lost: 0,
        });
    }

    /// Keeps those that would be shown first.
    fn forget(&mut self) {
        self.all.sort_by_key(Thread::rank);
        self.all.truncate(REMEMBERED);
        let alive = self.all.iter().zip(0..).filter(|(thread, _)| !thread.ended);
        self.alive = alive
            .map(|(thread, place)| ((thread.process, thread.tid), place))
            .collect();
    }
}

impl Thread {
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

    // CT-19: a thread has a beginning, an end and losses; its id may be another's later
    #[test]
    fn a_thread_is_told_from_the_next_one_of_its_id() {
        let mut threads = Threads::default();
        for other_thread_event in [
            thread_event(10, 7, Act::Begin),
            thread_event(20, 7, Act::Loss(5)),
            thread_event(30, 7, Act::End),
            thread_event(40, 7, Act::Begin),
        ] {
            threads.see(&other_thread_event);
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

    // CT-19: of however many threads few are shown, and those that lost something first
    #[test]
    fn many_threads_are_sampled() {
        let mut threads = Threads::default();
        for i in 0..10_000 {
            threads.see(&thread_event(10 * i, i, Act::Begin));
            if i == 77 {
                threads.see(&thread_event(10 * i + 1, i, Act::Loss(3)));
            }
            threads.see(&thread_event(10 * i + 5, i, Act::End));
            assert!(threads.all.len() <= 2 * REMEMBERED && threads.alive.is_empty());
        }
        let shown = threads.pick(&TraceModel::new(), &Scale::new(Nanos(0), Nanos(u64::MAX)));
        assert_eq!((shown.total, shown.threads.len()), (10_000, SHOWN));
        assert!(shown.threads.iter().any(|thread| thread.tid == 77));
    }
}
