//! Who keeps a coroutine that waits: who holds its lock since when, and what that one does.

use ctp_trace::census::{Blocks, Coroutine, Holding, Keeper};
use ctp_trace::record::{CoroutineId, Waker};
use ctp_trace::verdict::State;
use serde::Serialize;

use crate::model::Model;
use crate::names::{Label, Names, tidy};
use crate::waits;

/// What a holder is of whom only the thread is known.
pub const UNKNOWN_HOLDER: &str = "unknown-holder";

/// One that keeps another one waiting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KeptBy {
    /// `holder` of the lock, `unknown-holder` where only the thread that took it is known, `awaited` as
    /// such, or `host`, the one that would have to poll it.
    pub how: &'static str,
    /// Which coroutine, if it is one.
    pub id: Option<u32>,
    /// Its name.
    pub name: String,
    /// Which thread took the lock.
    pub tid: Option<u64>,
    /// Where.
    pub taken_at: Option<String>,
    /// How long ago.
    pub taken_ns: Option<u64>,
    /// How long ago it ended.
    pub ended_ns: Option<u64>,
    /// What it does itself: `waits`, `runs`, or `born` where it never ran.
    pub does: Option<&'static str>,
    /// What it waits for.
    pub waits_for: Option<String>,
    /// Where it waits.
    pub waits_at: Option<String>,
    /// For how long it has done so.
    pub does_ns: Option<u64>,
}

/// All that keep this one, as far as that was told.
pub fn of(model: &Model, names: &Names, blocks: &Blocks, one: &Coroutine) -> Vec<KeptBy> {
    let keepers = blocks.of(one.id).into_iter().flat_map(|block| &block.by);
    keepers
        .map(|keeper| kept_by(model, names, one, keeper))
        .collect()
}

fn kept_by(model: &Model, names: &Names, one: &Coroutine, keeper: &Keeper) -> KeptBy {
    let (how, holding) = match keeper {
        Keeper::Holder(it) if it.by == Waker::Foreign => (UNKNOWN_HOLDER, Some(it)),
        Keeper::Holder(holding) => ("holder", Some(holding)),
        Keeper::Host(_) => ("host", None),
        _ => ("awaited", None),
    };
    let end = model.census.end_of(one.process);
    let id = keeper.coroutine();
    let other = id
        .and_then(|id| model.census.get(id))
        .filter(|it| it.is_alive());
    let wait = other.and_then(Coroutine::suspend);
    KeptBy {
        how,
        id: id.map(|id| id.0),
        name: id.map_or_else(String::new, |id| name(model, id, holding)),
        tid: holding.map(|it| it.tid),
        taken_at: holding.and_then(|it| names.of(it.site)?.short()),
        taken_ns: holding.map(|it| it.at.until(end).0),
        ended_ns: holding.and_then(|it| Some(it.ended?.until(end).0)),
        does: other.map(does),
        waits_for: wait.map(|wait| waits::one(wait.wait, wait.arg, None)),
        waits_at: wait.and_then(|wait| names.of(wait.site).and_then(Label::short)),
        does_ns: other.map(|it| it.state().1.until(end).0),
    }
}

/// What a coroutine is called; of one that has ended, what it was called when it did.
pub fn name(model: &Model, id: CoroutineId, holding: Option<&Holding>) -> String {
    let alive = model.census.get(id).map(|one| one.name);
    let name = alive.or(holding.map(|it| it.name)).unwrap_or_default();
    tidy(model.census.name(name)).unwrap_or_default()
}

fn does(one: &Coroutine) -> &'static str {
    match one.state().0 {
        State::Running => "runs",
        State::Born => "born",
        _ => "waits",
    }
}
