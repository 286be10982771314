//! Filters of tables: the rows are those of all tables that the filter admits.

use super::read::{Row, Tables, Values};
use crate::test_dir::TestDir;

const SECOND: u64 = 1_000_000_000;

/// Whether the row is about one of the coroutines 4 to 7.
fn is_selected(row: &Row<'_>) -> bool {
    { row.number("coroutine_id") }.is_some_and(|id| (4..=7).contains(&id))
}

/// The expected rows, and those that were found. A reference to a coroutine that is not selected is missing.
fn compare(table: &str, all: Vec<&Values>, found: Vec<&Values>) {
    assert_eq!(all.len(), found.len(), "{table}");
    for (expected, found) in all.into_iter().zip(found) {
        let mut cells = expected.iter().zip(found);
        assert!(
            cells.all(|(expected, found)| found == expected || found.is_none()),
            "{table}: {expected:?} {found:?}"
        );
    }
}

// AGG-18
#[test]
fn tables_have_the_selected_rows() {
    let test_dir = TestDir::new();
    let name = "lost_wakeup";
    let filter = ["--id", "4-7", "--time", "100ms,500ms"];
    let all = Tables::of(&test_dir, name).unwrap();
    let found = Tables::selected(&test_dir, name, &filter).unwrap();
    let (from, to) = (SECOND / 10, SECOND / 2);
    let is_at = |row: &Row<'_>| { row.number("time_ns") }.is_some_and(|at| from <= at && at <= to);
    let overlaps = |row: &Row<'_>| {
        let [start, end] = ["start_ns", "end_ns"].map(|column| row.number(column));
        start.is_some_and(|start| start <= to) && end.is_none_or(|end| from <= end)
    };
    let whole = |tables: &Tables| {
        { tables.rows("traces") }
            .map(|row| row.values.clone())
            .next()
    };
    assert_eq!(whole(&found), whole(&all));
    for (table, admits) in [
        (
            "coroutines",
            &(|_: &Row<'_>| true) as &dyn Fn(&Row<'_>) -> bool,
        ),
        ("verdicts", &|_| true),
        ("events", &is_at),
        ("waits", &overlaps),
        ("wakes", &is_at),
    ] {
        let expected = all
            .rows(table)
            .filter(|row| is_selected(row) && admits(row));
        let expected: Vec<&Values> = expected.map(|row| row.values).collect();
        assert!(
            3 < expected.len() || table == "wakes",
            "{table}: {}",
            expected.len()
        );
        let found = found.rows(table).map(|row| row.values).collect();
        compare(table, expected, found);
    }
}
