//! What blocks a waiting coroutine: the holder of its lock or another coroutine, since when, and the
//! current activity of the blocker.

use std::collections::BTreeSet;

use ctp_trace::model::{Blocker, Blocks, Coroutine, Holding};
use ctp_trace::record::{CoroutineId, WaitKind, Waker};
use ctp_trace::verdict::{Caveat, State};
use serde::Serialize;

use crate::evidence::resource;
use crate::load::Model;
use crate::names::Names;

/// Value of [`ShownBlocker::how`] for a holder of which only the thread is known.
pub const UNKNOWN_HOLDER: &str = "unknown-holder";

/// Value of [`ShownBlocker::how`] for the coroutine or thread that released the lock last.
pub const PREVIOUS_HOLDER: &str = "previous-holder";

/// A coroutine or thread that blocks a waiting coroutine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ShownBlocker {
    /// Relation to the waiting coroutine:
    /// - `holder` holds the awaited lock.
    /// - `unknown-holder` holds the awaited lock, but only the thread that acquired the lock is known.
    /// - `ahead` is first in the queue of the awaited lock, which readers hold.
    /// - `previous-holder` released the awaited lock, which is free now.
    /// - `awaited` has to end: the waiting coroutine joins it.
    /// - `host` has to poll the waiting coroutine.
    /// - `inside` is polled by the waiting coroutine.
    pub how: &'static str,
    /// The id of the coroutine, if known.
    pub id: Option<u32>,
    /// Its name.
    pub name: String,
    /// The thread that acquired the lock.
    pub tid: Option<u64>,
    /// The place where the lock was acquired.
    pub taken_at: Option<String>,
    /// How long ago the lock was acquired or released.
    pub taken_ns: Option<u64>,
    /// How long ago the holder ended.
    pub ended_ns: Option<u64>,
    /// Current activity of the blocker.
    #[serde(flatten)]
    pub activity: CurrentActivity,
}

/// The current activity of a coroutine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CurrentActivity {
    /// `waits`, `runs`, or `born` if the coroutine never ran. For a `previous-holder` also `woke`: the
    /// waiting coroutine was woken and ran after the release.
    pub does: Option<&'static str>,
    /// What the coroutine waits for, if recorded.
    pub waits_for: Option<String>,
    /// Where the coroutine waits.
    pub waits_at: Option<String>,
    /// Duration of the activity.
    pub does_ns: Option<u64>,
}

/// Maximum number of steps in a line of blockers.
const MAX_SHOWN: usize = 16;

/// A line of blockers: each coroutine is blocked by the next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BlockerLine {
    /// The coroutines. Each is blocked by the next.
    pub steps: Vec<BlockedStep>,
    /// The end of the line.
    pub ends: LineEnd,
    /// The ids of a cycle: each coroutine waits for the next, and the last for the first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cycle: Vec<u32>,
}

/// A waiting coroutine and its blockers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BlockedStep {
    /// The id of the waiting coroutine.
    pub id: u32,
    /// The blockers.
    pub by: Vec<ShownBlocker>,
    /// Why the blockers are not certain, as a word.
    pub caveat: Option<&'static str>,
    /// The same caveat, for pages.
    #[serde(skip)]
    pub doubted: Option<Caveat>,
}

/// The end of a line of blockers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LineEnd {
    /// The last coroutine has no known blocker.
    Free,
    /// The last coroutine has several blockers.
    Several,
    /// The line is a cycle.
    Cycle,
    /// The line is longer than [`MAX_SHOWN`].
    More,
}

/// Follows the blockers from a coroutine step by step. `None` if the coroutine has no known blocker.
pub fn line(
    model: &Model,
    names: &Names,
    blocks: &Blocks,
    coroutine: &Coroutine,
) -> Option<BlockerLine> {
    let (path, ends, cycle) = path(blocks, coroutine.id);
    let steps: Vec<BlockedStep> = path
        .iter()
        .filter_map(|id| {
            let caveat = blocks.of(*id)?.caveat;
            Some(BlockedStep {
                id: id.0,
                by: of(model, names, blocks, model.trace_model.get(*id)?),
                caveat: caveat.map(Caveat::word),
                doubted: caveat,
            })
        })
        .collect();
    (!steps.is_empty()).then_some(BlockerLine { steps, ends, cycle })
}

/// The ids of the blocked coroutines in the line that begins with `from`, the end of the line, and its
/// cycle.
fn path(blocks: &Blocks, from: CoroutineId) -> (Vec<CoroutineId>, LineEnd, Vec<u32>) {
    let (mut path, mut at) = (Vec::<CoroutineId>::new(), from);
    while let Some(block) = blocks.of(at) {
        if let Some(begin) = path.iter().position(|id| *id == at) {
            let cycle = path[begin..].iter().map(|id| id.0).collect();
            return (path, LineEnd::Cycle, cycle);
        }
        if path.len() == MAX_SHOWN {
            return (path, LineEnd::More, Vec::new());
        }
        path.push(at);
        let [blocker] = &block.by[..] else {
            return (path, LineEnd::Several, Vec::new());
        };
        let Some(next) = blocker.coroutine() else {
            break;
        };
        at = next;
    }
    (path, LineEnd::Free, Vec::new())
}

