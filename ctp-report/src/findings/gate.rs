//! The check of `--stuck --fail`: whether anything is stuck, and if not, whether the trace is complete
//! enough to know.

use std::collections::BTreeMap;

use ctp_trace::model::{Gap, InspectedProcess, gaps};
use ctp_trace::quantity::counted;
use ctp_trace::record::{CoroutineId, Nanos, Resource};
use ctp_trace::verdict::Judgement;
use ctp_trace::verdict::inspected::InspectedJudgement;

use crate::evidence::Member;
use crate::load::Model;

/// The result of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReportStatus {
    /// Success.
    Fine,
    /// The report succeeded, and the check found a failure.
    CheckFailed,
    /// The report succeeded, but the check has no answer, for this reason.
    Incomplete(String),
}

impl ReportStatus {
    /// The worse of two results: a failure, or else a check without an answer.
    #[must_use]
    pub fn or_worse(self, other: ReportStatus) -> ReportStatus {
        match (&self, &other) {
            (ReportStatus::CheckFailed, _) | (_, ReportStatus::Fine) => self,
            (_, ReportStatus::CheckFailed) | (ReportStatus::Fine, _) => other,
            (ReportStatus::Incomplete(_), ReportStatus::Incomplete(_)) => self,
        }
    }
}

/// Checks the coroutines that the page lists.
pub fn check(model: &Model, members: &[Member<'_>], threshold: Nanos) -> ReportStatus {
    let mut verdicts = members.iter().map(|(_, judgement)| judgement.verdict);
    if verdicts.any(|verdict| verdict.is_stuck()) {
        return ReportStatus::CheckFailed;
    }
    let gaps = gaps_of(model, members, threshold);
    match gaps::caveat(&gaps) {
        None => ReportStatus::Fine,
        Some(caveat) => ReportStatus::Incomplete(format!("nothing looks stuck, but {caveat}")),
    }
}

/// What the trace lacks to say that nothing is stuck, as sentences without a full stop.
pub fn gaps_of(model: &Model, members: &[Member<'_>], threshold: Nanos) -> Vec<String> {
    let of_trace = model.trace_model.gaps(judgements(members), threshold);
    let of_trace = of_trace.into_iter();
    let mut gaps: Vec<String> = of_trace.map(|gap| message(model, gap)).collect();
    if model.imported.is_some() {
        gaps.push("the file of another tool does not say what is missing".to_owned());
    }
    gaps
}

/// The waits about which the trace says too little.
pub fn gaps_of_waits(model: &Model, members: &[Member<'_>], threshold: Nanos) -> Vec<Gap> {
    let judged = judgements(members);
    model.trace_model.gaps_of_waits(judged, threshold)
}

fn judgements(members: &[Member<'_>]) -> impl Iterator<Item = (CoroutineId, Judgement)> {
    let all = members.iter();
    all.map(|(coroutine, judgement)| (coroutine.id, *judgement))
}

/// Checks the tasks of inspected processes. `judgements` has those of the tasks that a filter admits.
pub fn check_inspected(model: &Model, judgements: &[InspectedJudgement]) -> ReportStatus {
    if judgements.iter().any(|judged| judged.verdict.is_stuck()) {
        return ReportStatus::CheckFailed;
    }
    let mut reasons: BTreeMap<&str, u64> = BTreeMap::new();
    for judged in judgements.iter().filter(|judged| judged.reason.is_gap()) {
        *reasons.entry(judged.reason.when()).or_default() += 1;
    }
    let tasks = reasons.into_iter();
    let mut gaps: Vec<String> = tasks
        .map(|(when, count)| format!("{}: {when}", counted(count, "task")))
        .collect();
    if has_no_task(model) {
        gaps.push("no task was found".to_owned());
    }
    for (_, process) in model.trace_model.inspected() {
        gaps.extend(process.gaps.iter().cloned());
        if process.times.len() < 2 && !process.is_core_file() {
            gaps.push("there is a single inspection".to_owned());
        }
        if process.is_core_file() && has_timer(process) {
            gaps.push("a core file does not say which timers were due".to_owned());
        }
    }
    if !model.is_readable() {
        gaps.push("a part of the trace is missing".to_owned());
    }
    match gaps::caveat(&gaps) {
        None => ReportStatus::Fine,
        Some(caveat) => ReportStatus::Incomplete(format!("nothing looks stuck, but {caveat}")),
    }
}

fn has_no_task(model: &Model) -> bool {
    let mut all = model.trace_model.inspected();
    all.all(|(_, process)| process.tasks.is_empty())
}

fn has_timer(process: &InspectedProcess) -> bool {
    let tasks = process.tasks.values();
    let mut waits = tasks.flat_map(|known| &known.latest.waits);
    waits.any(|wait| matches!(wait.resource, Resource::Timer(_)))
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
