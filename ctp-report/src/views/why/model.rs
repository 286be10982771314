//! Why a coroutine is in its present state: the chain of wakes that led there, split into waiting,
//! queued and running time, and what blocks the coroutine now.

pub mod causes;

use std::collections::BTreeMap;
use std::rc::Rc;

use ctp_trace::model::{Blocks, Closing, Coroutine};
use ctp_trace::record::{CoroutineId, Event, Nanos, Record, WaitKind, Waker};
use ctp_trace::verdict::{Judgement, Reason, State};
use serde::Serialize;

use crate::evidence::busy_threads::{BusyThreads, ThreadBlocker};
use crate::evidence::last_waker::{self, LastWaker};
use crate::evidence::{Member, blockers, missing_wakes, resource};
use crate::load::Model;
use crate::names::{Label, Names};
use crate::text::units;
use crate::views::why::model::causes::{Cause, CausedRun, Causes, KEPT};

/// The answer to `--why`: the chain of wakes that ends at a coroutine, and its present state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Why {
    /// The coroutine.
    pub id: u32,
    /// The coroutine's name.
    pub name: String,
    /// The state that the records prove, as a word, such as `RUNNING`.
    pub state: &'static str,
    /// The verdict, as a word.
    pub verdict: &'static str,
    /// Where the chain begins.
    pub origin: ChainOrigin,
    /// The runs of the chain.
    pub links: Vec<CausalRun>,
    /// The present wait, if the coroutine waits.
    #[serde(flatten)]
    pub wait: PresentWait,
    /// The closing of the resource that the coroutine waits for. The closing did not resume the
    /// coroutine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closed: Option<Closed>,
    /// The coroutine that blocks this coroutine, the blocker of that coroutine, and so on, if recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocked: Option<blockers::BlockerLine>,
    /// The coroutine that woke this coroutine last, if it waits and no blocker is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_waker: Option<LastWaker>,
    /// The busy coroutine on the thread where this coroutine last ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread_blocker: Option<ThreadBlocker>,
    /// What made the coroutine ready, if it has not run since. If a coroutine called this wake or
    /// spawn, the links lead to that coroutine.
    pub ready: Option<Ready>,
    /// How long the coroutine has been ready without running.
    pub queued_ns: u64,
    /// When the recording, or the coroutine's process, ended.
    pub end_ns: u64,
}

/// What a coroutine waits for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PresentWait {
    /// The resource, if recorded.
    pub waits_for: Option<String>,
    /// The place of the wait.
    pub waits_at: Option<String>,
    /// The length of the wait so far.
    pub waits_ns: u64,
}

/// A run, and what led to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CausalRun {
    /// The coroutine that ran.
    pub id: u32,
    /// The coroutine's name.
    pub name: String,
    /// The resource that the coroutine had waited for.
    pub waited_for: Option<String>,
    /// The length of that wait, until the coroutine was ready.
    pub waited_ns: u64,
    /// What made the coroutine ready, if recorded.
    pub ready: Option<Ready>,
    /// How long the coroutine was ready before the run.
    pub queued_ns: u64,
    /// When the run began.
    pub began_ns: u64,
    /// How long the coroutine ran until it made the next coroutine ready, or else until it suspended.
    pub ran_ns: u64,
}

/// A wake or a spawn that made a coroutine ready.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Ready {
    /// When this happened.
    pub at_ns: u64,
    /// The coroutine that called the wake or spawn, if any.
    pub by: Option<u32>,
    /// The thread, if known and if no coroutine ran there.
    pub tid: Option<u32>,
    /// The place of the call.
    pub place: Option<String>,
    /// Whether this is a spawn.
    pub spawned: bool,
    /// The time from the wake or spawn to the run. Without a run, the time to the end.
    pub ago_ns: u64,
}

/// The closing of the resource that the coroutine waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Closed {
    /// When the resource was closed.
    pub at_ns: u64,
    /// The thread that closed the resource.
    pub tid: u64,
    /// The resource: `fd 17`.
    pub thing: String,
    /// The place of the closing.
    pub place: Option<String>,
    /// The coroutine that ended, if the resource is a coroutine.
    pub ended: Option<u32>,
    /// Whether the closing is the reason of the verdict.
    pub is_reason: bool,
    /// The time from the closing to the end.
    pub ago_ns: u64,
}

/// Where a chain begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChainOrigin {
    /// A descriptor was ready.
    Fd,
    /// A timer was due.
    Timer,
    /// A thread that ran no coroutine.
    Thread,
    /// A wake or a spawn by an unknown caller.
    Unknown,
    /// The cause of the first run was not recorded.
    NotRecorded,
    /// Another coroutine's run led to the first run, but is no longer in memory.
    Earlier,
}

/// What answers are found from: the trace, and what other coroutines did that concerns a coroutine.
pub struct Context<'c> {
    model: &'c Model,
    names: &'c Names,
    causes: &'c Causes,
    closings: BTreeMap<CoroutineId, Closing>,
    blocks: Blocks,
    busy: BusyThreads,
}

