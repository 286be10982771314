//! The page of `--stuck` for a process without a probe.

use std::io;

use ctp_trace::record::{InspectedTask, Nanos, TaskKind};
use ctp_trace::verdict::inspected::InspectedReason;
use ctp_trace::verdict::{Confidence, Verdict};

use super::{Findings, cpp, cycles, words};
use crate::config::StuckView;
use crate::document::hints::GAP;
use crate::evidence::inspected::TaskGroup;
use crate::evidence::inspected::site::{StackSite, suspension};
use crate::evidence::inspected::threads::ThreadStack;
use crate::evidence::inspected::words as resources;
use crate::evidence::inspected::{owners, wakers};
use crate::findings::gate::ReportStatus;
use crate::names::source::{self, paths};
use crate::text::{self, Page, units};
use crate::views::stuck::text::items;

/// The largest number of places in the list of waiting tasks.
const MAX_WAITING: usize = 20;

/// Writes the findings, the worst first.
pub fn page(
    page: &mut Page,
    findings: &Findings,
    (status, view): (&ReportStatus, &StuckView),
) -> io::Result<()> {
    let nothing = match status {
        ReportStatus::CheckFailed => None,
        ReportStatus::Fine => Some("Nothing looks stuck.".to_owned()),
        ReportStatus::Incomplete(why) => Some(text::capitalized(why) + "."),
    };
    if let Some(nothing) = nothing {
        page.sentence("", "", &nothing)?;
        page.gap()?;
    }
    stuck(page, findings, view)?;
    busy(page, findings)?;
    let groups = findings.with_verdict(Verdict::Waiting);
    // Coroutines that have run to their end are in a list of their own.
    let groups = groups.filter(|group| {
        let is_finished = group.judgement().reason == InspectedReason::Finished;
        !is_finished || group.first().kind != TaskKind::Cpp
    });
    waiting(page, &groups.collect::<Vec<_>>(), findings)?;
    cpp::write(page, findings)
}

/// Writes the stuck tasks.
pub fn stuck(page: &mut Page, findings: &Findings, view: &StuckView) -> io::Result<()> {
    for verdict in [Verdict::Deadlock, Verdict::Stuck, Verdict::MaybeStuck] {
        cycles::write(page, findings, verdict)?;
        let groups: Vec<&TaskGroup> = findings
            .with_verdict(verdict)
            .filter(|group| group.judgement().reason != InspectedReason::Deadlock)
            .collect();
        for section in groups.chunk_by(|a, b| a.judgement().reason == b.judgement().reason) {
            self::section(page, section, findings, view)?;
        }
    }
    Ok(())
}

fn section(
    page: &mut Page,
    groups: &[&TaskGroup],
    findings: &Findings,
    view: &StuckView,
) -> io::Result<()> {
    let judgement = groups[0].judgement();
    let rest = format!(
        " {}, {}",
        units::counted(count(groups), "task"),
        units::counted(groups.len() as u64, "site")
    );
    page.spread_headline(judgement.verdict.word(), &rest, judgement.confidence.word())?;
    let why = words::why(judgement, findings.is_core_file);
    page.sentence("  ", "  ", &why)?;
    page.gap()?;
    groups
        .iter()
        .try_for_each(|group| block(page, group, findings, view))
}

fn count(groups: &[&TaskGroup]) -> u64 {
    groups.iter().map(|group| group.tasks.len() as u64).sum()
}

/// Writes `47 x read_frame                 src/conn.rs:88`.
fn title(page: &mut Page, group: &TaskGroup) -> io::Result<()> {
    let count = units::grouped(group.tasks.len() as u64);
    let left = format!("  {count} x {}", group.site.function);
    match group.site.at() {
        Some(at) => page.spread(&left, &at),
        None => page.line(&left),
    }
}

fn block(
    page: &mut Page,
    group: &TaskGroup,
    findings: &Findings,
    view: &StuckView,
) -> io::Result<()> {
    title(page, group)?;
    page.cut_lines(&source::excerpt(
        findings.names.sources(),
        &group.site.label,
        page.context_lines(),
    ))?;
    if !group.site.awaited_by.is_empty() {
        items(page, "awaited by", "  <-  ", &group.site.awaited_by)?;
    }
    let tasks: Vec<&InspectedTask> = group.tasks.iter().map(|member| member.task).collect();
    branches(page, &group.site, &tasks, findings.now)?;
    for (name, values) in fields(group, findings) {
        if !values.is_empty() {
            items(page, name, ", ", &values)?;
        }
    }
    let ids = group.ids();
    if view.all_ids {
        let ids: Vec<String> = ids.iter().map(u32::to_string).collect();
        items(page, "ids", ", ", &ids)?;
    } else {
        let more = if text::FEW < ids.len() {
            "   (--ids lists all)"
        } else {
            ""
        };
        items(page, "ids", ", ", &[format!("{}{more}", text::few(&ids))])?;
    }
    page.gap()
}

