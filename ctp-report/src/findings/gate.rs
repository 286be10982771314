//! What the gate of `--stuck --fail` says: whether something is stuck, and if nothing is, whether
//! the trace has what would tell.

use ctp_trace::record::Nanos;
use ctp_trace::trace_model::{Gap, gaps};

use crate::evidence::Member;
use crate::load::Model;

/// How it went, and what was checked by it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// As asked.
    Fine,
    /// As asked, and what was to be checked is not so.
    CheckFailed,
    /// As asked, but what was to be checked cannot be told, for this reason.
    Incomplete(String),
}

/// How the check went, by what the page lists.
pub fn check(model: &Model, members: &[Member<'_>], threshold: Nanos) -> Status {
    let mut verdicts = members.iter().map(|(_, judgement)| judgement.verdict);
    if verdicts.any(|verdict| verdict.is_stuck()) {
        return Status::CheckFailed;
    }
    let judged = members
        .iter()
        .map(|(coroutine, judgement)| (coroutine.id, *judgement));
    let of_trace = model.trace_model.gaps(judged, threshold).into_iter();
    let mut gaps: Vec<String> = of_trace.map(|gap| message(model, gap)).collect();
    if model.imported.is_some() {
        gaps.push("the file of another tool does not say what is missing".to_owned());
    }
    match gaps::caveat(&gaps) {
        None => Status::Fine,
        Some(caveat) => Status::Incomplete(format!("nothing looks stuck, but {caveat}")),
    }
}

fn message(model: &Model, gap: Gap) -> String {
    match gap {
        Gap::Unrecorded(_) => model.missing_coroutines(),
        Gap::NoEnd if model.goes_on => "it is still recorded".to_owned(),
        Gap::NoEnd => match model.truncated_at {
            Some(offset) => format!("{gap} at byte {offset}"),
            None => gap.to_string(),
        },
        gap => gap.to_string(),
    }
}