impl<'c> Context<'c> {
    /// Creates the context of a trace and all its judged coroutines.
    pub fn of(model: &'c Model, names: &'c Names, causes: &'c Causes, all: &[Member]) -> Self {
        Context {
            model,
            names,
            causes,
            closings: model.trace_model.closings(),
            blocks: model.trace_model.blocks(),
            busy: BusyThreads::of(all.iter().copied()),
        }
    }
}

/// Returns the answer about a coroutine that was alive at the end, or `None` if nothing led to its state.
pub fn why(context: &Context, (coroutine, judged): &Member) -> Option<Why> {
    let Context { model, names, .. } = *context;
    let head = context.causes.of(coroutine.id)?;
    let end = model.trace_model.end_of(coroutine.process);
    let reporter = Reporter { model, names };
    let pending = head.cause.as_ref();
    let woken_in = pending.and_then(|cause| cause.run.as_ref());
    let runs = runs(woken_in.or(head.run.as_ref()));
    let until = woken_in
        .and(pending)
        .map_or(end_of_run(coroutine, end), |cause| cause.at);
    let wait = coroutine.suspend();
    let ready_for = pending.map(|cause| cause.at.max(wait.map_or(cause.at, |wait| wait.at)));
    let blocked = blockers::line(model, names, &context.blocks, coroutine);
    let is_waker_of_interest = blocked.is_none() && pending.is_none();
    Some(Why {
        id: coroutine.id.0,
        name: names.of_coroutine(model, coroutine),
        state: judged.fact.word(),
        verdict: judged.verdict.word(),
        origin: origin(&runs, pending),
        links: reporter.links(&runs, until),
        wait: wait.map_or_else(PresentWait::default, |wait| PresentWait {
            waits_for: reporter.thing(wait),
            waits_at: names.short(wait.site),
            waits_ns: coroutine.waits.since.until(end).0,
        }),
        closed: pending
            .is_none()
            .then(|| reporter.closed(coroutine, judged, &context.closings))
            .flatten(),
        last_waker: wait
            .filter(|_| is_waker_of_interest)
            .and_then(|_| last_waker::of(model, names, coroutine)),
        blocked,
        thread_blocker: context
            .busy
            .thread_blockers(model, names, [*coroutine])
            .pop(),
        ready: pending.map(|cause| reporter.ready(cause, end)),
        queued_ns: ready_for.map_or(0, |since| since.until(end).0),
        end_ns: end.0,
    })
}

/// When the coroutine's latest run ended, or `end` if it still runs.
fn end_of_run(coroutine: &Coroutine, end: Nanos) -> Nanos {
    match coroutine.state() {
        (State::Running, _) => end,
        (_, since) => since,
    }
}

/// Returns the latest runs of the chain that ends at `last`, the oldest first.
fn runs(last: Option<&Rc<CausedRun>>) -> Vec<Rc<CausedRun>> {
    let mut runs: Vec<_> = std::iter::successors(last.cloned(), |run| {
        run.cause.as_ref().and_then(|cause| cause.run.clone())
    })
    .take(KEPT)
    .collect();
    runs.reverse();
    runs
}

/// Classifies the beginning of the chain. What the first coroutine waited for shows which outside
/// event woke it.
fn origin(runs: &[Rc<CausedRun>], pending: Option<&Cause>) -> ChainOrigin {
    let Some(first) = runs.first() else {
        return match pending.map(|cause| cause.by) {
            Some(Waker::Thread(_)) => ChainOrigin::Thread,
            Some(Waker::Coroutine(_)) => ChainOrigin::Earlier,
            Some(Waker::Foreign) => ChainOrigin::Unknown,
            None => ChainOrigin::NotRecorded,
        };
    };
    let waited = first.wait.map_or(WaitKind::Unknown, |wait| wait.wait);
    match (&first.cause, waited) {
        (None, _) => ChainOrigin::NotRecorded,
        (Some(cause), _) if cause.run.is_some() => ChainOrigin::Earlier,
        (Some(cause), _) if matches!(cause.by, Waker::Coroutine(_)) => ChainOrigin::Earlier,
        (Some(cause), _) if cause.by == Waker::Foreign => ChainOrigin::Unknown,
        (_, WaitKind::Readable | WaitKind::Writable) => ChainOrigin::Fd,
        (_, WaitKind::Timer) => ChainOrigin::Timer,
        _ => ChainOrigin::Thread,
    }
}

/// The coroutine that the user asks about, and whether the trace has it.
#[derive(Clone, Copy, Debug)]
pub struct RequestedCoroutine {
    id: u32,
    was_born: bool,
    largest: u32,
}

impl RequestedCoroutine {
    /// Creates a question about the coroutine `id`. No record has been seen yet.
    pub fn of(id: u32) -> Self {
        RequestedCoroutine {
            id,
            was_born: false,
            largest: 0,
        }
    }

    /// Takes note of a coroutine of the trace.
    pub fn see(&mut self, record: &Record) {
        if let Record::Birth(birth) = record {
            self.was_born |= birth.coroutine.0 == self.id;
            self.largest = self.largest.max(birth.coroutine.0);
        }
    }

