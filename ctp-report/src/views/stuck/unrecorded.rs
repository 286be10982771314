//! Tasks that inspections found during a recording, but that are not recorded. A program to which the
//! recorder attaches late has such tasks: those that have not run since, and those without a probe.

use std::io;

use serde_json::Value;

use super::inspected::{self, Findings};
use crate::config::StuckView;
use crate::config::filter::Filter;
use crate::document::inspection;
use crate::evidence::inspected::held_locks::HeldLocks;
use crate::evidence::inspected::{self as evidence, TaskGroup};
use crate::findings::gate::{self, ReportStatus};
use crate::load::Model;
use crate::names::Names;
use crate::text::{Page, units};

/// The tasks that the filter admits, the worst verdict first, and the number of all.
pub fn groups<'m>(
    model: &'m Model,
    view: &StuckView,
    shown: &Filter,
) -> (Vec<TaskGroup<'m>>, usize) {
    let mut judged = model.trace_model.judge_inspected(view.threshold);
    judged.retain(|member| !member.task.is_recorded());
    let all = judged.len();
    evidence::filter(&mut judged, shown);
    (evidence::groups(judged, &view.ignore), all)
}

/// Whether any of the tasks is stuck, or cannot be judged.
pub fn check(model: &Model, groups: &[TaskGroup]) -> ReportStatus {
    if groups.is_empty() {
        return ReportStatus::Fine;
    }
    let of_tasks = groups.iter().flat_map(|group| &group.tasks);
    let judgements: Vec<_> = of_tasks.map(|member| member.judgement).collect();
    gate::check_inspected(model, &judgements)
}

/// What a page shows of these tasks. Threads are shown with the coroutines.
pub fn findings<'m>(model: &Model, names: &'m Names, groups: &'m [TaskGroup<'m>]) -> Findings<'m> {
    Findings {
        groups,
        locks: HeldLocks::of(groups),
        threads: &[],
        names,
        now: inspected::last_inspection(model),
        is_core_file: model.is_core_file(),
    }
}

/// Adds the tasks to the fields of a document, if there are any.
pub fn with_tasks(mut fields: Value, model: &Model, groups: &[TaskGroup]) -> Value {
    let inspected = inspection::fields(model, groups, &[]);
    if let (false, Value::Object(fields), Value::Object(inspected)) =
        (groups.is_empty(), &mut fields, inspected)
    {
        fields.extend(inspected);
    }
    fields
}

/// Writes the stuck tasks, and how many tasks are not stuck.
pub fn write(page: &mut Page, tasks: &Findings, view: &StuckView) -> io::Result<()> {
    inspected::text::stuck(page, tasks, view)?;
    let waiting = tasks.groups.iter();
    let waiting = waiting.filter(|group| !group.judgement().verdict.is_stuck());
    let count: usize = waiting.map(|group| group.tasks.len()).sum();
    if count == 0 {
        return Ok(());
    }
    let tasks = units::counted(count as u64, "task");
    page.line(&format!(
        "{tasks} not recorded and not stuck (ctp-report --stacks shows all)"
    ))?;
    page.gap()
}
