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

/// Columns that hold names.
const FUNCTION: usize = 5;
const SITE: usize = 6;

/// How many sites with the longest runs are worth a line.
const RUNS: usize = 3;

/// A run shorter than this keeps nobody waiting.
const LONG_RUN_NS: u64 = 10_000_000;

/// Writes the table, of names if the program kept totals.
pub fn table(page: &mut Page, rows: &[Row], by_name: bool) -> io::Result<()> {
    if rows.is_empty() {
        return page.line(
            "No site to show: no coroutine waited, or --percent-limit is above all of them.",
        );
    }
    let duplicates = Duplicates::of(rows);
    let mut cells: Vec<Vec<String>> = rows.iter().map(|row| cells(row, &duplicates)).collect();
    fit(&mut cells);
    let columns = if by_name { &COLUMNS_BY_NAME } else { &COLUMNS };
    page.lines(&table::lines(columns, &cells))
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

/// No data is no zero.
fn length(row: &Row, ns: u64) -> String {
    if row.times.measured {
        units::duration_ns(ns)
    } else {
        "-".to_owned()
    }
}

/// Cuts the last two columns so that the table is not too wide; figures are never cut.
fn fit(cells: &mut [Vec<String>]) {
    let width = |i: usize| table::width(COLUMNS[i].0, cells, i);
    let room = table::room_for_two(&COLUMNS, cells);
    let function = width(FUNCTION).min((room * 2 / 5).max(room.saturating_sub(width(SITE))));
    for row in cells {
        row[FUNCTION] = text::cut_middle(&row[FUNCTION], function);
        row[SITE] = text::cut_middle(&row[SITE], room.saturating_sub(function));
    }
}

/// The function, with what it waits for or who awaits it where that tells two rows apart.
fn function(row: &Row, duplicates: &Duplicates) -> String {
    let (all, alike) = duplicates.count(row);
    match (all, alike, &row.awaited_by) {
        (0 | 1, ..) => row.place.function.clone(),
        (_, 2.., Some(awaiter)) => format!("{} <- {awaiter}", row.place.function),
        _ => format!("{} ({})", row.place.function, what(row)),
    }
}

/// What it waits for; where that is not told, what it waits in.
fn what(row: &Row) -> &str {
    match (row.waits_for, &row.place.within) {
        ("unknown", Some(within)) => label::api(within),
        (reported, _) => reported,
    }
}

/// How many rows there are of one function and place, by what they wait for.
struct Duplicates<'r>(HashMap<(&'r str, String), BTreeMap<&'r str, usize>>);

impl<'r> Duplicates<'r> {
    fn of(rows: &'r [Row]) -> Self {
        let mut duplicates = Duplicates(HashMap::new());
        for row in rows {
            let place = (row.place.function.as_str(), row.at());
            let of_place = duplicates.0.entry(place).or_default();
            *of_place.entry(what(row)).or_default() += 1;
        }
        duplicates
    }

    /// All rows of the function and place of this one, and those of them that wait for the same.
    fn count(&self, row: &'r Row) -> (usize, usize) {
        let of_place = self.0.get(&(row.place.function.as_str(), row.at()));
        let alike = of_place.and_then(|b_tree_map| b_tree_map.get(what(row)));
        (
            of_place.map_or(0, |b_tree_map| b_tree_map.values().sum()),
            alike.copied().unwrap_or_default(),
        )
    }
}

/// Names the sites after which coroutines ran long, and those that ran long without any.
pub fn long_runs(
    page: &mut Page,
    rows: &[Row],
    first: &[(u64, String, String)],
    by_name: bool,
) -> io::Result<()> {
    let word = if by_name { "by" } else { "after" };
    let after = |row: &Row| {
        (
            row.times.longest_run_ns,
            from(word, &row.place.function, &row.at()),
        )
    };
    let mut runs: Vec<(u64, String)> = rows.iter().map(after).collect();
    let first = first.iter();
    runs.extend(first.map(|(ns, name, spawned)| (*ns, from("by", name, spawned))));
    runs.retain(|(ns, _)| LONG_RUN_NS <= *ns);
    runs.sort_by_key(|(ns, _)| std::cmp::Reverse(*ns));
    if runs.is_empty() {
        return Ok(());
    }
    page.gap()?;
    page.line("# longest runs, to the next wait or the end:")?;
    runs.iter().take(RUNS).try_for_each(|(ns, from)| {
        let longest = units::duration_ns(*ns);
        page.line(&format!("  {longest:>8}  {from}"))
    })
}

fn from(word: &str, name: &str, at: &str) -> String {
    let (name, at) = (text::cut_middle(name, 36), text::cut_middle(at, 40));
    format!("{word} {name}  {at}")
}

/// What to type next; `tool` is the program with the trace that it reads.
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

    /// None of them is compared with each other one.
    #[test]
    fn of_very_many_rows_those_of_one_place_are_told_apart() {
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
