//! The coroutines that may be shown: the live coroutines with their verdicts, and the ended
//! coroutines.

use std::collections::{BTreeMap, BTreeSet};

use ctp_trace::model::{Coroutine, NameId, TraceModel};
use ctp_trace::record::{CoroutineId, Event, EventKind, Nanos, ProcessId, Record, SiteId};
use ctp_trace::verdict::{Fact, Verdict};

use super::threads::AllThreads;
use crate::evidence;
use crate::time_scale::Scale;

/// How many coroutines that ended at a site are kept: the longest-lived.
const MAX_KEPT: usize = 200;

/// A coroutine that may be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowCandidate {
    /// The coroutine's id.
    pub id: CoroutineId,
    /// The coroutine's process.
    pub process: ProcessId,
    /// The coroutine's name.
    pub name: NameId,
    /// Where the coroutine is, or was when it ended.
    pub site: SiteId,
    /// Where the coroutine was spawned.
    pub spawned: SiteId,
    /// When the coroutine was born.
    pub born: Nanos,
    /// When the last state began.
    pub since: Nanos,
    /// When the coroutine ended, or the end of the recording.
    pub until: Nanos,
    /// The verdict.
    pub verdict: Verdict,
    /// The fact on which the verdict rests.
    pub fact: Fact,
}

/// The coroutines that ended at a site.
#[derive(Clone, Debug, Default)]
pub struct EndedAtSite {
    /// How many coroutines ended there.
    pub count: u64,
    /// The longest-lived of these, unsorted.
    pub longest: Vec<RowCandidate>,
}

/// All coroutines and threads that a pass over the trace has seen.
#[derive(Debug)]
pub struct ObservedPopulation {
    /// The ended coroutines, by site.
    pub ended: BTreeMap<SiteId, EndedAtSite>,
    /// The threads that recorded events of their own.
    pub lives: AllThreads,
    window: Scale,
    threads: BTreeSet<u64>,
    latest_thread: Option<u64>,
}

impl ObservedPopulation {
    /// Creates an empty population for the time span `window`. Coroutines that end before or begin
    /// after this span are ignored.
    pub fn new(window: Scale) -> Self {
        ObservedPopulation {
            ended: BTreeMap::new(),
            lives: AllThreads::default(),
            window,
            threads: BTreeSet::new(),
            latest_thread: None,
        }
    }

    /// Notes a record. Call this before `trace_model` consumes the record, since the model
    /// forgets ended coroutines.
    pub fn note(&mut self, trace_model: &TraceModel, record: &Record) {
        let event = match record {
            Record::Event(event) => event,
            Record::ThreadEvent(thread_event) => return self.lives.note(thread_event),
            _ => return,
        };
        if self.latest_thread != Some(event.tid) {
            self.latest_thread = Some(event.tid);
            self.threads.insert(event.tid);
        }
        if event.kind == EventKind::Death {
            self.end_coroutine(trace_model, event);
        }
    }

    /// The number of threads on which coroutines ran.
    pub fn threads(&self) -> u64 {
        self.threads.len() as u64
    }

    fn end_coroutine(&mut self, trace_model: &TraceModel, death: &Event) {
        let mut unknown = Coroutine::default();
        (unknown.id, unknown.born) = (death.coroutine, death.at);
        let coroutine = trace_model.get(death.coroutine).unwrap_or(&unknown);
        if !coroutine.is_alive() {
            return;
        }
        let fact = match coroutine.suspend() {
            Some(_) => Fact::Cancelled,
            None => Fact::Dead,
        };
        let member = member(trace_model, coroutine, death.at, (Verdict::Over, fact));
        if member.is_in(&self.window) {
            self.ended.entry(member.site).or_default().add(member);
        }
    }
}

impl EndedAtSite {
    fn add(&mut self, member: RowCandidate) {
        self.count += 1;
        self.longest.push(member);
        if 2 * MAX_KEPT <= self.longest.len() {
            self.longest.sort_by_key(RowCandidate::rank);
            self.longest.truncate(MAX_KEPT);
        }
    }
}

impl RowCandidate {
    /// The sort key: the longest first. What counts is the time in the present state if the verdict
    /// is worse than WAITING, or else the lifetime.
    pub fn rank(&self) -> (std::cmp::Reverse<Nanos>, CoroutineId) {
        let from = if self.verdict < Verdict::Waiting {
            self.since
        } else {
            self.born
        };
        (std::cmp::Reverse(from.until(self.until)), self.id)
    }

    /// Whether the coroutine lived in the shown time.
    pub fn is_in(&self, scale: &Scale) -> bool {
        self.born <= scale.to && scale.from <= self.until
    }
}

/// Returns the live coroutines with their verdicts.
pub fn alive(trace_model: &TraceModel, threshold: Nanos) -> Vec<RowCandidate> {
    evidence::members(trace_model, threshold)
        .map(|(coroutine, judgement)| {
            let end = trace_model.end_of(coroutine.process);
            member(
                trace_model,
                coroutine,
                end,
                (judgement.verdict, judgement.fact),
            )
        })
        .collect()
}

fn member(
    trace_model: &TraceModel,
    coroutine: &Coroutine,
    until: Nanos,
    (verdict, fact): (Verdict, Fact),
) -> RowCandidate {
    let (_, since) = coroutine.state();
    RowCandidate {
        id: coroutine.id,
        process: coroutine.process,
        name: coroutine.name,
        site: trace_model.place_of(coroutine),
        spawned: coroutine.spawn_site,
        born: coroutine.born,
        since,
        until,
        verdict,
        fact,
    }
}
