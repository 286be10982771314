//! Rows that would look the same: where several places are on one line, their columns tell them
//! apart. Elsewhere a column says nothing that is worth its room.

use std::collections::{BTreeMap, BTreeSet};

use crate::names::{CodePlace, label};

/// For each row, whether another one looks the same and has another column.
fn duplicates<T, L: Ord>(
    rows: &[T],
    look: impl Fn(&T) -> L,
    column: impl Fn(&T) -> Option<u32>,
) -> Vec<bool> {
    let mut columns: BTreeMap<L, BTreeSet<Option<u32>>> = BTreeMap::new();
    for row in rows {
        columns.entry(look(row)).or_default().insert(column(row));
    }
    let is_duplicate = |row: &T| columns.get(&look(row)).is_some_and(|all| 1 < all.len());
    rows.iter().map(is_duplicate).collect()
}

/// Says the column where a row is, if another one looks the same without it.
pub fn distinguish<T, L: Ord>(
    rows: &mut [T],
    look: impl Fn(&T) -> L,
    column: impl Fn(&T) -> Option<u32>,
    at: impl Fn(&mut T) -> &mut Option<String>,
) {
    let duplicates = duplicates(rows, look, &column);
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
    look: impl Fn(&T) -> L,
    column: impl Fn(&T) -> Option<u32>,
    place: impl Fn(&mut T) -> &mut CodePlace,
) {
    let duplicates = duplicates(rows, look, column);
    for (row, is_duplicate) in rows.iter_mut().zip(duplicates) {
        place(row).is_duplicate = is_duplicate;
    }
}

/// The line of a row, with its column if that tells it from another one. Of a function the column says
/// nothing.
pub fn place((file, line): (&str, u32), in_function: bool, column: Option<u32>) -> String {
    let at = label::source(file, line, in_function);
    with_column(at, column.filter(|_| !in_function))
}

/// `main.rs:199:52`; the line alone where no column is known.
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
    fn a_column_is_told_of_those_that_look_the_same() {
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