    /// Says why there is no chain. The trace has `coroutines` coroutines.
    pub fn why_not(&self, coroutines: u64) -> String {
        let RequestedCoroutine { id, largest, .. } = self;
        let all = units::counted(coroutines, "coroutine");
        if self.was_born {
            format!("coroutine {id} had ended before the recording did")
        } else {
            format!("there is no coroutine {id}: the trace has {all}, with ids up to {largest}")
        }
    }
}

struct Reporter<'a> {
    model: &'a Model,
    names: &'a Names,
}

impl Reporter<'_> {
    /// Returns a link for each run. Each link counts its run only until the run made the next
    /// coroutine ready.
    fn links(&self, runs: &[Rc<CausedRun>], until: Nanos) -> Vec<CausalRun> {
        let ends = runs
            .iter()
            .skip(1)
            .map(|next| next.cause.as_ref().map_or(until, |cause| cause.at));
        let ends = ends.chain([until]);
        runs.iter()
            .zip(ends)
            .map(|(run, end)| self.link(run, end))
            .collect()
    }

    fn link(&self, run: &CausedRun, end: Nanos) -> CausalRun {
        let since = run.wait.map(|wait| wait.at);
        let woken = run.cause.as_ref().map(|cause| cause.at);
        let ready = woken.map(|woken| woken.max(since.unwrap_or(woken)));
        CausalRun {
            id: run.subject.id.0,
            name: self.name(run),
            waited_for: run.wait.and_then(|wait| self.thing(&wait)),
            waited_ns: since.map_or(0, |since| since.until(ready.unwrap_or(run.began)).0),
            ready: run.cause.as_ref().map(|cause| self.ready(cause, run.began)),
            queued_ns: ready.map_or(0, |ready| ready.until(run.began).0),
            began_ns: run.began.0,
            ran_ns: run.began.until(end).0,
        }
    }

    fn ready(&self, cause: &Cause, now: Nanos) -> Ready {
        let (by, tid) = match cause.by {
            Waker::Coroutine(id) => (Some(id.0), None),
            Waker::Thread(tid) => (None, Some(tid)),
            Waker::Foreign => (None, None),
        };
        Ready {
            at_ns: cause.at.0,
            by,
            tid,
            place: missing_wakes::caller(self.model, self.names, cause.site).and_then(Label::short),
            spawned: cause.is_birth,
            ago_ns: cause.at.until(now).0,
        }
    }

    fn closed(
        &self,
        coroutine: &Coroutine,
        judged: &Judgement,
        closings: &BTreeMap<CoroutineId, Closing>,
    ) -> Option<Closed> {
        let closing = *closings.get(&coroutine.id)?;
        let wait = coroutine.suspend()?;
        let end = self.model.trace_model.end_of(coroutine.process);
        Some(Closed {
            at_ns: closing.at.0,
            tid: closing.tid,
            thing: resource::thing(self.model, wait),
            place: self.names.short(closing.site),
            ended: closing.ended.map(|(id, _)| id.0),
            is_reason: matches!(judged.reason, Reason::Closed { .. }),
            ago_ns: closing.at.until(end).0,
        })
    }

    fn name(&self, run: &CausedRun) -> String {
        let given = self.names.called(&run.subject.name);
        given.unwrap_or_else(|| self.names.function(run.subject.spawn_site, ""))
    }

    fn thing(&self, wait: &Event) -> Option<String> {
        let thing = (wait.wait, wait.arg);
        (wait.wait != WaitKind::Unknown)
            .then(|| resource::with_deadline(self.model, Some(wait.coroutine), thing))
    }
}

impl Why {
    /// The time from the first known wake, or else the first run, to the end.
    pub fn span_ns(&self) -> u64 {
        let first = self.links.first();
        let ready = first.map_or(&self.ready, |link| &link.ready).as_ref();
        let began = first.map_or(self.end_ns, |link| link.began_ns);
        let from = ready.map_or(began, |ready| ready.at_ns);
        self.end_ns.saturating_sub(from)
    }

    /// The parts of [`span_ns`](Self::span_ns) in which a coroutine of the chain ran, or was ready
    /// and did not run.
    pub fn split_ns(&self) -> (u64, u64) {
        let ran = self.links.iter().map(|link| link.ran_ns);
        let queued = self.links.iter().map(|link| link.queued_ns);
        (
            ran.fold(0, u64::saturating_add),
            queued.fold(self.queued_ns, u64::saturating_add),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_endless_runs_saturate() {
        let link = CausalRun {
            id: 1,
            name: String::new(),
            waited_for: None,
            waited_ns: 0,
            ready: None,
            queued_ns: u64::MAX,
            began_ns: 0,
            ran_ns: u64::MAX,
        };
        let why = Why {
            id: 1,
            name: String::new(),
            state: "",
            verdict: "",
            origin: ChainOrigin::NotRecorded,
            links: vec![link.clone(), link],
            wait: PresentWait::default(),
            closed: None,
            blocked: None,
            last_waker: None,
            thread_blocker: None,
            ready: None,
            queued_ns: 1,
            end_ns: 0,
        };
        assert_eq!(why.split_ns(), (u64::MAX, u64::MAX));
    }
}
