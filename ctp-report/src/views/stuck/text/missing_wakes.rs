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
        page.line(&usual_waker(&waker.source))?;
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
        let look = if i == 0 { LOOK } else { "" };
        page.line(&(closer(by, i == 0) + look))?;
        detail(page, &when(by, group))?;
    }
    let more = group.evidence.closed_by.len().saturating_sub(MAX_SHOWN);
    others(page, "and", more)
}

/// The place of the closing, or the coroutine that ended.
fn closer(by: &ClosedBy, is_first: bool) -> String {
    let field = |word| if is_first { word } else { "" };
    match &by.ended {
        None => place(field("closed by"), &by.function, &by.at),
        Some(ended) => {
            let name = (!ended.name.is_empty()).then(|| ended.name.clone());
            place(field("ended"), &name, &Some(format!("id {}", ended.id)))
        }
    }
}

/// What usually calls `wake()`.
fn usual_waker(source: &WakeSource) -> String {
    if source.function.is_none() && source.at.is_none() {
        place("usual waker", &None, &Some(source.describe()))
    } else {
        place("usual waker", &source.function, &source.at)
    }
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

/// The details of a closing: `tid 4127, 11.77 .. 11.80 s ago, 47 closes, 0 wakes`.
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

/// A function, with its place at the right edge. Without a function, only the place.
fn place(field: &str, function: &Option<String>, at: &Option<String>) -> String {
    let room = text::EDGE - INDENT - 2;
    let at = at.as_deref().unwrap_or("(place not recorded)");
    let Some(function) = function else {
        return format!("     {field:<13}{}", text::cut_middle(at, room));
    };
    let at = text::cut_middle(at, room * 2 / 3);
    let function = short(function, room.saturating_sub(text::columns(&at)));
    text::spread(&format!("     {field:<13}{function}"), &at)
}

/// A function with as many of its modules as fit into `room` columns.
fn short(function: &str, room: usize) -> String {
    let mut rest = function;
    while room < text::columns(rest)
        && let Some((module, more)) = rest.split_once("::")
        && module.chars().all(|c| c.is_alphanumeric() || c == '_')
    {
        rest = more;
    }
    text::cut_middle(rest, room)
}

#[cfg(test)]
mod tests {
    use super::*;

    // CT-14
    #[test]
    fn long_function_names_lose_modules_first() {
        let name = "mini_rt::reactor::Reactor::on_hangup";
        assert_eq!(short(name, 40), name);
        assert_eq!(short(name, 30), "reactor::Reactor::on_hangup");
        assert_eq!(short(name, 9), "on_hangup");
        let of_a_trait = "<a::B as core::task::Wake>::wake";
        assert!(text::columns(&short(of_a_trait, 20)) <= 20);
    }
}
