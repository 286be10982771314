//! Who keeps a coroutine that waits: who holds its lock since when, and what that one does.

use std::collections::BTreeSet;

use ctp_trace::record::{CoroutineId, WaitKind, Waker};
use ctp_trace::trace_model::{Blocker, Blocks, Coroutine, Holding};
use ctp_trace::verdict::{Caveat, State};
use serde::Serialize;

use crate::evidence::resource;
use crate::load::Model;
use crate::names::Names;

/// What a holder is of whom only the thread is known.
pub const UNKNOWN_HOLDER: &str = "unknown-holder";

/// One that keeps another one waiting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KeptBy {
    /// `holder` of the lock, `unknown-holder` where only the thread that took it is known, `former`
    /// holder of one that nobody has, `awaited` as such, `host`, the one that would have to poll it, or
    /// `inside`, the one that it polls.
    pub how: &'static str,
    /// Which coroutine, if it is one.
    pub id: Option<u32>,
    /// Its name.
    pub name: String,
    /// Which thread took the lock.
    pub tid: Option<u64>,
    /// The place where the lock was taken.
    pub taken_at: Option<String>,
    /// How long ago.
    pub taken_ns: Option<u64>,
    /// How long ago it ended.
    pub ended_ns: Option<u64>,
    /// What it does itself.
    #[serde(flatten)]
    pub activity: Activity,
}

/// What a coroutine does.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Activity {
    /// `waits`, `runs`, or `born` where it never ran; of one that keeps another one waiting also `woke`,
    /// where it gave back the lock, and the one that waits was woken after that and ran.
    pub does: Option<&'static str>,
    /// What it waits for, if it told.
    pub waits_for: Option<String>,
    /// Where it waits.
    pub waits_at: Option<String>,
    /// For how long it has done so.
    pub does_ns: Option<u64>,
}

/// Steps that are told of a line of keepers.
const MAX_SHOWN: usize = 16;

/// Who keeps one that waits, who keeps that one, and so on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Line {
    /// Each is kept by the next one.
    pub steps: Vec<Kept>,
    /// How it ends.
    pub ends: LineEnd,
    /// Those of whom each waits for the next one, and the last for the first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cycle: Vec<u32>,
}

/// One that waits, and what keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Kept {
    /// Which coroutine waits.
    pub id: u32,
    /// What keeps it.
    pub by: Vec<KeptBy>,
    /// Why that is not certain, as a word.
    pub caveat: Option<&'static str>,
    /// Why it may not keep it, for the pages.
    #[serde(skip)]
    pub doubted: Option<Caveat>,
}

/// How a line of keepers ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LineEnd {
    /// With one of which nobody is known to keep it.
    Free,
    /// With one that several keep.
    Several,
    /// In a cycle.
    Cycle,
    /// There are more than are told.
    More,
}

/// Who keeps this one, and who keeps that one, step by step; `None` if nobody is known to.
pub fn line(model: &Model, names: &Names, blocks: &Blocks, coroutine: &Coroutine) -> Option<Line> {
    let (path, ends, cycle) = path(blocks, coroutine.id);
    let kept = |id: &CoroutineId| {
        let caveat = blocks.of(*id)?.caveat;
        Some(Kept {
            id: id.0,
            by: of(model, names, blocks, model.trace_model.get(*id)?),
            caveat: caveat.map(Caveat::word),
            doubted: caveat,
        })
    };
    let steps: Vec<Kept> = path.iter().filter_map(kept).collect();
    (!steps.is_empty()).then_some(Line { steps, ends, cycle })
}

/// Those that wait for others, beginning with this one; how that ends; and the cycle, if it is one.
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

/// All that keep this one, as far as that was told. One that ended stands after those that did not:
/// what it had may be another one's since.
pub fn of(model: &Model, names: &Names, blocks: &Blocks, coroutine: &Coroutine) -> Vec<KeptBy> {
    let blockers = blocks
        .of(coroutine.id)
        .into_iter()
        .flat_map(|block| &block.by);
    let mut all: Vec<KeptBy> = blockers
        .map(|blocker| kept_by(model, names, coroutine, blocker))
        .collect();
    all.sort_by_key(|blocker| blocker.ended_ns.is_some());
    all
}

