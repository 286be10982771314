//! The table of sites.

use std::collections::{BTreeMap, HashMap};
use std::io;

use crate::document::hints;
use crate::names::label;
use crate::text::table::{self, Column, Side};
use crate::text::{self, Page, units};
use crate::views::sites::model::Row;

const COLUMNS: [Column; 7] = columns("function", "site");
const COLUMNS_BY_NAME: [Column; 7] = columns("name", "spawned at");

const fn columns(name: &'static str, place: &'static str) -> [Column; 7] {
    [
        ("share", Side::Right),
        ("coroutines", Side::Right),
        ("waits", Side::Right),
        ("mean", Side::Right),
        ("max", Side::Right),
        (name, Side::Left),
        (place, Side::Left),
    ]
}

/// The column of given names, before the column of functions, if there are any.
const NAMES: Column = ("name", Side::Left);

/// The index of the column of functions, or of given names.
const FUNCTION: usize = 5;

/// The maximum width of the column of given names.
const MAX_NAME: usize = 14;

/// How many of the longest runs are listed.
const MAX_RUNS: usize = 3;

/// Shorter runs do not noticeably delay other coroutines.
const LONG_RUN_NS: u64 = 10_000_000;

/// Writes the table, by name if the trace has totals.
pub fn table(page: &mut Page, rows: &[Row], by_name: bool) -> io::Result<()> {
    if rows.is_empty() {
        return page.line(
            "No site to show: no coroutine waited, or --percent-limit is above all of them.",
        );
    }
    let duplicates = Duplicates::of(rows);
    let mut cells: Vec<Vec<String>> = rows.iter().map(|row| cells(row, &duplicates)).collect();
    let columns = if by_name { COLUMNS_BY_NAME } else { COLUMNS };
    let mut columns = columns.to_vec();
    if rows.iter().any(|row| row.given.is_some()) {
        columns.insert(FUNCTION, NAMES);
        let given = rows
            .iter()
            .map(|row| row.given.as_deref().unwrap_or_default());
        for (cells, given) in cells.iter_mut().zip(given) {
            cells.insert(FUNCTION, text::cut(given, MAX_NAME));
        }
    }
    fit(&columns, &mut cells);
    page.lines(&table::lines(&columns, &cells))
}

fn cells(row: &Row, duplicates: &Duplicates) -> Vec<String> {
    let caveat = if row.exact { "" } else { "~" };
    vec![
        format!("{caveat}{:.2}%", row.share),
        units::grouped(row.coroutines),
        units::grouped(row.events),
        length(row, row.times.mean_ns),
        length(row, row.times.max_ns),
        function(row, duplicates),
        row.at(),
    ]
}

/// A duration, or `-` if no wait was measured.
fn length(row: &Row, ns: u64) -> String {
    if row.times.measured {
        units::duration_ns(ns)
    } else {
        "-".to_owned()
    }
}

/// Shortens the last two columns so that the table fits. Figures are never shortened.
fn fit(columns: &[Column], cells: &mut [Vec<String>]) {
    let (function, site) = (columns.len() - 2, columns.len() - 1);
    let width = |i: usize| table::width(columns[i].0, cells, i);
    let room = table::room_for_two(columns, cells);
    let left = width(function).min((room * 2 / 5).max(room.saturating_sub(width(site))));
    for row in cells {
        row[function] = text::cut_middle(&row[function], left);
        row[site] = text::cut_middle(&row[site], room.saturating_sub(left));
    }
}

/// The function, with the awaited resource or the awaiting function if rows would look the same
/// without these.
fn function(row: &Row, duplicates: &Duplicates) -> String {
    let (all, alike) = duplicates.count(row);
    match (all, alike, &row.awaited_by) {
        (0 | 1, ..) => row.place.function.clone(),
        (_, 2.., Some(awaiter)) => format!("{} <- {awaiter}", row.place.function),
        _ => format!("{} ({})", row.place.function, resource(row)),
    }
}

/// The kind of resource or, if not recorded, the API that waits.
fn resource(row: &Row) -> &str {
    match (row.waits_for, &row.place.within) {
        ("unknown", Some(within)) => label::api(within),
        (recorded, _) => recorded,
    }
}

/// By function and place: how many rows wait for each kind of resource.
struct Duplicates<'r>(HashMap<(&'r str, String), BTreeMap<&'r str, usize>>);

impl<'r> Duplicates<'r> {
    fn of(rows: &'r [Row]) -> Self {
        let mut duplicates = Duplicates(HashMap::new());
        for row in rows {
            let place = (row.place.function.as_str(), row.at());
            let of_place = duplicates.0.entry(place).or_default();
            *of_place.entry(resource(row)).or_default() += 1;
        }
        duplicates
    }

    /// Counts the rows that have the function and place of `row`, and those that also wait for the
    /// same resource.
    fn count(&self, row: &'r Row) -> (usize, usize) {
        let Some(counts) = self.0.get(&(row.place.function.as_str(), row.at())) else {
            return (0, 0);
        };
        let alike = counts.get(resource(row)).copied().unwrap_or_default();
        (counts.values().sum(), alike)
    }
}

/// Writes the longest runs: runs after a wait at a site, and first runs.
pub fn long_runs(
    page: &mut Page,
    rows: &[Row],
    first: &[(u64, String, String)],
    by_name: bool,
) -> io::Result<()> {
    let word = if by_name { "by" } else { "after" };
    let mut runs: Vec<(u64, String)> = rows
        .iter()
        .map(|row| {
            (
                row.times.longest_run_ns,
                from(word, &row.place.function, &row.at()),
            )
        })
        .collect();
    let first = first.iter();
    runs.extend(first.map(|(ns, name, spawned)| (*ns, from("by", name, spawned))));
    runs.retain(|(ns, _)| LONG_RUN_NS <= *ns);
    runs.sort_by_key(|(ns, _)| std::cmp::Reverse(*ns));
    if runs.is_empty() {
        return Ok(());
    }
    page.gap()?;
    page.line("# longest runs, to the next wait or the end:")?;
    runs.iter().take(MAX_RUNS).try_for_each(|(ns, from)| {
        let longest = units::duration_ns(*ns);
        page.line(&format!("  {longest:>8}  {from}"))
    })
}

fn from(word: &str, name: &str, at: &str) -> String {
    let (name, at) = (text::cut_middle(name, 36), text::cut_middle(at, 40));
    format!("{word} {name}  {at}")
}

/// Writes what to type next. `tool` is the command with the trace.
pub fn hints(page: &mut Page, tool: &str, by_name: bool) -> io::Result<()> {
    page.gap()?;
    let next = [
        format!("what is stuck: {tool} --stuck"),
        hints::how_to_see(tool, by_name),
    ];
    page.lines(&text::flow("# ", "# ", hints::GAP, &next))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::CodePlace;

    /// Takes linear time: rows are not compared in pairs.
    #[test]
    fn many_rows_of_the_same_place_are_distinguished() {
        let row = |i: usize| Row {
            place: CodePlace {
                function: "accept".to_owned(),
                ..CodePlace::default()
            },
            waits_for: ["readable", "timer", "lock"][i.min(2)],
            ..Row::default()
        };
        let rows: Vec<Row> = (0..200_000).map(row).collect();
        let table = Duplicates::of(&rows);
        let mut names = rows.iter().map(|row| function(row, &table));
        assert_eq!(names.next().as_deref(), Some("accept (readable)"));
        assert!(names.skip(1).all(|name| name == "accept (lock)"));
        let alone = Duplicates::of(&rows[..1]);
        assert_eq!(function(&rows[0], &alone), "accept");
    }
}
