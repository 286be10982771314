//! Why a coroutine is where it is: the chain of wakes that led there, split into waiting, queued
//! and running, and who keeps it there.

pub mod causes;

use std::rc::Rc;

use ctp_trace::record::{Event, Nanos, Record, WaitKind, Waker};
use ctp_trace::trace_model::Coroutine;
use ctp_trace::verdict::{Judgement, Reason, State};
use serde::Serialize;

use crate::evidence::busy_threads::{Busy, ThreadKeptBy};
use crate::evidence::last_waker::{self, LastWaker};
use crate::evidence::{Member, blockers, missing_wakes, resource};
use crate::load::Model;
use crate::names::{Label, Names};
use crate::text::units;
use crate::views::why::model::causes::{Cause, Causes, KEPT, Run};

/// The chain that ends at a coroutine, the oldest link first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Why {
    /// Which coroutine.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// The fact, as a word.
    pub state: &'static str,
    /// The verdict, as a word.
    pub verdict: &'static str,
    /// Where the chain begins.
    pub origin: Origin,
    /// The runs of the chain.
    pub links: Vec<Link>,
    /// What it has done since the last of them, if it waits.
    #[serde(flatten)]
    pub wait: Wait,
    /// Where what it waits for was closed, if it was: that did not resume it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closed: Option<Closed>,
    /// Who keeps it, and who keeps that one, as far as that was told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept: Option<blockers::Line>,
    /// The coroutine that woke it the last time, where it waits and nobody is known to keep it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_waker: Option<LastWaker>,
    /// Who keeps the thread on which it was last seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread_kept_by: Option<ThreadKeptBy>,
    /// It is ready to run; who made it so, and where. If a coroutine did, the links lead to that.
    pub ready: Option<Ready>,
    /// For how long it has been ready, and was not run.
    pub queued_ns: u64,
    /// When the recording, or its process, ended.
    pub end_ns: u64,
}

/// What a coroutine waits for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Wait {
    /// What that is, if it told.
    pub waits_for: Option<String>,
    /// The place where it waits.
    pub waits_at: Option<String>,
    /// For how long.
    pub waits_ns: u64,
}

/// One run, and how it came to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Link {
    /// The coroutine that ran.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// What it had waited for.
    pub waited_for: Option<String>,
    /// For how long, until it was ready.
    pub waited_ns: u64,
    /// What made it ready, if that was told.
    pub ready: Option<Ready>,
    /// How long it was ready before it ran.
    pub queued_ns: u64,
    /// When that began.
    pub began_ns: u64,
    /// How long it ran, until it made the next one ready, or suspended.
    pub ran_ns: u64,
}

/// A coroutine was made ready.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Ready {
    /// When it was done.
    pub at_ns: u64,
    /// By which coroutine, if by one.
    pub by: Option<u32>,
    /// By which thread that ran none, if that is known.
    pub tid: Option<u32>,
    /// The place where it was done.
    pub place: Option<String>,
    /// By being spawned.
    pub spawned: bool,
    /// How long ago, for one that still has not run.
    pub ago_ns: u64,
}

/// What one waits for was closed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Closed {
    /// When it was closed.
    pub at_ns: u64,
    /// On which thread.
    pub tid: u64,
    /// What: `fd 17`.
    pub thing: String,
    /// The place where it was closed.
    pub place: Option<String>,
    /// Which coroutine ended, if it waits for that.
    pub ended: Option<u32>,
    /// It is stuck for that, certainly or likely.
    pub is_reason: bool,
    /// For how long before the end.
    pub ago_ns: u64,
}

/// Where a chain begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// A descriptor was ready.
    Fd,
    /// A timer was due.
    Timer,
    /// A thread that ran no coroutine.
    Thread,
    /// Somebody called `wake()`, but it is not known who ran there.
    Unknown,
    /// What woke the first one was not told.
    NotRecorded,
    /// There is more before it.
    Earlier,
}

/// The chain to one that lives; `None` if none of that number does.
pub fn why(model: &Model, names: &Names, causes: &Causes, all: &[Member], id: u32) -> Option<Why> {
    let (coroutine, judged) = all
        .iter()
        .find(|(other_coroutine, _)| other_coroutine.id.0 == id)?;
    let busy = Busy::of(all.iter().copied());
    let head = causes.of(coroutine.id)?;
    let end = model.trace_model.end_of(coroutine.process);
    let reporter = Reporter { model, names };
    let pending = head.cause.as_ref();
    let woken_in = pending.and_then(|cause| cause.run.as_ref());
    let runs = runs(woken_in.or(head.run.as_ref()));
    let until = woken_in
        .and(pending)
        .map_or(until(coroutine, end), |cause| cause.at);
    let wait = coroutine.suspend();
    let ready_for = pending.map(|cause| cause.at.max(wait.map_or(cause.at, |wait| wait.at)));
    let kept = blockers::line(model, names, &model.trace_model.blocks(), coroutine);
    let is_free = kept.is_none() && pending.is_none();
    Some(Why {
        id,
        name: names.of_coroutine(model, coroutine),
        state: judged.fact.word(),
        verdict: judged.verdict.word(),
        origin: origin(&runs, pending),
        links: reporter.links(&runs, until),
        wait: wait.map_or_else(Wait::default, |wait| Wait {
            waits_for: reporter.thing(wait),
            waits_at: names.short(wait.site),
            waits_ns: coroutine.waits.since.until(end).0,
        }),
        closed: pending
            .is_none()
            .then(|| reporter.closed(coroutine, judged))
            .flatten(),
        last_waker: wait
            .filter(|_| is_free)
            .and_then(|_| last_waker::of(model, names, coroutine)),
        kept,
        thread_kept_by: busy.thread_blockers(model, names, [*coroutine]).pop(),
        ready: pending.map(|cause| reporter.ready(cause, end)),
        queued_ns: ready_for.map_or(0, |since| since.until(end).0),
        end_ns: end.0,
    })
}

