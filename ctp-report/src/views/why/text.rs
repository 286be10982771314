//! Writes the text page of `ctp-report --why ID`: the chain of wakes that led to the state of the coroutine,
//! and what blocks it now.

use std::io;

use crate::evidence::blockers::{BlockedStep, BlockerLine, LineEnd};
use crate::evidence::{blocker_text, missing_wakes};
use crate::text::{self, Page, units};
use crate::views::why::model::{CausalRun, ChainOrigin, Closed, Ready, Why};

/// The column at which the description of a step begins.
const INDENT: usize = 28;

/// Writes the whole page. The chain begins with the oldest link.
pub fn page(page: &mut Page, why: &Why) -> io::Result<()> {
    let left = format!("WHY id {} {}", why.id, why.name);
    page.spread(&left, &format!("{}, {}", why.verdict, why.state))?;
    page.line(&format!("  begins with {}", origin(why.origin)))?;
    page.gap()?;
    for (i, link) in why.links.iter().enumerate() {
        let next = why.links.get(i + 1);
        let next = next.map_or((why.id, ready_by_link(why)), |link| {
            (link.id, link.ready.as_ref())
        });
        self::link(page, link, next)?;
    }
    now(page, why)?;
    blocked(page, why)?;
    if let Some(waker) = &why.last_waker {
        let subject = format!("{} the last time,", waker.subject());
        below(page, "woken by", &[subject, blocker_text::done_by(waker)])?;
    }
    if let Some(by) = &why.thread_blocker {
        below(page, "", &[format!("its thread {}", by.describe())])?;
    }
    page.gap()?;
    page.line(&summary(why))
}

fn origin(origin: ChainOrigin) -> &'static str {
    match origin {
        ChainOrigin::Fd => "a descriptor that was ready",
        ChainOrigin::Timer => "a timer that was due",
        ChainOrigin::Thread => "a thread that ran no coroutine",
        ChainOrigin::Unknown => "an unknown caller",
        ChainOrigin::NotRecorded => "a run without a recorded cause",
        ChainOrigin::Earlier => "a run with a cause that is no longer kept",
    }
}

fn link(page: &mut Page, link: &CausalRun, next: (u32, Option<&Ready>)) -> io::Result<()> {
    if let Some(ready) = link.ready.as_ref().filter(|ready| ready.by.is_none()) {
        line(page, ready.at_ns, &by(ready), &[did(ready, link.id)])?;
    }
    line(
        page,
        link.began_ns,
        &format!("id {}", link.id),
        &parts(link, next),
    )
}

/// Describes a link: wait, queue, run, and how the run made the next coroutine ready.
fn parts(link: &CausalRun, next: (u32, Option<&Ready>)) -> Vec<String> {
    let mut parts = vec![link.name.clone() + ":"];
    if link.waited_ns > 0 {
        let what = prefixed(" for", link.waited_for.as_deref());
        parts.push(format!(
            "waited {}{what},",
            units::duration_ns(link.waited_ns)
        ));
    }
    if link.ready.is_some() {
        parts.push(format!("queued {},", units::duration_ns(link.queued_ns)));
    }
    let ran = format!("ran {}", units::duration_ns(link.ran_ns));
    match next {
        (id, Some(ready)) => parts.extend([ran + ",", format!("and {}", did(ready, id))]),
        _ => parts.push(ran),
    }
    parts
}

/// Joins `word` and `what`. Empty without `what`.
fn prefixed(word: &str, what: Option<&str>) -> String {
    what.map(|what| format!("{word} {what}"))
        .unwrap_or_default()
}

fn by(ready: &Ready) -> String {
    match (ready.by, ready.tid) {
        (Some(id), _) => format!("id {id}"),
        (_, Some(tid)) => format!("tid {tid}"),
        _ => "unknown".to_owned(),
    }
}

/// The wake or spawn that made the coroutine ready, if the coroutine of the last link called it.
fn ready_by_link(why: &Why) -> Option<&Ready> {
    let last = why.links.last().map(|link| link.id);
    why.ready
        .as_ref()
        .filter(|ready| ready.by.is_some() && ready.by == last)
}

/// Describes the wake or spawn: `woke id 4 at reactor.rs:123`.
fn did(ready: &Ready, id: u32) -> String {
    let verb = if ready.spawned { "spawned" } else { "woke" };
    format!("{verb} id {id}{}", prefixed(" at", ready.place.as_deref()))
}