/// The known blockers of a coroutine. Blockers that ended come last, because another coroutine may hold
/// their lock by now.
pub fn of(
    model: &Model,
    names: &Names,
    blocks: &Blocks,
    coroutine: &Coroutine,
) -> Vec<ShownBlocker> {
    let blockers = blocks
        .of(coroutine.id)
        .into_iter()
        .flat_map(|block| &block.by);
    let mut all: Vec<ShownBlocker> = blockers
        .map(|blocker| shown(model, names, coroutine, blocker))
        .collect();
    all.sort_by_key(|blocker| blocker.ended_ns.is_some());
    all
}

/// The number of blockers of the coroutines in `all`, without those that also block `coroutine`.
pub fn others<'c>(
    blocks: &Blocks,
    coroutine: &Coroutine,
    all: impl Iterator<Item = &'c Coroutine>,
) -> usize {
    let of = |id| blocks.of(id).into_iter().flat_map(|block| &block.by);
    let own: BTreeSet<_> = of(coroutine.id).map(subject).collect();
    let of_all: BTreeSet<_> = all.flat_map(|other| of(other.id)).map(subject).collect();
    of_all.difference(&own).count()
}

/// The coroutine, or the thread if the coroutine is unknown.
fn subject(blocker: &Blocker) -> (Option<CoroutineId>, Option<u64>) {
    match (blocker.coroutine(), blocker) {
        (None, Blocker::Holder(holding)) => (None, Some(holding.tid)),
        (id, _) => (id, None),
    }
}

fn shown(model: &Model, names: &Names, coroutine: &Coroutine, blocker: &Blocker) -> ShownBlocker {
    let (how, holding) = match blocker {
        Blocker::Holder(holding) if holding.by == Waker::Foreign => (UNKNOWN_HOLDER, Some(holding)),
        Blocker::Holder(holding) => ("holder", Some(holding)),
        Blocker::Host(_) => ("host", None),
        Blocker::Ahead { .. } => ("ahead", None),
        Blocker::Inside(_) => ("inside", None),
        Blocker::PreviousHolder(holding) => (PREVIOUS_HOLDER, Some(holding)),
        _ => ("awaited", None),
    };
    let end = model.trace_model.end_of(coroutine.process);
    let other = blocker
        .coroutine()
        .and_then(|id| model.trace_model.get(id))
        .filter(|other| other.is_alive());
    let id = blocker.coroutine().or(holding.and_then(by));
    ShownBlocker {
        how,
        id: id.map(|id| id.0),
        name: id.map_or_else(String::new, |id| name(model, names, id, holding)),
        tid: holding.map(|holding| holding.tid),
        taken_at: holding.and_then(|holding| names.short(holding.site)),
        taken_ns: holding.map(|holding| holding.at.until(end).0),
        ended_ns: holding.and_then(|holding| Some(holding.ended?.until(end).0)),
        activity: other.map_or_else(
            || woke(coroutine, blocker),
            |other| CurrentActivity::of(model, names, other),
        ),
    }
}

impl CurrentActivity {
    /// The activity of a coroutine that is alive.
    pub fn of(model: &Model, names: &Names, coroutine: &Coroutine) -> Self {
        let wait = coroutine.suspend();
        let end = model.trace_model.end_of(coroutine.process);
        CurrentActivity {
            does: Some(does(coroutine)),
            waits_for: wait
                .filter(|wait| wait.wait != WaitKind::Unknown)
                .map(|wait| resource::of(model, wait)),
            waits_at: wait.and_then(|wait| names.short(wait.site)),
            does_ns: Some(coroutine.state().1.until(end).0),
        }
    }
}

/// The activity `woke`, if the coroutine was woken after the release of its lock.
fn woke(coroutine: &Coroutine, blocker: &Blocker) -> CurrentActivity {
    let woken = coroutine.wakes.call.filter(|woken| match blocker {
        Blocker::PreviousHolder(holding) => holding.at <= woken.at,
        _ => false,
    });
    CurrentActivity {
        does: woken.map(|_| "woke"),
        ..CurrentActivity::default()
    }
}

fn by(holding: &Holding) -> Option<CoroutineId> {
    match holding.by {
        Waker::Coroutine(id) => Some(id),
        _ => None,
    }
}

/// The name of a coroutine. For an ended coroutine, `holding` has the name.
pub fn name(model: &Model, names: &Names, id: CoroutineId, holding: Option<&Holding>) -> String {
    let alive = model.trace_model.get(id).map(|coroutine| coroutine.name);
    let name = alive
        .or(holding.map(|holding| holding.name))
        .unwrap_or_default();
    names
        .called(model.trace_model.name(name))
        .unwrap_or_default()
}

fn does(coroutine: &Coroutine) -> &'static str {
    match coroutine.state().0 {
        State::Running => "runs",
        State::Born => "born",
        _ => "waits",
    }
}
