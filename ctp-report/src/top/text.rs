//! The table as a page, for `--once`.

use std::io;

use super::line::EntryText;
use super::summary::{Summary, rate};
use crate::text::table::{Alignment, Column};
use crate::text::{Page, units};

const COLUMNS: [Column; 11] = [
    ("id", Alignment::Right),
    ("verdict", Alignment::Left),
    ("state", Alignment::Left),
    ("for", Alignment::Right),
    ("polls/s", Alignment::Right),
    ("wakes/s", Alignment::Right),
    ("run %", Alignment::Right),
    ("name", Alignment::Left),
    ("function", Alignment::Left),
    ("at", Alignment::Left),
    ("waits for", Alignment::Left),
];

/// Writes the counts and the table. `all` is the number of entries, of which `lines` are shown.
pub fn page(
    page: &mut Page,
    summary: &Summary,
    (lines, all): (&[EntryText], usize),
    is_grouped: bool,
) -> io::Result<()> {
    page.list("alive: ", "  ", ", ", &summary.states())?;
    let over = units::grouped(summary.over);
    let interval = units::duration_ns(summary.interval_ns);
    page.line(&format!(
        "ended: {over}; {} over {interval}",
        summary.events()
    ))?;
    page.gap()?;
    let columns = columns(is_grouped);
    let rows: Vec<Vec<String>> = lines.iter().map(|line| cells(line, is_grouped)).collect();
    page.table(&columns, &rows, |_, _| Ok(()))?;
    match all - lines.len() {
        0 => Ok(()),
        more => page.line(&format!("  and {} more", units::grouped(more as u64))),
    }
}

fn columns(is_grouped: bool) -> Vec<Column> {
    let count = is_grouped.then_some(("count", Alignment::Right));
    count.into_iter().chain(COLUMNS).collect()
}

fn cells(line: &EntryText, is_grouped: bool) -> Vec<String> {
    let count = is_grouped.then(|| units::grouped(line.count as u64));
    let cells = [
        line.id.to_string(),
        line.verdict.to_owned(),
        line.state.to_owned(),
        units::duration_ns(line.for_ns),
        rate(line.polls_per_s),
        rate(line.wakes_per_s),
        format!("{:.1}", line.running_percent),
        line.name.clone(),
        line.function.clone(),
        line.at.clone().unwrap_or_default(),
        line.waits_for.clone().unwrap_or_default(),
    ];
    count.into_iter().chain(cells).collect()
}
