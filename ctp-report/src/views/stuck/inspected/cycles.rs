//! Deadlocks: each task with the lock that it waits for, and the guard that holds the lock.

use std::collections::BTreeMap;
use std::io;

use ctp_trace::model::JudgedTask;
use ctp_trace::record::{Resource, TaskId};
use ctp_trace::verdict::Verdict;
use ctp_trace::verdict::inspected::InspectedReason;

use super::Findings;
use super::text::branches;
use crate::evidence::inspected::site::StackSite;
use crate::evidence::inspected::{owners, words};
use crate::names::source;
use crate::text::{Page, units};
use crate::views::stuck::text::items;

/// The largest number of cycles that are written.
const MAX_CYCLES: usize = 8;

type Tasks<'m> = BTreeMap<TaskId, &'m JudgedTask<'m>>;

/// Writes the cycles with this verdict.
pub fn write(page: &mut Page, findings: &Findings, verdict: Verdict) -> io::Result<()> {
    let all = findings.groups.iter().flat_map(|group| &group.tasks);
    let tasks: Tasks = all.map(|member| (member.task.id, member)).collect();
    let cycles = cycles_of(&tasks, verdict);
    if cycles.is_empty() {
        return Ok(());
    }
    let count: usize = cycles.iter().map(|cycle| cycle.len()).sum();
    let rest = format!(
        " {}, {}",
        units::counted(count as u64, "task"),
        units::counted(cycles.len() as u64, "cycle")
    );
    page.spread_headline(verdict.word(), &rest, verdict.confidence().word())?;
    let proof = if findings.is_core_file {
        "all were idle"
    } else {
        "all were idle, and nothing changed, in every inspection"
    };
    let members = cycles.iter().flat_map(|cycle| cycle.iter());
    let has_branches = members
        .filter_map(|id| tasks.get(id))
        .any(|member| !StackSite::of(member.task, member.stack).branches.is_empty());
    let may_continue = has_branches && verdict == Verdict::MaybeStuck;
    page.sentence("  ", "  ", &why(proof, verdict, may_continue))?;
    page.gap()?;
    for cycle in cycles.iter().take(MAX_CYCLES) {
        write_cycle(page, findings, cycle, &tasks)?;
    }
    match cycles.len().saturating_sub(MAX_CYCLES) {
        0 => Ok(()),
        more => page.line(&format!(
            "  and {} (--json lists all)",
            units::counted(more as u64, "more cycle")
        )),
    }
}

/// The cycles with this verdict, each from its first member on.
fn cycles_of<'m>(tasks: &Tasks<'m>, verdict: Verdict) -> Vec<&'m [TaskId]> {
    let first_members = tasks.values().filter(|member| {
        let judgement = member.judgement;
        judgement.reason == InspectedReason::Deadlock
            && judgement.verdict == verdict
            && member.cycle.first() == Some(&member.task.id)
    });
    first_members
        .map(|member| member.cycle.as_slice())
        .collect()
}

/// Why the tasks of the cycles cannot continue. No cycle through channels is certain.
fn why(proof: &str, verdict: Verdict, may_continue: bool) -> String {
    let awaited = if verdict == Verdict::MaybeStuck {
        "for a lock that the next holds, for its end, or for room in its channel"
    } else {
        "for a lock that the next holds, or for its end"
    };
    let branch = if may_continue {
        "; a task with another branch continues if that branch does"
    } else {
        ""
    };
    format!("each waits {awaited}, and the last for the first; {proof}{branch}")
}

fn write_cycle(
    page: &mut Page,
    findings: &Findings,
    cycle: &[TaskId],
    tasks: &Tasks,
) -> io::Result<()> {
    let next = cycle.iter().cycle().skip(1);
    for (id, next) in cycle.iter().zip(next) {
        if let (Some(member), Some(next)) = (tasks.get(id), tasks.get(next)) {
            write_member(page, findings, member, next)?;
        }
    }
    page.gap()
}

fn write_member(
    page: &mut Page,
    findings: &Findings,
    member: &JudgedTask,
    next: &JudgedTask,
) -> io::Result<()> {
    let site = StackSite::of(member.task, member.stack);
    let left = format!("  task {}  {}", member.task.id.0, site.function);
    let at = site.at().unwrap_or_default();
    page.spread(&left, &at)?;
    let lines = page.context_lines();
    page.cut_lines(&source::excerpt(
        findings.names.sources(),
        &site.label,
        lines,
    ))?;
    if !site.awaited_by.is_empty() {
        items(page, "awaited by", "  <-  ", &site.awaited_by)?;
    }
    items(page, "waits for", ", ", &[held_by(member, next)])?;
    let holders = owners::holders(&[member.task], findings.threads);
    if !holders.is_empty() {
        items(page, "held by", ", ", &holders)?;
    }
    branches(page, &site, &[member.task], findings.now)
}

/// `mutex 0x5578, which task 8140 holds (guard `to`, :33)`
fn held_by(member: &JudgedTask, next: &JudgedTask) -> String {
    let id = next.task.id;
    for wait in &member.task.waits {
        if wait.resource == Resource::Task(id) {
            return format!("the end of task {}", id.0);
        }
        let hold = next
            .task
            .holds
            .iter()
            .find(|hold| hold.resource == wait.resource);
        if let Some(hold) = hold {
            let lock = words::resource(wait.resource, None);
            let lock = lock.unwrap_or_else(|| "a lock".to_owned());
            let verb = if matches!(hold.resource, Resource::Room(_)) {
                "makes"
            } else {
                "holds"
            };
            return format!(
                "{lock}, which task {} {verb} ({})",
                id.0,
                words::guard(hold)
            );
        }
    }
    format!("task {}", id.0)
}
