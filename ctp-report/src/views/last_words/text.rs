//! The page of `--last-words`.

use std::io;

use ctp_trace::record::Nanos;

use crate::evidence::proof;
use crate::text::{Page, units};
use crate::views::last_words::model::{self, LastWords};

/// How many groups of the other coroutines are shown.
const MAX_GROUPS: usize = 12;

/// Writes the last events of the first `limit` coroutines, and counts the others.
pub fn page(page: &mut Page, all: &[LastWords], limit: usize, end: Nanos) -> io::Result<()> {
    if all.is_empty() {
        return page.line("No coroutine was alive at the end.");
    }
    let alive = units::counted(all.len() as u64, "coroutine");
    page.line(&format!(
        "LAST WORDS of {alive} alive at the end, {}",
        units::moment(end)
    ))?;
    page.gap()?;
    let (first, rest) = all.split_at(limit.min(all.len()));
    first
        .iter()
        .try_for_each(|last_words| block(page, last_words))?;
    others(page, rest)
}

fn block(page: &mut Page, last_words: &LastWords) -> io::Result<()> {
    let left = format!("id {} {}", last_words.id, last_words.name);
    page.spread(&left, &state(last_words))?;
    proof::write(page, &last_words.events)?;
    if last_words.process_ended {
        let moment = units::moment_ns(last_words.until_ns);
        page.line(&format!("     {moment:<15} (its process ended)"))?;
    }
    if let Some(n) = last_words.torn {
        page.line(&format!(
            "     torn tail, n={n}: the writer died in the middle of this event"
        ))?;
    }
    if last_words.lost > 0 {
        page.line(&format!(
            "     {} lost",
            units::counted(last_words.lost, "event")
        ))?;
    }
    page.gap()
}

fn state(last_words: &LastWords) -> String {
    let age = units::duration(Nanos(last_words.since_ns).until(Nanos(last_words.until_ns)));
    match (last_words.state, last_words.tid, &last_words.at) {
        ("suspended", _, Some(at)) => {
            format!("suspended at {at} for {age}")
        }
        ("never run" | "suspended", ..) | (_, None, _) => format!("{} for {age}", last_words.state),
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
        match at {
            Some(at) => page.spread(&left, at)?,
            None => page.line(&left)?,
        }
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
