//! Threads that one coroutine keeps, and those that were last seen there: nobody else runs on such
//! a thread, whatever they wait for.

use std::collections::BTreeMap;

use ctp_trace::record::{CoroutineId, ProcessId};
use ctp_trace::trace_model::Coroutine;
use ctp_trace::verdict::{Judgement, Reason, State, Verdict};
use serde::Serialize;

use crate::load::Model;
use crate::names::Names;
use crate::text::{self, units};

/// One that keeps the thread of others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ThreadKeptBy {
    /// Which coroutine.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// The thread.
    pub tid: u64,
    /// For how long it has run there.
    pub runs_ns: u64,
    /// How many of those that wait were last seen there.
    pub count: usize,
}

/// Who keeps which thread.
#[derive(Debug, Default)]
pub struct Busy(BTreeMap<(ProcessId, u64), CoroutineId>);

impl Busy {
    /// Those that have run for longer than the threshold, also if they are not to be told of.
    pub fn of<'c>(judged: impl IntoIterator<Item = (&'c Coroutine, Judgement)>) -> Self {
        let is_busy = |judgement: &Judgement| {
            judgement.verdict == Verdict::Busy || judgement.reason == Reason::Ignored(Verdict::Busy)
        };
        let busy = judged
            .into_iter()
            .filter(|(_, judgement)| is_busy(judgement));
        let thread = |(coroutine, _): (&Coroutine, _)| Some((thread(coroutine)?, coroutine.id));
        Busy(busy.filter_map(thread).collect())
    }

    /// Who keeps the threads of these, the one that keeps most of them first.
    pub fn thread_blockers<'c>(
        &self,
        model: &Model,
        names: &Names,
        all: impl IntoIterator<Item = &'c Coroutine>,
    ) -> Vec<ThreadKeptBy> {
        let mut counts: BTreeMap<CoroutineId, usize> = BTreeMap::new();
        for coroutine in all {
            let blocker = thread(coroutine).and_then(|thread| self.0.get(&thread));
            // One that runs there polls who keeps it, or does so itself.
            if let Some(id) = blocker.filter(|_| coroutine.state().0 != State::Running) {
                *counts.entry(*id).or_default() += 1;
            }
        }
        let blocker = |(id, count)| blocker(model, names, model.trace_model.get(id)?, count);
        let mut thread_blockers: Vec<_> = counts.into_iter().filter_map(blocker).collect();
        thread_blockers.sort_by_key(|thread_blocker| std::cmp::Reverse(thread_blocker.count));
        thread_blockers
    }
}

impl ThreadKeptBy {
    /// `is kept by id 6 hog, for 4.7 s`.
    pub fn keeps(&self) -> String {
        let subject = format!("id {} {}", self.id, text::cut_middle(&self.name, 40));
        let long = units::duration_ns(self.runs_ns);
        format!("is kept by {subject}, for {long}")
    }
}

/// Where it was seen last.
fn thread(coroutine: &Coroutine) -> Option<(ProcessId, u64)> {
    Some((coroutine.process, coroutine.last?.tid))
}

fn blocker(
    model: &Model,
    names: &Names,
    coroutine: &Coroutine,
    count: usize,
) -> Option<ThreadKeptBy> {
    let end = model.trace_model.end_of(coroutine.process);
    Some(ThreadKeptBy {
        id: coroutine.id.0,
        name: names.of_coroutine(model, coroutine),
        tid: coroutine.last?.tid,
        runs_ns: coroutine.state().1.until(end).0,
        count,
    })
}
