//! What the gate of `--stuck --fail` says: whether something is stuck, and if nothing is, whether
//! the trace has what would tell.

use ctp_trace::record::Nanos;
use ctp_trace::verdict::{Reason, Verdict};

use crate::groups::Group;
use crate::model::Model;
use crate::run::Status;
use crate::units;

/// How the check went, by what the page lists.
pub fn check(model: &Model, groups: &[Group], threshold: Nanos) -> Status {
    if groups.iter().any(|group| group.verdict().is_stuck()) {
        return Status::CheckFailed;
    }
    let mut gaps = gaps(model);
    gaps.extend(untold(groups, threshold));
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
        gaps.push(format!("the trace is cut off at byte {offset}"));
    }
    if !model.damage.is_empty() {
        let parts = units::counted(model.damage.len() as u64, "part");
        gaps.push(format!("{parts} of the trace cannot be read"));
    }
    if 0 < model.refused() {
        let refused = units::counted(model.refused(), "coroutine");
        gaps.push(format!("{refused} found no station and were not recorded"));
    }
    let nonsense = model.census.end().map_or(0, |end| end.quarantined);
    if 0 < nonsense {
        let records = units::counted(nonsense, "record");
        gaps.push(format!("{records} made no sense and were left out"));
    }
    gaps
}

/// Those of whom the records that would tell are missing.
fn untold(groups: &[Group], threshold: Nanos) -> Option<String> {
    let untold = |group: &&Group| threshold.0 <= group.oldest_ns && is_untold(group);
    let count: usize = groups.iter().filter(untold).map(|group| group.count).sum();
    let coroutines = units::counted(count as u64, "coroutine");
    (0 < count).then(|| format!("of {coroutines} records are missing that would tell"))
}

/// A closing may be lost, after which one that waits would be stuck. A timer is not closed.
fn is_untold(group: &Group) -> bool {
    let may_be_closed = !matches!(
        group.judged.2.reason,
        Reason::Timer(_) | Reason::Ignored(_) | Reason::Queued { .. }
    );
    match group.verdict() {
        Verdict::Unknown => true,
        Verdict::Waiting => may_be_closed && !group.lost_records.is_empty(),
        _ => false,
    }
}