/// Writes the futures that the tasks await at the same time, and what each of these futures waits
/// for.
pub fn branches(
    page: &mut Page,
    site: &StackSite,
    tasks: &[&InspectedTask],
    now: Option<Nanos>,
) -> io::Result<()> {
    for branch in &site.branches {
        let waits = resources::waits_within(tasks, &branch.frames, now);
        let mut chain = branch.chain.clone();
        if let Some(last) = chain.last_mut().filter(|_| !waits.is_empty()) {
            last.push_str(&format!(": {}", waits.join(", ")));
        }
        items(page, "branch", "  ->  ", &chain)?;
    }
    Ok(())
}

fn fields(group: &TaskGroup, findings: &Findings) -> Vec<(&'static str, Vec<String>)> {
    let tasks: Vec<&InspectedTask> = group.tasks.iter().map(|member| member.task).collect();
    let mut awaits = group.site.awaits.clone();
    if group.site.branches.is_empty() {
        awaits.extend(resources::waits(&tasks, findings.now));
    }
    let spawned = group.first().spawned_at.iter();
    let spawned =
        spawned.map(|(file, line)| format!("{}:{line}", text::escape(paths::displayed(file))));
    let is_behind = group.judgement().reason == InspectedReason::Behind;
    let blockers = group.tasks.iter().flat_map(|member| &member.blockers);
    let mut behind: Vec<u32> = blockers.filter(|_| is_behind).map(|id| id.0).collect();
    behind.sort_unstable();
    behind.dedup();
    let behind = (!behind.is_empty()).then(|| format!("task {}", text::few(&behind)));
    let mut holders = findings.locks.describe_holders(&tasks);
    holders.extend(owners::holders(&tasks, findings.threads));
    vec![
        ("waits for", awaits),
        ("behind", behind.into_iter().collect()),
        ("can wake", wakers::holders(&tasks)),
        ("held by", holders),
        ("spawned at", spawned.collect()),
    ]
}

/// Writes the threads that are blocked while they poll a task.
fn busy(page: &mut Page, findings: &Findings) -> io::Result<()> {
    let busy: Vec<&ThreadStack> = findings
        .threads
        .iter()
        .filter(|member| member.is_busy)
        .collect();
    if busy.is_empty() {
        return Ok(());
    }
    let threads = units::counted(busy.len() as u64, "thread");
    // A core file does not show for how long the call lasts.
    let (confidence, when) = if findings.is_core_file {
        (Confidence::Likely, "")
    } else {
        (Confidence::Certain, ", in every inspection")
    };
    let rest = format!(" {threads} of the runtime");
    page.spread_headline("BUSY", &rest, confidence.word())?;
    for stack in &busy {
        let thread = stack.thread;
        // Core files lack the names of threads.
        let name = match thread.name.as_str() {
            "" => "thread".to_owned(),
            name => text::escape(name),
        };
        page.line(&format!(
            "  {name} (tid {}){when}: {}",
            thread.tid,
            stack.describe()
        ))?;
        let mut calls = calls(stack);
        if let Some(task) = thread.polls {
            calls.push(format!("in task {}", task.0));
        }
        page.list("     ", "     ", "  <-  ", &calls)?;
    }
    page.sentence("     ", "     ", &behind_busy(findings, busy.len()))?;
    page.gap()
}

/// The functions of a busy thread, up to the function that polls the task.
fn calls(stack: &ThreadStack) -> Vec<String> {
    let frames = stack.frames.iter();
    let names = frames.filter_map(|(label, _)| {
        let function = label.function.as_ref()?;
        let file = label.file.as_deref().unwrap_or_default();
        let at = label.at().filter(|_| paths::displayed(file) == file);
        Some(match at {
            Some(at) => format!("{function} {at}"),
            None => function.clone(),
        })
    });
    names
        .take_while(|name| !RUNTIMES.iter().any(|runtime| name.contains(runtime)))
        .take(MAX_CALLS)
        .collect()
}

const MAX_CALLS: usize = 16;
/// Parts of the names of functions of runtimes, which poll tasks.
const RUNTIMES: &[&str] = &["tokio::runtime", "async_task::raw::", "async_executor::"];

