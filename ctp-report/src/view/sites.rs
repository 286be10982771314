//! The table of sites.

use std::io;

use crate::leaks::Leak;
use crate::page::Page;
use crate::sites::Row;
use crate::table::{self, Column, Side};
use crate::text;
use crate::units;
use ctp_trace::record::Nanos;

const COLUMNS: [Column; 7] = [
    ("share", Side::Right),
    ("coroutines", Side::Right),
    ("waits", Side::Right),
    ("mean", Side::Right),
    ("max", Side::Right),
    ("function", Side::Left),
    ("site", Side::Left),
];

/// Columns that hold names.
const FUNCTION: usize = 5;
const SITE: usize = 6;

/// Between two hints on one line.
pub const HINT_GAP: &str = "        ";

/// How many sites with the longest runs are worth a line.
const RUNS: usize = 3;

/// A run shorter than this keeps nobody waiting.
const LONG_RUN_NS: u64 = 10_000_000;

/// Writes the table.
pub fn table(page: &mut Page, rows: &[Row]) -> io::Result<()> {
    if rows.is_empty() {
        return page.line(
            "No site to show: no coroutine waited, or --percent-limit is above all of them.",
        );
    }
    let mut cells: Vec<Vec<String>> = rows.iter().map(|row| cells(row, rows)).collect();
    fit(&mut cells);
    page.lines(&table::lines(&COLUMNS, &cells))
}

fn cells(row: &Row, rows: &[Row]) -> Vec<String> {
    let doubt = if row.exact { "" } else { "~" };
    vec![
        format!("{doubt}{:.2}%", row.share),
        units::count(row.coroutines),
        units::count(row.events),
        units::duration(Nanos(row.mean_ns)),
        units::duration(Nanos(row.max_ns)),
        function(row, rows),
        row.at(),
    ]
}

/// Cuts the last two columns so that the table is not too wide; figures are never cut.
fn fit(cells: &mut [Vec<String>]) {
    let width = |i: usize| table::width(COLUMNS[i].0, cells, i);
    let figures: usize = (0..FUNCTION).map(|i| width(i) + table::GAP.len()).sum();
    let room = text::WIDTH.saturating_sub(table::MARGIN.len() + figures + table::GAP.len());
    let function = width(FUNCTION).min((room * 2 / 5).max(room.saturating_sub(width(SITE))));
    for row in cells {
        row[FUNCTION] = text::cut_middle(&row[FUNCTION], function);
        row[SITE] = text::cut_middle(&row[SITE], room.saturating_sub(function));
    }
}

/// The function, with what it waits for where that tells two rows apart.
fn function(row: &Row, rows: &[Row]) -> String {
    let twin = |other: &&Row| other.function == row.function && other.at() == row.at();
    match rows.iter().filter(twin).count() {
        0 | 1 => row.function.clone(),
        _ => format!("{} ({})", row.function, row.waits_for),
    }
}

/// Names the sites after which coroutines ran long.
pub fn long_runs(page: &mut Page, rows: &[Row]) -> io::Result<()> {
    let mut rows: Vec<&Row> = rows
        .iter()
        .filter(|row| LONG_RUN_NS <= row.longest_run_ns)
        .collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.longest_run_ns));
    if rows.is_empty() {
        return Ok(());
    }
    page.gap()?;
    page.line("# longest runs between two waits:")?;
    rows.iter().take(RUNS).try_for_each(|row| {
        let longest = units::duration(Nanos(row.longest_run_ns));
        let at = text::cut_middle(&row.at(), 40);
        page.line(&format!(
            "  {longest:>8}  after {}  {at}",
            text::cut_middle(&row.function, 36)
        ))
    })
}

/// Lists who was alive though the program ended by itself.
pub fn leaks(page: &mut Page, leaks: &[Leak]) -> io::Result<()> {
    if leaks.is_empty() {
        return Ok(());
    }
    let count: usize = leaks.iter().map(|leak| leak.count).sum();
    page.gap()?;
    page.line(&format!(
        "LEAKS {} alive at a clean end (ctp-report --stuck tells which could not go on)",
        units::counted(count as u64, "coroutine")
    ))?;
    leaks.iter().try_for_each(|leak| {
        let function = text::cut_middle(&leak.function, 36);
        let count = units::count(leak.count as u64);
        let left = format!("  {count} x {function}  ({})", leak.state);
        let right = text::cut_middle(leak.at.as_deref().unwrap_or("(place not recorded)"), 44);
        page.line(&text::spread(&left, &right))
    })
}

/// What to type next; `tool` is the program with the trace that it reads.
pub fn hints(page: &mut Page, tool: &str) -> io::Result<()> {
    page.gap()?;
    let next = [
        format!("what is stuck: {tool} --stuck"),
        format!("to see it: {tool} --flame flame.svg"),
    ];
    page.lines(&text::flow("# ", "# ", HINT_GAP, &next))
}