fn now(page: &mut Page, why: &Why) -> io::Result<()> {
    if let Some(ready) = why.ready.as_ref().filter(|_| ready_by_link(why).is_none()) {
        line(page, ready.at_ns, &by(ready), &[did(ready, why.id)])?;
    }
    if let Some(closed) = &why.closed {
        let by = format!("tid {}", closed.tid);
        line(page, closed.at_ns, &by, &closing(closed, why.id))?;
    }
    line(page, why.end_ns, "(end)", &[state(why)])
}

/// Describes the closing of the resource, with the advice to look there first if it explains the
/// verdict.
fn closing(closed: &Closed, id: u32) -> Vec<String> {
    let at = prefixed(" at", closed.place.as_deref());
    let what = match closed.ended {
        Some(ended) => format!("id {ended} ended, which did not resume id {id}"),
        None => format!("closed {}{at} without resuming id {id}", closed.thing),
    };
    let look = closed
        .is_reason
        .then(|| missing_wakes::LOOK.trim().to_owned());
    [what].into_iter().chain(look).collect()
}

fn state(why: &Why) -> String {
    match (why.state, &why.ready) {
        ("RUNNING", _) => "it runs".to_owned(),
        (_, Some(_)) => format!(
            "ready for {}, and not run",
            units::duration_ns(why.queued_ns)
        ),
        _ => {
            let at = prefixed(" at", why.wait.waits_at.as_deref());
            let what = prefixed(" for", why.wait.waits_for.as_deref());
            format!(
                "it waits{at}{what}, {} so far",
                units::duration_ns(why.wait.waits_ns)
            )
        }
    }
}

/// Writes the chain of blockers. Each step describes the coroutine named in the step before.
fn blocked(page: &mut Page, why: &Why) -> io::Result<()> {
    let Some(BlockerLine { steps, ends, cycle }) = &why.blocked else {
        return Ok(());
    };
    for (i, step) in steps.iter().enumerate() {
        let closes = i + 1 == steps.len() && *ends == LineEnd::Cycle;
        blockers(page, step, closes.then(|| self::cycle(cycle)))?;
    }
    let next = steps.last().and_then(|last| last.by.first()?.id);
    match next.filter(|_| *ends == LineEnd::More) {
        Some(id) => below(page, "", &[format!("and so on: see --why {id}")]),
        None => Ok(()),
    }
}

/// Writes the blockers of a step, each with what it does, or with the text `instead`.
fn blockers(page: &mut Page, step: &BlockedStep, instead: Option<String>) -> io::Result<()> {
    let reported = &step.by[..step.by.len().min(blocker_text::MAX_SHOWN)];
    for (i, blocker) in reported.iter().enumerate() {
        let (how, subject) = blocker_text::reported(blocker);
        let does = instead.clone().or_else(|| blocker_text::does(blocker));
        let caveat = blocker_text::caveat(step.doubted).filter(|_| i + 1 == reported.len());
        let comma = if does.is_some() { "," } else { "" };
        let mut parts = vec![subject + comma];
        parts.extend(does);
        parts.extend(caveat.map(|caveat| format!("({caveat})")));
        below(page, how, &parts)?;
    }
    match step.by.len() - reported.len() {
        0 => Ok(()),
        more => {
            let others = units::counted(more as u64, "other");
            below(page, "", &[format!("and {others}")])
        }
    }
}

fn cycle(ids: &[u32]) -> String {
    match ids {
        [_] => "which is the waiting coroutine itself".to_owned(),
        ids => {
            let count = ids.len();
            format!("which closes a cycle of {count}: ids {}", text::few(ids))
        }
    }
}

/// Writes a line without a time, which belongs to the line before.
fn below(page: &mut Page, by: &str, parts: &[String]) -> io::Result<()> {
    let first = format!("  {:<15} {by:<9} ", "");
    page.list(&first, &" ".repeat(INDENT + 2), " ", parts)
}

/// Writes a line with a time. Line breaks come only between parts.
fn line(page: &mut Page, at_ns: u64, by: &str, parts: &[String]) -> io::Result<()> {
    let first = format!("  {:<15} {by:<9} ", units::moment_ns(at_ns));
    page.list(&first, &" ".repeat(INDENT + 2), " ", parts)
}

fn summary(why: &Why) -> String {
    let (ran, queued) = why.split_ns();
    let span = why.span_ns();
    let rest = span.saturating_sub(ran).saturating_sub(queued);
    format!(
        "of {}: running {}, queued {}, waiting {}",
        units::duration_ns(span),
        units::duration_ns(ran),
        units::duration_ns(queued),
        units::duration_ns(rest)
    )
}

/// Describes the coroutines that the page does not explain.
pub fn rest(count: usize) -> String {
    let others = units::counted(count as u64, "other coroutine");
    format!("and {others}: --ids explains all")
}
