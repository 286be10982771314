//! Who there is: those that live, as the census judges them, and those that are over.

use std::collections::{BTreeMap, BTreeSet};

use ctp_trace::record::{CoroutineId, Event, EventKind, Nanos, ProcessId, Record, SiteId};
use ctp_trace::trace_model::{Coroutine, NameId, TraceModel};
use ctp_trace::verdict::{Fact, Verdict};

use super::threads::Threads;
use crate::evidence;
use crate::time_scale::Scale;

/// So many of those that ended at one site are remembered, the longest-lived.
const REMEMBERED: usize = 200;

/// One coroutine that may be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its number.
    pub id: CoroutineId,
    /// The process it belongs to.
    pub process: ProcessId,
    /// Its name.
    pub name: NameId,
    /// Where it is, or was when it ended.
    pub site: SiteId,
    /// Where it was spawned.
    pub spawned: SiteId,
    /// When it was born.
    pub born: Nanos,
    /// Since when it has been in its last state.
    pub since: Nanos,
    /// When it ended, or the end of the recording.
    pub until: Nanos,
    /// What the rule says.
    pub verdict: Verdict,
    /// What is so.
    pub fact: Fact,
}

/// Those that are over, by the site where they ended.
#[derive(Clone, Debug, Default)]
pub struct Ended {
    /// How many.
    pub count: u64,
    /// The longest-lived of them, in no order.
    pub longest: Vec<Member>,
}

/// Everybody whom a reading of the trace met.
#[derive(Debug)]
pub struct ObservedPopulation {
    /// Those that are over.
    pub ended: BTreeMap<SiteId, Ended>,
    /// The threads that told of themselves.
    pub lives: Threads,
    window: Scale,
    threads: BTreeSet<u64>,
    latest_thread: Option<u64>,
}

impl ObservedPopulation {
    /// Nobody yet. Whoever was over before this time, or born after it, is passed over.
    pub fn new(window: Scale) -> Self {
        ObservedPopulation {
            ended: BTreeMap::new(),
            lives: Threads::default(),
            window,
            threads: BTreeSet::new(),
            latest_thread: None,
        }
    }

    /// Takes note of a record, before the census does: it forgets who is over.
    pub fn see(&mut self, trace_model: &TraceModel, record: &Record) {
        let event = match record {
            Record::Event(event) => event,
            Record::ThreadEvent(thread_event) => return self.lives.see(thread_event),
            _ => return,
        };
        if self.latest_thread != Some(event.tid) {
            self.latest_thread = Some(event.tid);
            self.threads.insert(event.tid);
        }
        if event.kind == EventKind::Death {
            self.reap_process(trace_model, event);
        }
    }

    /// On how many threads something happened.
    pub fn threads(&self) -> u64 {
        self.threads.len() as u64
    }

    fn reap_process(&mut self, trace_model: &TraceModel, death: &Event) {
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

impl Ended {
    fn add(&mut self, member: Member) {
        self.count += 1;
        self.longest.push(member);
        if 2 * REMEMBERED <= self.longest.len() {
            self.longest.sort_by_key(Member::rank);
            self.longest.truncate(REMEMBERED);
        }
    }
}

impl Member {
    /// The longest first: in the state that is worth a word, else in life.
    pub fn rank(&self) -> (std::cmp::Reverse<Nanos>, CoroutineId) {
        let from = if self.verdict < Verdict::Waiting {
            self.since
        } else {
            self.born
        };
        (std::cmp::Reverse(from.until(self.until)), self.id)
    }

    /// Whether it lived at a time that is shown.
    pub fn is_in(&self, scale: &Scale) -> bool {
        self.born <= scale.to && scale.from <= self.until
    }
}

/// Those that are not over, as the rule judges them.
pub fn alive(trace_model: &TraceModel, threshold: Nanos) -> Vec<Member> {
    let of = |(coroutine, judgement): evidence::Member| {
        let rule = (judgement.verdict, judgement.fact);
        member(
            trace_model,
            coroutine,
            trace_model.end_of(coroutine.process),
            rule,
        )
    };
    evidence::members(trace_model, threshold).map(of).collect()
}

fn member(
    trace_model: &TraceModel,
    coroutine: &Coroutine,
    until: Nanos,
    rule: (Verdict, Fact),
) -> Member {
    let (_, since) = coroutine.state();
    Member {
        id: coroutine.id,
        process: coroutine.process,
        name: coroutine.name,
        site: trace_model.place_of(coroutine),
        spawned: coroutine.spawn_site,
        born: coroutine.born,
        since,
        until,
        verdict: rule.0,
        fact: rule.1,
    }
}
