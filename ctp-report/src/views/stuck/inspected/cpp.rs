//! The frames of C++20 coroutines on the page of `--stuck`: those that were not destroyed, and all by function.

use std::io;

use super::Findings;
use crate::evidence::inspected::cpp::{self, FunctionFrames};
use crate::text::{Page, units};

/// The largest number of functions in a list.
const MAX_FUNCTIONS: usize = 20;

/// A function, and how many frames of it are listed.
type Row<'f> = (usize, &'f FunctionFrames);

/// Writes the frames, if there are any.
pub fn write(page: &mut Page, findings: &Findings) -> io::Result<()> {
    let functions = cpp::frames(findings.groups);
    let finished = rows(&functions, |frames| frames.finished);
    let why = ": run to the end, and nothing has destroyed them yet; a leak if their number grows";
    list(page, &finished, "NOT DESTROYED", why)?;
    list(page, &rows(&functions, |frames| frames.live), "LIVE", "")?;
    let uncertain = rows(&functions, |frames| frames.may_be_freed);
    let why = ": the allocator does not say that their memory is in use";
    list(page, &uncertain, "MAY BE FREED", why)
}

/// The functions with a count other than 0, the largest first.
fn rows(functions: &[FunctionFrames], count: fn(&FunctionFrames) -> usize) -> Vec<Row<'_>> {
    let rows = functions.iter().map(|frames| (count(frames), frames));
    let mut rows: Vec<Row> = rows.filter(|(count, _)| 0 < *count).collect();
    rows.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    rows
}

/// Writes `LIVE 3 frames of C++20 coroutines, 2 functions`, and a line for each function.
fn list(page: &mut Page, rows: &[Row], word: &str, what: &str) -> io::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let frames: usize = rows.iter().map(|(count, _)| *count).sum();
    let frames = units::counted(frames as u64, "frame");
    let functions = units::counted(rows.len() as u64, "function");
    let head = format!("{word} {frames} of C++20 coroutines, {functions}{what}");
    page.title(&head)?;
    for (count, frames) in rows.iter().take(MAX_FUNCTIONS) {
        row(page, *count, frames)?;
    }
    let more = rows.len().saturating_sub(MAX_FUNCTIONS) as u64;
    if 0 < more {
        let more = units::counted(more, "more function");
        page.line(&format!("  and {more} (--json lists all)"))?;
    }
    page.gap()
}

/// Writes `  1,000 x net::read(int)                 src/net.cpp:11`
fn row(page: &mut Page, count: usize, frames: &FunctionFrames) -> io::Result<()> {
    let count = units::grouped(count as u64);
    let left = format!("  {count} x {}", frames.function);
    match frames.label.at() {
        Some(at) => page.spread(&left, &at),
        None => page.line(&left),
    }
}
