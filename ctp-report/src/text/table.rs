//! Tables with columns as wide as needed.

use super::distinct::shortened;
use super::wrap::List;
use super::{Width, columns};

/// Alignment of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alignment {
    /// Left, for names. On narrow pages, they lose leading folders or modules.
    Left,
    /// Right, for figures, which are never shortened.
    Right,
}

/// Heading and alignment of a column.
pub type Column = (&'static str, Alignment);

/// A table, ready to be written.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// The lines above the rows.
    pub heading: Vec<String>,
    /// The lines of each row.
    pub rows: Vec<Vec<String>>,
}

/// Indent of each row.
const MARGIN: &str = "  ";

/// Gap between two columns.
const GAP: &str = "  ";

/// The width of the widest column, in columns of text. Longer texts are shown in full, but the column after
/// them is not aligned. Otherwise a single long name would fill each row with spaces.
const WIDEST: usize = 120;

/// Columns of names are not shortened to fewer columns of text than this.
const NARROWEST_NAME: usize = 12;

/// Formats the rows, a row per line if the page is wide enough. Otherwise names are shortened, or the
/// values of a row stand below each other.
pub fn layout(heads: &[Column], rows: &[Vec<String>], width: Width) -> Table {
    let natural = widths(heads, rows);
    let Some(limit) = width.limit() else {
        return aligned(heads, rows);
    };
    if total(&natural) <= limit {
        return aligned(heads, rows);
    }
    match narrowed(heads, rows, limit) {
        Some(rows) => aligned(heads, &rows),
        None => stacked(heads, rows, limit),
    }
}

fn widths(heads: &[Column], rows: &[Vec<String>]) -> Vec<usize> {
    let width = |i: usize| {
        let cells = rows.iter().filter_map(|row| row.get(i));
        let widest = cells.map(|cell| columns(cell)).max().unwrap_or(0);
        widest.max(columns(heads[i].0))
    };
    (0..heads.len()).map(width).collect()
}

fn total(widths: &[usize]) -> usize {
    let gaps = GAP.len() * widths.len().saturating_sub(1);
    MARGIN.len() + gaps + widths.iter().sum::<usize>()
}

/// The heading, a line of dots, and the rows, without trailing spaces.
fn aligned(heads: &[Column], rows: &[Vec<String>]) -> Table {
    let widths = widths(heads, rows).into_iter();
    let widths: Vec<usize> = widths.map(|width| width.min(WIDEST)).collect();
    let heading: Vec<String> = heads.iter().map(|head| head.0.to_owned()).collect();
    let dots: Vec<String> = widths.iter().map(|&width| ".".repeat(width)).collect();
    let heading = [heading, dots].map(|cells| format!("# {}", line(heads, &widths, &cells)));
    let rows = rows.iter();
    let rows = rows.map(|row| vec![format!("{MARGIN}{}", line(heads, &widths, row))]);
    Table {
        heading: heading.into(),
        rows: rows.collect(),
    }
}

fn line(heads: &[Column], widths: &[usize], cells: &[String]) -> String {
    let padded = heads.iter().zip(widths).zip(cells);
    let padded = padded.map(|((head, width), cell)| {
        let room = " ".repeat(width.saturating_sub(columns(cell)));
        match head.1 {
            Alignment::Left => format!("{cell}{room}"),
            Alignment::Right => format!("{room}{cell}"),
        }
    });
    padded.collect::<Vec<_>>().join(GAP).trim_end().to_owned()
}

/// Shortens the widest names until the table has at most `limit` columns. `None` if that is impossible.
fn narrowed(heads: &[Column], rows: &[Vec<String>], limit: usize) -> Option<Vec<Vec<String>>> {
    let natural = widths(heads, rows);
    let is_name = |i: usize| heads[i].1 == Alignment::Left;
    let capped = |cap: usize| -> Vec<usize> {
        let widths = natural.iter().enumerate();
        let cap = widths.map(|(i, &width)| if is_name(i) { width.min(cap) } else { width });
        cap.collect()
    };
    let caps = (NARROWEST_NAME..=limit).rev();
    let mut fitting = caps.filter(|&cap| total(&capped(cap)) <= limit);
    let allowed = capped(fitting.next()?);
    let mut narrow = rows.to_vec();
    for i in (0..heads.len()).filter(|&i| allowed[i] < natural[i]) {
        let cells: Vec<&str> = rows.iter().map(|row| row[i].as_str()).collect();
        let short = shortened(&cells, allowed[i])?;
        narrow
            .iter_mut()
            .zip(short)
            .for_each(|(row, cell)| row[i] = cell);
    }
    Some(narrow)
}

/// Rows of several lines: the names, each on a line of its own, then the figures with their headings.
fn stacked(heads: &[Column], rows: &[Vec<String>], limit: usize) -> Table {
    let row = |cells: &Vec<String>| {
        let pairs = || heads.iter().zip(cells).filter(|(_, cell)| !cell.is_empty());
        let names = pairs().filter(|(head, _)| head.1 == Alignment::Left);
        let figures = pairs().filter(|(head, _)| head.1 == Alignment::Right);
        let items: Vec<String> = figures
            .map(|(head, cell)| format!("{} {cell}", head.0))
            .collect();
        let figures = List {
            first: "      ",
            indent: "      ",
            separator: ", ",
            items: &items,
        };
        let indents = ["  "].into_iter().chain(std::iter::repeat("      "));
        let mut lines: Vec<String> = names
            .zip(indents)
            .map(|((_, cell), indent)| format!("{indent}{cell}"))
            .collect();
        lines.extend(
            figures
                .lines(limit)
                .into_iter()
                .filter(|_| !items.is_empty()),
        );
        lines
    };
    Table {
        heading: Vec::new(),
        rows: rows.iter().map(row).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADS: [Column; 3] = [
        ("n", Alignment::Right),
        ("function", Alignment::Left),
        ("site", Alignment::Left),
    ];

    fn rows() -> Vec<Vec<String>> {
        let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        vec![
            row(["1 000", "orders::pool::Pool::get", "app/src/pool.rs:88"]),
            row(["2", "read", "app/src/main.rs:7"]),
        ]
    }

    #[test]
    fn columns_are_as_wide_as_needed() {
        let table = layout(&HEADS, &rows(), Width::Full);
        assert_eq!(
            table.heading,
            [
                "#     n  function                 site",
                "# .....  .......................  .................."
            ]
        );
        assert_eq!(
            table.rows[1],
            ["      2  read                     app/src/main.rs:7"]
        );
    }

    #[test]
    fn names_lose_leading_parts_first() {
        let table = layout(&HEADS, &rows(), Width::Columns(46));
        assert_eq!(
            table.rows,
            [
                ["  1 000  ..::Pool::get  ../src/pool.rs:88"],
                ["      2  read           app/src/main.rs:7"]
            ]
        );
    }

    #[test]
    fn narrow_tables_have_several_lines_a_row() {
        let table = layout(&HEADS, &rows(), Width::Columns(30));
        assert_eq!(
            table.rows[0],
            [
                "  orders::pool::Pool::get",
                "      app/src/pool.rs:88",
                "      n 1 000"
            ]
        );
        assert!(table.heading.is_empty());
    }
}