/// `1 of 4 workers; 12 tasks are ready and wait for a worker`
fn behind_busy(findings: &Findings, busy: usize) -> String {
    let workers = findings
        .threads
        .iter()
        .filter(|member| member.thread.role.is_worker());
    let groups = findings.groups.iter();
    let ready = groups.filter(|group| group.judgement().reason == InspectedReason::BehindBusy);
    let groups: Vec<&TaskGroup> = ready.collect();
    let workers = units::counted(workers.count() as u64, "worker");
    let tasks = match count(&groups) {
        0 => String::new(),
        1 => "; 1 task is ready or due, and waits for a worker".to_owned(),
        count => format!(
            "; {} are ready or due, and wait for a worker",
            units::counted(count, "task")
        ),
    };
    format!("{busy} of {workers}{tasks}")
}

/// Writes the waiting tasks: those without anything remarkable, then the others by reason.
fn waiting(page: &mut Page, groups: &[&TaskGroup], findings: &Findings) -> io::Result<()> {
    let (usual, remarkable): (Vec<&TaskGroup>, Vec<&TaskGroup>) = groups
        .iter()
        .partition(|group| words::waiting(group.judgement().reason).is_none());
    if !usual.is_empty() {
        page.title(&format!("WAITING, not stuck: {}", tasks_and_sites(&usual)))?;
        rows(page, &holders_first(usual, findings), findings)?;
        page.gap()?;
    }
    for section in remarkable.chunk_by(|a, b| a.judgement().reason == b.judgement().reason) {
        let why = words::waiting(section[0].judgement().reason).unwrap_or_default();
        page.title(&format!("WAITING: {}; {why}", tasks_and_sites(section)))?;
        rows(page, section, findings)?;
        page.gap()?;
    }
    Ok(())
}

/// The groups, beginning with those that hold locks for which other tasks wait.
fn holders_first<'m>(
    mut groups: Vec<&'m TaskGroup<'m>>,
    findings: &Findings,
) -> Vec<&'m TaskGroup<'m>> {
    groups.sort_by_cached_key(|group| {
        let mut tasks = group.tasks.iter();
        !tasks.any(|member| findings.locks.has_awaited(member.task))
    });
    groups
}

fn tasks_and_sites(groups: &[&TaskGroup]) -> String {
    let tasks = units::counted(count(groups), "task");
    format!("{tasks}, {}", units::counted(groups.len() as u64, "site"))
}

fn rows(page: &mut Page, groups: &[&TaskGroup], findings: &Findings) -> io::Result<()> {
    for group in groups.iter().take(MAX_WAITING) {
        page.sentence("  ", "      ", &row(group, findings))?;
    }
    match groups.len().saturating_sub(MAX_WAITING) {
        0 => Ok(()),
        more => page.line(&format!(
            "  and {} (ctp-report --stacks shows all)",
            units::counted(more as u64, "more site")
        )),
    }
}

/// `10 x read_frame  src/conn.rs:88: fd 50, 51, 52 .. 59 readable`
fn row(group: &TaskGroup, findings: &Findings) -> String {
    let tasks: Vec<&InspectedTask> = group.tasks.iter().map(|member| member.task).collect();
    let count = units::grouped(group.tasks.len() as u64);
    let function = &group.site.function;
    let at = group.site.at();
    let at = at.map(|at| format!(" {at}"));
    let point = suspension(group.site.suspension);
    let mut waits = resources::waits(&tasks, findings.now);
    let mut holders = findings.locks.describe_holders(&tasks);
    holders.extend(owners::holders(&tasks, findings.threads));
    if !holders.is_empty() {
        waits.push(format!("held by {}", holders.join(", ")));
    }
    let held = findings.locks.describe_awaited(&tasks);
    let held = held
        .map(|locks| format!("; holds {locks}"))
        .unwrap_or_default();
    let colon = if waits.is_empty() { "" } else { ": " };
    format!(
        "{count} x {function}{}{point}{colon}{}{held}",
        at.unwrap_or_default(),
        waits.join(", ")
    )
}

/// Writes what to type next.
pub fn hints(page: &mut Page, tool: &str, view: &StuckView) -> io::Result<()> {
    let check = (!view.fail).then(|| format!("for scripts: {tool} --stuck --fail"));
    let stacks = format!("every task and thread: {tool} --stacks");
    let next: Vec<String> = check.into_iter().chain([stacks]).collect();
    page.list("", "", GAP, &next)
}
