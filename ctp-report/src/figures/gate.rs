//! What the gate of `--stuck --fail` says: whether something is stuck, and if nothing is, whether
//! the trace has what would tell.

use ctp_trace::census::{Gap, gaps};
use ctp_trace::record::Nanos;

use crate::figures::groups::Member;
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
pub fn check(model: &Model, members: &[Member<'_>], threshold: Nanos) -> Status {
    let mut verdicts = members.iter().map(|(_, judgement)| judgement.verdict);
    if verdicts.any(|verdict| verdict.is_stuck()) {
        return Status::CheckFailed;
    }
    let judged = members.iter().map(|(one, judgement)| (one.id, *judgement));
    let mut gaps = unread(model);
    let of_records = model.census.gaps(judged, threshold).into_iter();
    gaps.extend(of_records.map(|gap| said(model, gap)));
    match gaps::doubt(&gaps) {
        None => Status::Fine,
        Some(doubt) => Status::Untold(format!("nothing looks stuck, but {doubt}")),
    }
}

/// What is missing of the file: any coroutine may be stuck there.
fn unread(model: &Model) -> Vec<String> {
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
    if model.imported.is_some() {
        gaps.push("the file of another tool does not say what is missing".to_owned());
    }
    gaps
}

fn said(model: &Model, gap: Gap) -> String {
    match gap {
        Gap::Unrecorded(_) => model.who_is_missing(),
        gap => gap.to_string(),
    }
}
