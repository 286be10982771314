//! The table of sites.

use std::collections::{BTreeMap, HashMap};
use std::io;

use crate::config::SitesView;
use crate::document::hints;
use crate::names::label;
use crate::text::{Page, table, units};
use crate::views::sites::columns;
use crate::views::sites::model::Row;

/// How many of the longest runs are listed.
const MAX_RUNS: usize = 3;

/// Shorter runs do not noticeably delay other coroutines.
const LONG_RUN_NS: u64 = 10_000_000;

/// Writes the table, by name if the trace has totals.
pub fn table(page: &mut Page, rows: &[Row], view: &SitesView, by_name: bool) -> io::Result<()> {
    if rows.is_empty() {
        return page.line(
            "No site to show: no coroutine waited, or --percent-limit is above all of them.",
        );
    }
    let (shown, rest) = rows.split_at(view.limit.unwrap_or(rows.len()).min(rows.len()));
    let fields = columns::fields(view, shown);
    let duplicates = Duplicates::of(shown);
    let cells = shown.iter().map(|row| {
        let function = function(row, &duplicates);
        let cells = fields
            .iter()
            .map(|field| columns::cell(*field, row, &function));
        cells.collect()
    });
    let cells: Vec<Vec<String>> = cells.collect();
    let columns: Vec<table::Column> = fields
        .iter()
        .map(|field| columns::column(*field, by_name))
        .collect();
    page.table(&columns, &cells, |_, _| Ok(()))?;
    others(page, rest)
}

/// Writes the sums of the rows that are not shown.
fn others(page: &mut Page, rest: &[Row]) -> io::Result<()> {
    if rest.is_empty() {
        return Ok(());
    }
    let share: f64 = rest.iter().map(|row| row.share).sum();
    let waits = rest
        .iter()
        .fold(0, |sum: u64, row| sum.saturating_add(row.events));
    page.line(&format!(
        "  and {} with {share:.2}% of the waiting time, {}",
        units::counted(rest.len() as u64, "more site"),
        units::counted(waits, "wait")
    ))
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
    format!("{word} {name}  {at}")
}

/// Writes what to type next. `tool` is the command with the trace.
pub fn hints(page: &mut Page, tool: &str, by_name: bool) -> io::Result<()> {
    page.gap()?;
    let next = [
        format!("what is stuck: {tool} --stuck"),
        hints::time_view(tool, by_name),
    ];
    page.list("# ", "# ", hints::GAP, &next)
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