/// How many others keep any of these, but not this one.
pub fn others<'c>(
    blocks: &Blocks,
    coroutine: &Coroutine,
    all: impl Iterator<Item = &'c Coroutine>,
) -> usize {
    let of = |id| blocks.of(id).into_iter().flat_map(|block| &block.by);
    let of_it: BTreeSet<_> = of(coroutine.id).map(subject).collect();
    let of_all: BTreeSet<_> = all.flat_map(|other| of(other.id)).map(subject).collect();
    of_all.difference(&of_it).count()
}

/// The coroutine, or the thread of one that is not known.
fn subject(blocker: &Blocker) -> (Option<CoroutineId>, Option<u64>) {
    match (blocker.coroutine(), blocker) {
        (None, Blocker::Holder(holding)) => (None, Some(holding.tid)),
        (id, _) => (id, None),
    }
}

fn kept_by(model: &Model, names: &Names, coroutine: &Coroutine, blocker: &Blocker) -> KeptBy {
    let (how, holding) = match blocker {
        Blocker::Holder(other_holding) if other_holding.by == Waker::Foreign => {
            (UNKNOWN_HOLDER, Some(other_holding))
        }
        Blocker::Holder(holding) => ("holder", Some(holding)),
        Blocker::Host(_) => ("host", None),
        Blocker::Inside(_) => ("inside", None),
        Blocker::PreviousHolder(holding) => ("former", Some(holding)),
        _ => ("awaited", None),
    };
    let end = model.trace_model.end_of(coroutine.process);
    let other = blocker
        .coroutine()
        .and_then(|id| model.trace_model.get(id))
        .filter(|other_coroutine| other_coroutine.is_alive());
    let id = blocker.coroutine().or(holding.and_then(by));
    KeptBy {
        how,
        id: id.map(|id| id.0),
        name: id.map_or_else(String::new, |id| name(model, names, id, holding)),
        tid: holding.map(|other_holding| other_holding.tid),
        taken_at: holding.and_then(|other_holding| names.short(other_holding.site)),
        taken_ns: holding.map(|other_holding| other_holding.at.until(end).0),
        ended_ns: holding.and_then(|holding| Some(holding.ended?.until(end).0)),
        activity: other.map_or_else(
            || woke(coroutine, blocker),
            |other| Activity::of(model, names, other),
        ),
    }
}

impl Activity {
    /// Of one that has not ended.
    pub fn of(model: &Model, names: &Names, coroutine: &Coroutine) -> Self {
        let wait = coroutine.suspend();
        let end = model.trace_model.end_of(coroutine.process);
        Activity {
            does: Some(does(coroutine)),
            waits_for: wait
                .filter(|wait| wait.wait != WaitKind::Unknown)
                .map(|wait| resource::of(model, wait)),
            waits_at: wait.and_then(|wait| names.short(wait.site)),
            does_ns: Some(coroutine.state().1.until(end).0),
        }
    }
}

/// What it gave back was this one's to take, which did not, or a future inside of it did not.
fn woke(coroutine: &Coroutine, blocker: &Blocker) -> Activity {
    let woken = coroutine.wakes.call.filter(|woken| match blocker {
        Blocker::PreviousHolder(holding) => holding.at <= woken.at,
        _ => false,
    });
    Activity {
        does: woken.map(|_| "woke"),
        ..Activity::default()
    }
}

fn by(holding: &Holding) -> Option<CoroutineId> {
    match holding.by {
        Waker::Coroutine(id) => Some(id),
        _ => None,
    }
}

/// What a coroutine is called; of one that has ended, what it was called when it did.
pub fn name(model: &Model, names: &Names, id: CoroutineId, holding: Option<&Holding>) -> String {
    let alive = model
        .trace_model
        .get(id)
        .map(|trace_model| trace_model.name);
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
