//! The page that says what led a coroutine to where it is.

use std::io;

use ctp_trace::record::Nanos;

use crate::page::Page;
use crate::text;
use crate::units;
use crate::why::{Link, Origin, Ready, Why};

/// Where what happened begins on a line.
const INDENT: usize = 28;

/// Writes the chain, the oldest link first.
pub fn page(page: &mut Page, why: &Why) -> io::Result<()> {
    let left = format!("WHY id {} {}", why.id, text::cut_middle(&why.name, 50));
    page.line(&text::spread(
        &left,
        &format!("{}, {}", why.verdict, why.state),
    ))?;
    page.line(&format!("  begins with {}", origin(why.origin)))?;
    page.gap()?;
    for (i, link) in why.links.iter().enumerate() {
        let next = why.links.get(i + 1);
        let next = next.map_or((why.id, by_a_link(why)), |it| (it.id, it.ready.as_ref()));
        self::link(page, link, next)?;
    }
    now(page, why)?;
    page.gap()?;
    page.line(&summary(why))
}

fn origin(origin: Origin) -> &'static str {
    match origin {
        Origin::Fd => "a descriptor that was ready",
        Origin::Timer => "a timer that was due",
        Origin::Thread => "a thread that ran no coroutine",
        Origin::Unknown => "a wake by one that is not known",
        Origin::NotTold => "a run of which it is not told what led to it",
        Origin::Earlier => "what is not kept any more: there is more before it",
    }
}

fn link(page: &mut Page, link: &Link, next: (u32, Option<&Ready>)) -> io::Result<()> {
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

/// What became of one, up to what it did to the next.
fn parts(link: &Link, next: (u32, Option<&Ready>)) -> Vec<String> {
    let time = |ns| units::duration(Nanos(ns));
    let mut parts = vec![text::cut_middle(&link.name, 40) + ":"];
    if link.waited_ns > 0 {
        let what = of(" for", link.waited_for.as_deref());
        parts.push(format!("waited {}{what},", time(link.waited_ns)));
    }
    if link.ready.is_some() {
        parts.push(format!("queued {},", time(link.queued_ns)));
    }
    let ran = format!("ran {}", time(link.ran_ns));
    match next {
        (id, Some(ready)) => parts.extend([ran + ",", format!("and {}", did(ready, id))]),
        _ => parts.push(ran),
    }
    parts
}

/// A word and what it is about, or nothing.
fn of(word: &str, what: Option<&str>) -> String {
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

/// What made it ready, if one of the chain did.
fn by_a_link(why: &Why) -> Option<&Ready> {
    let last = why.links.last().map(|link| link.id);
    why.ready
        .as_ref()
        .filter(|ready| ready.by.is_some() && ready.by == last)
}

/// `woke id 4 at reactor.rs:123`.
fn did(ready: &Ready, id: u32) -> String {
    let verb = if ready.spawned { "spawned" } else { "woke" };
    format!("{verb} id {id}{}", of(" at", ready.place.as_deref()))
}

fn now(page: &mut Page, why: &Why) -> io::Result<()> {
    if let Some(ready) = why.ready.as_ref().filter(|_| by_a_link(why).is_none()) {
        line(page, ready.at_ns, &by(ready), &[did(ready, why.id)])?;
    }
    line(page, why.end_ns, "(end)", &[state(why)])
}

fn state(why: &Why) -> String {
    let time = |ns| units::duration(Nanos(ns));
    match (why.state, &why.ready) {
        ("RUNNING", _) => "it runs".to_owned(),
        (_, Some(_)) => format!("ready for {}, and not run", time(why.queued_ns)),
        _ => {
            let at = of(" at", why.waits_at.as_deref());
            let what = of(" for", why.waits_for.as_deref());
            format!("it waits{at}{what}, {} so far", time(why.waits_ns))
        }
    }
}

/// A line is broken between parts only.
fn line(page: &mut Page, at_ns: u64, by: &str, parts: &[String]) -> io::Result<()> {
    let first = format!("  {:<15} {by:<9} ", units::moment(Nanos(at_ns)));
    page.lines(&text::flow(&first, &" ".repeat(INDENT + 2), " ", parts))
}

fn summary(why: &Why) -> String {
    let time = |ns| units::duration(Nanos(ns));
    let (ran, queued) = why.split_ns();
    let span = why.span_ns();
    let rest = span.saturating_sub(ran).saturating_sub(queued);
    format!(
        "of {}: running {}, queued {}, waiting {}",
        time(span),
        time(ran),
        time(queued),
        time(rest)
    )
}
