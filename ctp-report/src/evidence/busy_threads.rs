//! Busy coroutines that occupy a thread, and how many waiting coroutines last ran on that thread. Those may be unable to
//! run until the busy coroutine waits.

use std::collections::BTreeMap;

use ctp_trace::model::Coroutine;
use ctp_trace::record::{CoroutineId, Nanos, ProcessId};
use ctp_trace::verdict::{Judgement, Reason, State, Verdict};
use serde::Serialize;

use crate::load::Model;
use crate::names::Names;
use crate::text::units;

/// A coroutine that blocks the thread of other coroutines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ThreadBlocker {
    /// The id of the busy coroutine.
    pub id: u32,
    /// The name of the busy coroutine.
    pub name: String,
    /// The thread.
    pub tid: u64,
    /// How long the coroutine has been running there.
    pub runs_ns: u64,
    /// The number of waiting coroutines that last ran there.
    pub count: usize,
}

/// The busy coroutine of each blocked thread, and when its run began.
#[derive(Debug, Default)]
pub struct BusyThreads(BTreeMap<(ProcessId, u64), (Nanos, CoroutineId)>);

impl BusyThreads {
    /// Collects the coroutines that have run for longer than the threshold, including ignored coroutines. If a busy
    /// coroutine polls another, the polled coroutine blocks the thread: its run began later.
    pub fn of<'c>(judged: impl IntoIterator<Item = (&'c Coroutine, Judgement)>) -> Self {
        let busy = judged.into_iter().filter(|(_, judgement)| {
            judgement.verdict == Verdict::Busy || judgement.reason == Reason::Ignored(Verdict::Busy)
        });
        let mut busy_threads = BusyThreads::default();
        for (coroutine, _) in busy {
            if let Some(thread) = last_thread(coroutine) {
                let run = (coroutine.state().1, coroutine.id);
                let innermost = busy_threads.0.entry(thread).or_insert(run);
                *innermost = run.max(*innermost);
            }
        }
        busy_threads
    }

    /// The coroutines that block the threads of the coroutines in `all`. Those that block the most
    /// coroutines come first.
    pub fn thread_blockers<'c>(
        &self,
        model: &Model,
        names: &Names,
        all: impl IntoIterator<Item = &'c Coroutine>,
    ) -> Vec<ThreadBlocker> {
        let mut counts: BTreeMap<CoroutineId, usize> = BTreeMap::new();
        for coroutine in all {
            let busy = last_thread(coroutine).and_then(|thread| self.0.get(&thread));
            // A running coroutine on this thread is the busy coroutine itself, or polls it.
            if let Some((_, id)) = busy.filter(|_| coroutine.state().0 != State::Running) {
                *counts.entry(*id).or_default() += 1;
            }
        }
        let mut thread_blockers: Vec<_> = counts
            .into_iter()
            .filter_map(|(id, count)| {
                thread_blocker(model, names, model.trace_model.get(id)?, count)
            })
            .collect();
        thread_blockers.sort_by_key(|thread_blocker| std::cmp::Reverse(thread_blocker.count));
        thread_blockers
    }
}

impl ThreadBlocker {
    /// Formats `is blocked by id 6 hog, for 4.7 s`.
    pub fn describe(&self) -> String {
        let subject = format!("id {} {}", self.id, self.name);
        let long = units::duration_ns(self.runs_ns);
        format!("is blocked by {subject}, for {long}")
    }
}

/// The thread on which the coroutine last ran.
fn last_thread(coroutine: &Coroutine) -> Option<(ProcessId, u64)> {
    Some((coroutine.process, coroutine.last?.tid))
}

fn thread_blocker(
    model: &Model,
    names: &Names,
    coroutine: &Coroutine,
    count: usize,
) -> Option<ThreadBlocker> {
    let end = model.trace_model.end_of(coroutine.process);
    Some(ThreadBlocker {
        id: coroutine.id.0,
        name: names.of_coroutine(model, coroutine),
        tid: coroutine.last?.tid,
        runs_ns: coroutine.state().1.until(end).0,
        count,
    })
}