/// When its latest run ended, as far as it did.
fn until(coroutine: &Coroutine, end: Nanos) -> Nanos {
    match coroutine.state() {
        (State::Running, _) => end,
        (_, since) => since,
    }
}

/// The latest runs of a chain, the oldest first.
fn runs(last: Option<&Rc<Run>>) -> Vec<Rc<Run>> {
    let before = |run: &Rc<Run>| run.cause.as_ref().and_then(|cause| cause.run.clone());
    let mut runs: Vec<_> = std::iter::successors(last.cloned(), before)
        .take(KEPT)
        .collect();
    runs.reverse();
    runs
}

/// What the first of them waited for tells what it was that woke it from outside.
fn origin(runs: &[Rc<Run>], pending: Option<&Cause>) -> Origin {
    let Some(first) = runs.first() else {
        return match pending.map(|cause| cause.by) {
            Some(Waker::Thread(_)) => Origin::Thread,
            Some(Waker::Coroutine(_)) => Origin::Earlier,
            Some(Waker::Foreign) => Origin::Unknown,
            None => Origin::NotRecorded,
        };
    };
    let waited = first.wait.map_or(WaitKind::Unknown, |wait| wait.wait);
    match (&first.cause, waited) {
        (None, _) => Origin::NotRecorded,
        (Some(cause), _) if cause.run.is_some() => Origin::Earlier,
        (Some(cause), _) if matches!(cause.by, Waker::Coroutine(_)) => Origin::Earlier,
        (Some(cause), _) if cause.by == Waker::Foreign => Origin::Unknown,
        (_, WaitKind::Readable | WaitKind::Writable) => Origin::Fd,
        (_, WaitKind::Timer) => Origin::Timer,
        _ => Origin::Thread,
    }
}

/// The one that the user asked about, as far as it is in the trace.
#[derive(Clone, Copy, Debug)]
pub struct Question {
    id: u32,
    was_born: bool,
    largest: u32,
}

impl Question {
    /// Nothing seen yet.
    pub fn of(id: u32) -> Self {
        Question {
            id,
            was_born: false,
            largest: 0,
        }
    }

    /// Takes note of one that is in the trace.
    pub fn see(&mut self, record: &Record) {
        if let Record::Birth(birth) = record {
            self.was_born |= birth.coroutine.0 == self.id;
            self.largest = self.largest.max(birth.coroutine.0);
        }
    }

    /// Why there is nothing to tell of it, where there are so many.
    pub fn why_not(&self, coroutines: u64) -> String {
        let Question { id, largest, .. } = self;
        let all = units::counted(coroutines, "coroutine");
        match self.was_born {
            true => format!("coroutine {id} had ended before the recording did"),
            false => {
                format!("there is no coroutine {id}: the trace has {all}, with ids up to {largest}")
            }
        }
    }
}

struct Reporter<'a> {
    model: &'a Model,
    names: &'a Names,
}

impl Reporter<'_> {
    /// Each run lasts until it made the next one ready.
    fn links(&self, runs: &[Rc<Run>], until: Nanos) -> Vec<Link> {
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

    fn link(&self, run: &Run, end: Nanos) -> Link {
        let since = run.wait.map(|wait| wait.at);
        let woken = run.cause.as_ref().map(|cause| cause.at);
        let ready = woken.map(|woken| woken.max(since.unwrap_or(woken)));
        Link {
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

    fn closed(&self, coroutine: &Coroutine, judged: &Judgement) -> Option<Closed> {
        let closing = *self.model.trace_model.closings().get(&coroutine.id)?;
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

    fn name(&self, run: &Run) -> String {
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
    /// Time from the first wake that is known, or the first run, until now.
    pub fn span_ns(&self) -> u64 {
        let ready = |other_ready: &Option<Ready>| other_ready.as_ref().map(|ready| ready.at_ns);
        let first = self.links.first();
        let first = first.map(|link| ready(&link.ready).unwrap_or(link.began_ns));
        let from = first.or(ready(&self.ready)).unwrap_or(self.end_ns);
        self.end_ns.saturating_sub(from)
    }

    /// Of that, time that some coroutine of the chain ran, and that one was ready and did not.
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
    fn a_chain_of_runs_that_took_for_ever_has_a_length() {
        let link = Link {
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
            origin: Origin::NotRecorded,
            links: vec![link.clone(), link],
            wait: Wait::default(),
            closed: None,
            kept: None,
            last_waker: None,
            thread_kept_by: None,
            ready: None,
            queued_ns: 1,
            end_ns: 0,
        };
        assert_eq!(why.split_ns(), (u64::MAX, u64::MAX));
    }
}
