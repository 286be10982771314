//! Rows that would look the same: where several places are on one line, their columns tell them
//! apart. Elsewhere a column says nothing that is worth its room.

use std::collections::{BTreeMap, BTreeSet};

use crate::names::{CodePlace, label};

/// For each row, whether another one looks the same and has another column.
fn twins<T, L: Ord>(
    rows: &[T],
    look: impl Fn(&T) -> L,
    column: impl Fn(&T) -> Option<u32>,
) -> Vec<bool> {
    let mut columns: BTreeMap<L, BTreeSet<Option<u32>>> = BTreeMap::new();
    for row in rows {
        columns.entry(look(row)).or_default().insert(column(row));
    }
    let is_twin = |row: &T| columns.get(&look(row)).is_some_and(|all| 1 < all.len());
    rows.iter().map(is_twin).collect()
}

/// Says the column where a row is, if another one looks the same without it.
pub fn tell_apart<T, L: Ord>(
    rows: &mut [T],
    look: impl Fn(&T) -> L,
    column: impl Fn(&T) -> Option<u32>,
    at: impl Fn(&mut T) -> &mut Option<String>,
) {
    let twins = twins(rows, look, &column);
    for (row, _) in rows.iter_mut().zip(twins).filter(|(_, is_twin)| *is_twin) {
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
    let twins = twins(rows, look, column);
    for (row, is_twin) in rows.iter_mut().zip(twins) {
        place(row).is_twin = is_twin;
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
        let twins = twins(&rows, |row| row.0, |row| row.1);
        assert_eq!(twins, [true, true, false, false, false]);
    }
}
