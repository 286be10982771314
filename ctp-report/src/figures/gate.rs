//! What the gate of `--stuck --fail` says: whether something is stuck, and if nothing is, whether
//! the trace has what would tell.

use std::collections::BTreeMap;

use ctp_trace::census::Coroutine;
use ctp_trace::record::{CoroutineId, Nanos, ProcessId};
use ctp_trace::verdict::{Reason, Verdict};

use crate::figures::groups::Group;
use crate::model::Model;
use crate::units;

/// How it went, and what was checked by it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// As asked.
    Fine,
    /// As asked, and what was to be checked is not so.
    CheckFailed,
    /// As asked, but what was to be checked cannot be told, for this reason.
    Untold(String),
}

/// How the check went, by what the page lists.
pub fn check(model: &Model, groups: &[Group], threshold: Nanos) -> Status {
    if groups.iter().any(|group| group.verdict().is_stuck()) {
        return Status::CheckFailed;
    }
    let mut gaps = gaps(model);
    gaps.extend(untold(model, groups, threshold));
    match &gaps[..] {
        [] => Status::Fine,
        gaps => Status::Untold(format!(
            "nothing looks stuck, but whether that is so cannot be told: {}",
            gaps.join("; ")
        )),
    }
}

/// What is missing of the trace as a whole: anybody may be stuck there.
fn gaps(model: &Model) -> Vec<String> {
    let mut gaps = Vec::new();
    if let Some(offset) = model.truncated_at {
        gaps.push(match model.goes_on {
            true => "it is still recorded".to_owned(),
            false => format!("the trace is cut off at byte {offset}"),
        });
    }
    if !model.damage.is_empty() {
        let parts = units::counted(model.damage.len() as u64, "part");
        gaps.push(format!("{parts} of the trace cannot be read"));
    }
    if 0 < model.refused() {
        let refused = units::counted(model.refused(), "coroutine");
        gaps.push(format!("{refused} found no station and were not recorded"));
    }
    if 0 < model.unrecorded() {
        gaps.push(model.who_is_missing());
    }
    let changes = model.census.filtering().changes();
    if changes.iter().any(|change| change.stopped) {
        gaps.push("recording was stopped for a while".to_owned());
    }
    let nonsense = model.census.end().map_or(0, |end| end.quarantined);
    if 0 < nonsense {
        let records = units::counted(nonsense, "record");
        gaps.push(format!("{records} made no sense and were left out"));
    }
    gaps
}

/// Those of whom the records that would tell are missing.
fn untold(model: &Model, groups: &[Group], threshold: Nanos) -> Option<String> {
    let mut losses = LatestLosses::default();
    let members = groups.iter().flat_map(|group| {
        let ids = group.members.ids.iter().map(|id| CoroutineId(*id));
        ids.filter_map(move |id| Some((group, model.census.get(id)?)))
    });
    let old = members.filter(|(_, one)| threshold <= age(model, one));
    let count = old
        .filter(|(group, one)| losses.hide(model, group, one))
        .count();
    let coroutines = units::counted(count as u64, "coroutine");
    (0 < count).then(|| format!("of {coroutines} records are missing that would tell"))
}

fn age(model: &Model, one: &Coroutine) -> Nanos {
    let (_, since) = one.state();
    since.until(model.census.end_of(one.process))
}

/// When threads of each process lost records last, as far as that was asked.
#[derive(Default)]
struct LatestLosses(BTreeMap<ProcessId, Option<Nanos>>);

impl LatestLosses {
    /// A closing may be lost, after which one that waits would be stuck. A timer is not closed.
    fn hide(&mut self, model: &Model, group: &Group, one: &Coroutine) -> bool {
        let may_be_closed = !matches!(
            group.ruling.judged.2.reason,
            Reason::Timer(_) | Reason::Ignored(_) | Reason::Queued { .. }
        );
        match group.verdict() {
            Verdict::Unknown => true,
            Verdict::Waiting if may_be_closed => self.is_any_since(model, one),
            _ => false,
        }
    }

    fn is_any_since(&mut self, model: &Model, one: &Coroutine) -> bool {
        let latest = self.0.entry(one.process).or_insert_with(|| {
            let all = model.census.losses_since(one.process, Nanos(0));
            all.iter().map(|loss| loss.at).max()
        });
        let (_, since) = one.state();
        latest.is_some_and(|at| since <= at)
    }
}
