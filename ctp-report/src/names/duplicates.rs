//! Adds columns to rows that would look the same because their places are on the same line. All other
//! rows have no column, which saves room.

use std::collections::{BTreeMap, BTreeSet};

use crate::names::{CodePlace, label};

/// For each row, whether another row looks the same and has another column.
fn duplicates<T, L: Ord>(
    rows: &[T],
    appearance: impl Fn(&T) -> L,
    column: impl Fn(&T) -> Option<u32>,
) -> Vec<bool> {
    let mut columns: BTreeMap<L, BTreeSet<Option<u32>>> = BTreeMap::new();
    for row in rows {
        columns
            .entry(appearance(row))
            .or_default()
            .insert(column(row));
    }
    rows.iter()
        .map(|row| {
            columns
                .get(&appearance(row))
                .is_some_and(|all| 1 < all.len())
        })
        .collect()
}

/// Adds the column to each row that looks the same as another row.
pub fn distinguish<T, L: Ord>(
    rows: &mut [T],
    appearance: impl Fn(&T) -> L,
    column: impl Fn(&T) -> Option<u32>,
    at: impl Fn(&mut T) -> &mut Option<String>,
) {
    let duplicates = duplicates(rows, appearance, &column);
    for (row, _) in rows
        .iter_mut()
        .zip(duplicates)
        .filter(|(_, is_duplicate)| *is_duplicate)
    {
        let column = column(row);
        let at = at(row);
        *at = at.take().map(|at| with_column(at, column));
    }
}

/// Marks the rows that would look the same without their columns.
pub fn mark<T, L: Ord>(
    rows: &mut [T],
    appearance: impl Fn(&T) -> L,
    column: impl Fn(&T) -> Option<u32>,
    place: impl Fn(&mut T) -> &mut CodePlace,
) {
    let duplicates = duplicates(rows, appearance, column);
    for (row, is_duplicate) in rows.iter_mut().zip(duplicates) {
        place(row).is_duplicate = is_duplicate;
    }
}

/// Formats the place of a row, with the column if given. The column of a function is left out.
pub fn place((file, line): (&str, u32), in_function: bool, column: Option<u32>) -> String {
    let at = label::source(file, line, in_function);
    with_column(at, column.filter(|_| !in_function))
}

/// Formats `main.rs:199:52`, or only the line without a column.
fn with_column(at: String, column: Option<u32>) -> String {
    match column {
        Some(column) => format!("{at}:{column}"),
        None => at,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_rows_get_a_column() {
        let rows = [
            (7, Some(1)),
            (7, Some(2)),
            (8, Some(1)),
            (9, None),
            (9, None),
        ];
        let duplicates = duplicates(&rows, |row| row.0, |row| row.1);
        assert_eq!(duplicates, [true, true, false, false, false]);
    }
}
