//! Threads that are blocked by a busy coroutine, and the coroutines that last ran on them. No other
//! coroutine can run on a blocked thread.

use std::collections::BTreeMap;

use ctp_trace::model::Coroutine;
use ctp_trace::record::{CoroutineId, ProcessId};
use ctp_trace::verdict::{Judgement, Reason, State, Verdict};
use serde::Serialize;

use crate::load::Model;
use crate::names::Names;
use crate::text::units;

/// A coroutine that blocks the thread of other coroutines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ThreadBlocker {
    /// The id.
    pub id: u32,
    /// The name.
    pub name: String,
    /// The thread.
    pub tid: u64,
    /// How long the coroutine has been running there.
    pub runs_ns: u64,
    /// The number of waiting coroutines that last ran there.
    pub count: usize,
}

/// The busy coroutine of each blocked thread.
#[derive(Debug, Default)]
pub struct Busy(BTreeMap<(ProcessId, u64), CoroutineId>);

impl Busy {
    /// Collects the coroutines that have run for longer than the threshold, including ignored coroutines.
    pub fn of<'c>(judged: impl IntoIterator<Item = (&'c Coroutine, Judgement)>) -> Self {
        let busy = judged.into_iter().filter(|(_, judgement)| {
            judgement.verdict == Verdict::Busy || judgement.reason == Reason::Ignored(Verdict::Busy)
        });
        Busy(
            busy.filter_map(|(coroutine, _)| Some((thread(coroutine)?, coroutine.id)))
                .collect(),
        )
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
            let blocker = thread(coroutine).and_then(|thread| self.0.get(&thread));
            // A running coroutine on this thread is the busy coroutine itself, or polls it.
            if let Some(id) = blocker.filter(|_| coroutine.state().0 != State::Running) {
                *counts.entry(*id).or_default() += 1;
            }
        }
        let mut thread_blockers: Vec<_> = counts
            .into_iter()
            .filter_map(|(id, count)| blocker(model, names, model.trace_model.get(id)?, count))
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
fn thread(coroutine: &Coroutine) -> Option<(ProcessId, u64)> {
    Some((coroutine.process, coroutine.last?.tid))
}

fn blocker(
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
