//! The coroutines that were alive at the end, and the last events of each.

use std::collections::{BTreeMap, HashMap, VecDeque};

use ctp_trace::model::Coroutine;
use ctp_trace::record::{CoroutineId, Event, EventKind, Nanos, Record};
use ctp_trace::verdict::State;
use serde::Serialize;

use crate::evidence::proof::{self, ProofStep};
use crate::evidence::selection::Selection;
use crate::findings::Finding as _;
use crate::findings::crash::Crash;
use crate::load::Model;
use crate::names::{Label, Names};

/// How many coroutines are described without `--ids`.
pub const MAX_SHOWN: usize = 20;

/// How many events of each coroutine are kept: as many as a station holds.
const MAX_EVENTS: usize = 8;

/// Collects the latest events of each live coroutine.
#[derive(Debug, Default)]
pub struct LatestEvents {
    latest: HashMap<CoroutineId, VecDeque<Event>>,
}

/// The state and last events of a coroutine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LastWords {
    /// The coroutine's id.
    pub id: u32,
    /// The coroutine's name.
    pub name: String,
    /// `crashed`, `running`, `suspended` or `never run`.
    pub state: &'static str,
    /// The thread on which the coroutine runs, or ran last.
    pub tid: Option<u64>,
    /// Where the coroutine is suspended.
    pub at: Option<String>,
    /// When the state began.
    pub since_ns: u64,
    /// When the recording or the process ended.
    pub until_ns: u64,
    /// Whether the process ended before the recording.
    pub process_ended: bool,
    /// The index of an event that was only partly written, because the writer died.
    pub torn: Option<u64>,
    /// How many events of the coroutine are missing.
    pub lost: u64,
    /// The latest events, the oldest first.
    pub events: Vec<ProofStep>,
}

impl LatestEvents {
    /// Takes the next record into account.
    pub fn see(&mut self, record: &Record) {
        let Record::Event(event) = record else { return };
        if event.kind == EventKind::Death {
            self.latest.remove(&event.coroutine);
            return;
        }
        let latest = self.latest.entry(event.coroutine).or_default();
        if latest.len() == MAX_EVENTS {
            latest.pop_front();
        }
        latest.push_back(*event);
    }

    /// Returns the selected live coroutines: crashed, running, then the others, the latest event first. Only
    /// the first `limit` coroutines have their events.
    pub fn finish(
        self,
        (model, names): (&Model, &Names),
        selection: &Selection,
        limit: usize,
    ) -> Vec<LastWords> {
        let crash = Option::<Crash>::find(model, names);
        let crash = crash.as_ref();
        let mut alive: Vec<&Coroutine> = model.trace_model.coroutines();
        alive.retain(|coroutine| coroutine.is_alive() && selection.has(coroutine.id));
        alive.sort_by_key(|coroutine| {
            (
                state(coroutine, crash).0,
                std::cmp::Reverse(coroutine.state().1),
            )
        });
        let words = alive.into_iter().enumerate().map(|(index, coroutine)| {
            let events = self.latest.get(&coroutine.id).filter(|_| index < limit);
            let events = events.into_iter().flatten();
            LastWords {
                events: events
                    .map(|event| proof::event(model, names, event))
                    .collect(),
                ..without_events(model, names, coroutine, crash)
            }
        });
        words.collect()
    }
}

fn without_events(
    model: &Model,
    names: &Names,
    coroutine: &Coroutine,
    crash: Option<&Crash>,
) -> LastWords {
    let label = coroutine.suspend().and_then(|wait| names.of(wait.site));
    let (_, Nanos(since_ns)) = coroutine.state();
    LastWords {
        id: coroutine.id.0,
        name: names.of_coroutine(model, coroutine),
        state: state(coroutine, crash).1,
        tid: coroutine.last.map(|last| last.tid),
        at: label.and_then(Label::at),
        since_ns,
        until_ns: model.trace_model.end_of(coroutine.process).0,
        process_ended: model.trace_model.ended_early(coroutine.process).is_some(),
        torn: coroutine.account.torn(),
        lost: coroutine.account.lost(),
        events: Vec::new(),
    }
}

/// The state as a word, with its rank.
fn state(coroutine: &Coroutine, crash: Option<&Crash>) -> (u8, &'static str) {
    let culprit = crash.and_then(Crash::culprit);
    match coroutine.state().0 {
        _ if culprit.is_some_and(|culprit| culprit.id == coroutine.id.0) => (0, "crashed"),
        State::Running => (1, "running"),
        State::Born => (3, "never run"),
        _ => (2, "suspended"),
    }
}

/// Counts coroutines by state and place, the most frequent first.
pub fn groups(all: &[LastWords]) -> Vec<((&'static str, Option<&str>), usize)> {
    let mut counts = BTreeMap::<_, usize>::new();
    for last_words in all {
        *counts
            .entry((last_words.state, last_words.at.as_deref()))
            .or_default() += 1;
    }
    let mut groups: Vec<_> = counts.into_iter().collect();
    groups.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    groups
}
