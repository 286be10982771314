//! The lines that say what should have woken the coroutines of a group.

use std::io;

use ctp_trace::record::Nanos;
use ctp_trace::verdict::Fact;

use super::fields::{INDENT, items};
use crate::evidence::blocker_text;
use crate::evidence::last_waker::LastWaker;
use crate::evidence::missing_wakes::{ClosedBy, LOOK};
use crate::evidence::usual_waker::WakeSource;
use crate::text::{self, Page, units};
use crate::views::stuck::model::Group;

/// How many closing places, and threads with losses, a group shows.
const MAX_SHOWN: usize = 3;

/// Writes the wakers of a group that was not woken, if any are known.
pub fn write(page: &mut Page, group: &Group) -> io::Result<()> {
    let fact = group.group_verdict.judged.fact;
    let is_recorded = !group.evidence.closed_by.is_empty()
        || group.evidence.usual_waker.is_some()
        || group.evidence.last_waker.is_some();
    if !is_recorded || !matches!(fact, Fact::NotWoken | Fact::NoWaker | Fact::Suspended) {
        return Ok(());
    }
    page.line("  what should have woken them")?;
    closed(page, group)?;
    if let Some(waker) = &group.evidence.usual_waker {
        usual_waker(page, &waker.source)?;
        let (wakes, of) = (
            units::grouped(waker.wakes),
            units::counted(waker.of, "time"),
        );
        detail(page, &format!("woke this site {wakes} of {of}"))?;
    }
    if let Some(waker) = &group.evidence.last_waker {
        last_waker(page, waker, group.evidence.other_last_wakers)?;
    }
    page.gap()
}

/// Writes `last woken   by id 7 sender, which has ended`, and how many others woke other members.
fn last_waker(page: &mut Page, waker: &LastWaker, other_count: usize) -> io::Result<()> {
    let subject = format!("by {},", waker.subject());
    let words = [subject, blocker_text::done_by(waker)];
    items(page, "last woken", " ", &words)?;
    others(page, "and by", other_count)
}

/// Writes the threads that lost the most records while a group waited.
pub fn lost(page: &mut Page, group: &Group) -> io::Result<()> {
    for loss in group.evidence.lost_records.iter().take(MAX_SHOWN) {
        let records = units::counted(loss.records, "record");
        let at = units::moment_ns(loss.at_ns);
        let what = format!("{records} of tid {} lost just before {at}", loss.tid);
        page.line(&format!("     {what}; a wake may be among them"))?;
    }
    Ok(())
}

fn closed(page: &mut Page, group: &Group) -> io::Result<()> {
    for (i, by) in group.evidence.closed_by.iter().take(MAX_SHOWN).enumerate() {
        closer(page, by, i == 0)?;
        detail(page, &when(by, group))?;
    }
    let more = group.evidence.closed_by.len().saturating_sub(MAX_SHOWN);
    others(page, "and", more)
}

/// Writes the place of the closing, or the coroutine that ended.
fn closer(page: &mut Page, by: &ClosedBy, is_first: bool) -> io::Result<()> {
    let look = if is_first { LOOK } else { "" };
    let field = |word| if is_first { word } else { "" };
    match &by.ended {
        None => {
            let what = (by.function.as_deref(), by.at.as_deref());
            place(page, field("closed by"), what, look)
        }
        Some(ended) => {
            let id = format!("id {}", ended.id);
            let name = Some(&*ended.name).filter(|name| !name.is_empty());
            place(page, field("ended"), (name, Some(&id)), look)
        }
    }
}

/// Writes what usually calls `wake()`.
fn usual_waker(page: &mut Page, source: &WakeSource) -> io::Result<()> {
    let what = if source.function.is_none() && source.at.is_none() {
        (None, Some(source.describe()))
    } else {
        (source.function.clone(), source.at.clone())
    };
    place(
        page,
        "usual waker",
        (what.0.as_deref(), what.1.as_deref()),
        "",
    )
}

/// Writes how many others were left out, if any.
fn others(page: &mut Page, and: &str, count: usize) -> io::Result<()> {
    if count == 0 {
        return Ok(());
    }
    let others = units::counted(count as u64, "other");
    detail(page, &format!("{and} {others}"))
}

fn detail(page: &mut Page, message: &str) -> io::Result<()> {
    page.line(&format!("{:INDENT$}{message}", ""))
}

/// The details of a closing: `tid 4127, 11.77 .. 11.87 s ago, 47 closes, 0 wakes`.
fn when(by: &ClosedBy, group: &Group) -> String {
    let ago = units::range(Nanos(by.youngest_ns), Nanos(by.oldest_ns));
    let what = if by.ended.is_some() { "end" } else { "close" };
    let closes = units::counted(by.closes as u64, what);
    let wakes = if group.group_verdict.wakes_exact {
        ", 0 wakes"
    } else {
        ""
    };
    format!("tid {}, {ago} ago, {closes}{wakes}", text::few(&by.threads))
}

/// Writes a function, with its place at the right edge. Without a function, only the place. `note` follows the
/// place.
fn place(
    page: &mut Page,
    field: &str,
    (function, at): (Option<&str>, Option<&str>),
    note: &str,
) -> io::Result<()> {
    let at = at.unwrap_or("(place not recorded)");
    let left = format!("     {field:<13}");
    match function {
        Some(function) => page.spread_with_note(&(left + function), at, note),
        None => page.line(&format!("{left}{at}{note}")),
    }
}
