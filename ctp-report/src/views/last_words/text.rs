//! The page of last words.

use std::io;

use ctp_trace::record::Nanos;

use crate::text::{self, Page, units};
use crate::views::last_words::model::{self, LastWords};

/// Groups of the others.
const MAX_GROUPS: usize = 12;

/// Writes what each of the first `told` did last, and counts the rest.
pub fn page(page: &mut Page, all: &[LastWords], reported: usize, end: Nanos) -> io::Result<()> {
    if all.is_empty() {
        return page.line("Nobody was alive: every coroutine had ended.");
    }
    let alive = units::counted(all.len() as u64, "coroutine");
    page.line(&format!(
        "LAST WORDS of {alive} alive at the end, {}",
        units::moment(end)
    ))?;
    page.gap()?;
    let (first, rest) = all.split_at(reported.min(all.len()));
    first.iter().try_for_each(|one| block(page, one))?;
    others(page, rest)
}

fn block(page: &mut Page, one: &LastWords) -> io::Result<()> {
    let left = format!("id {} {}", one.id, text::cut_middle(&one.name, 40));
    page.line(&text::spread(&left, &stands(one)))?;
    one.events.iter().try_for_each(|event| event.write(page))?;
    if one.process_ended {
        let moment = units::moment_ns(one.until_ns);
        page.line(&format!("     {moment:<15} (its process ended)"))?;
    }
    if let Some(n) = one.torn {
        page.line(&format!(
            "     torn tail, n={n}: its writer died in the middle of this event"
        ))?;
    }
    if one.lost > 0 {
        page.line(&format!(
            "     {} of it lost",
            units::counted(one.lost, "event")
        ))?;
    }
    page.gap()
}

fn stands(one: &LastWords) -> String {
    let age = units::duration(Nanos(one.since_ns).until(Nanos(one.until_ns)));
    match (one.state, one.tid, &one.at) {
        ("suspended", _, Some(at)) => {
            format!("suspended at {} for {age}", text::cut_middle(at, 30))
        }
        ("never run" | "suspended", ..) | (_, None, _) => format!("{} for {age}", one.state),
        ("crashed", Some(tid), _) => format!("crashed on tid {tid}, having run {age}"),
        (state, Some(tid), _) => format!("{state} on tid {tid} for {age}"),
    }
}

fn others(page: &mut Page, rest: &[LastWords]) -> io::Result<()> {
    if rest.is_empty() {
        return Ok(());
    }
    let many = units::grouped(rest.len() as u64);
    page.line(&format!("and {many} more, not shown (--ids lists all):"))?;
    let groups = model::groups(rest);
    for ((state, at), count) in groups.iter().take(MAX_GROUPS) {
        let left = format!("  {} x {state}", units::grouped(*count as u64));
        page.line(&match at {
            Some(at) => text::spread(&left, &text::cut_middle(at, 60)),
            None => left,
        })?;
    }
    match groups.len().saturating_sub(MAX_GROUPS) {
        0 => {}
        more => page.line(&format!(
            "  and {} more",
            units::counted(more as u64, "place")
        ))?,
    }
    page.gap()
}
