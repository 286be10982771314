//! Everybody who lived when the program ended, and what each did last.

use std::collections::{BTreeMap, HashMap, VecDeque};

use ctp_trace::record::{CoroutineId, Event, EventKind, Nanos, Record};
use ctp_trace::trace_model::Coroutine;
use ctp_trace::verdict::State;
use serde::Serialize;

use crate::evidence::proof::{self, Step};
use crate::findings::Finding as _;
use crate::findings::crash::Crash;
use crate::load::Model;
use crate::names::{Label, Names};

/// Coroutines that are told of one by one, unless all are asked for.
pub const MAX_SHOWN: usize = 20;

/// Events that are kept of each coroutine: as many as its station holds.
const LATEST: usize = 8;

/// Gathers the latest events of each coroutine that lives, record by record.
#[derive(Debug, Default)]
pub struct Listener {
    latest: HashMap<CoroutineId, VecDeque<Event>>,
}

/// What one coroutine did last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LastWords {
    /// Its number.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// `crashed`, `running`, `suspended` or `never run`.
    pub state: &'static str,
    /// The thread that it runs on, or ran on last.
    pub tid: Option<u64>,
    /// Where it is suspended.
    pub at: Option<String>,
    /// Since when it is in that state.
    pub since_ns: u64,
    /// Until when: the end of the recording, or of its process.
    pub until_ns: u64,
    /// Its process ended before the recording did.
    pub process_ended: bool,
    /// Index of an event whose writer died in the middle of it.
    pub torn: Option<u64>,
    /// Events of it that are missing.
    pub lost: u64,
    /// Its latest events, the oldest first.
    pub events: Vec<Step>,
}

impl Listener {
    /// Takes a record into account.
    pub fn hear(&mut self, record: &Record) {
        let Record::Event(event) = record else { return };
        if event.kind == EventKind::Death {
            self.latest.remove(&event.coroutine);
            return;
        }
        let latest = self.latest.entry(event.coroutine).or_default();
        if latest.len() == LATEST {
            latest.pop_front();
        }
        latest.push_back(*event);
    }

    /// All who live: those that crashed, those that run, and the others, who spoke last first.
    /// The events of the first `told` of them, for many have too many to print.
    pub fn finish(self, model: &Model, names: &Names, reported: usize) -> Vec<LastWords> {
        let crash = Option::<Crash>::find(model, names);
        let crash = crash.as_ref();
        let mut alive: Vec<&Coroutine> = model.trace_model.coroutines();
        alive.retain(|coroutine| coroutine.is_alive());
        let rank = |coroutine: &&Coroutine| {
            (
                state(coroutine, crash).0,
                std::cmp::Reverse(coroutine.state().1),
            )
        };
        alive.sort_by_key(rank);
        let words = alive.into_iter().enumerate().map(|(index, coroutine)| {
            let events = self.latest.get(&coroutine.id).filter(|_| index < reported);
            let events = events.into_iter().flatten();
            LastWords {
                events: events
                    .map(|event| proof::event(model, names, event))
                    .collect(),
                ..stands(model, names, coroutine, crash)
            }
        });
        words.collect()
    }
}

fn stands(model: &Model, names: &Names, coroutine: &Coroutine, crash: Option<&Crash>) -> LastWords {
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

/// Many, counted by state and place: the most frequent first.
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
