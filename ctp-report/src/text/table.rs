//! Tables with columns as wide as needed.

use crate::text;

/// Alignment of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Left, for names.
    Left,
    /// Right, for figures.
    Right,
}

/// Heading and alignment of a column.
pub type Column = (&'static str, Side);

/// Indent of each row.
const MARGIN: &str = "  ";

/// Gap between two columns.
const GAP: &str = "  ";

/// Formats the heading, a line of dots, and the rows, without trailing spaces.
pub fn lines(columns: &[Column], rows: &[Vec<String>]) -> Vec<String> {
    let widths: Vec<usize> = (0..columns.len())
        .map(|i| width(columns[i].0, rows, i))
        .collect();
    let heading: Vec<String> = columns.iter().map(|column| column.0.to_owned()).collect();
    let dots: Vec<String> = widths.iter().map(|&width| ".".repeat(width)).collect();
    let mut lines = vec![
        format!("# {}", line(columns, &widths, &heading)),
        format!("# {}", line(columns, &widths, &dots)),
    ];
    lines.extend(
        rows.iter()
            .map(|row| format!("{MARGIN}{}", line(columns, &widths, row))),
    );
    lines
}

/// Width of a column in characters.
pub fn width(heading: &str, rows: &[Vec<String>], column: usize) -> usize {
    let cells = rows.iter().filter_map(|row| row.get(column));
    cells
        .map(|cell| text::columns(cell))
        .max()
        .unwrap_or(0)
        .max(text::columns(heading))
}

/// Width in characters that a line has left for the columns with these indices together.
pub fn room_for(wide: &[usize], columns: &[Column], rows: &[Vec<String>]) -> usize {
    let others = (0..columns.len()).filter(|i| !wide.contains(i));
    let others = others.map(|i| width(columns[i].0, rows, i));
    let gaps = GAP.len() * columns.len().saturating_sub(1);
    text::WIDTH.saturating_sub(MARGIN.len() + others.sum::<usize>() + gaps)
}

fn line(columns: &[Column], widths: &[usize], cells: &[String]) -> String {
    let padded = columns
        .iter()
        .zip(widths)
        .zip(cells)
        .map(|((column, width), cell)| {
            let room = " ".repeat(width.saturating_sub(text::columns(cell)));
            match column.1 {
                Side::Left => format!("{cell}{room}"),
                Side::Right => format!("{room}{cell}"),
            }
        });
    padded.collect::<Vec<_>>().join(GAP).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_needed() {
        let rows = vec![
            vec!["a".into(), "1 000".into()],
            vec!["bcd".into(), "2".into()],
        ];
        let lines = lines(&[("x", Side::Left), ("n", Side::Right)], &rows);
        assert_eq!(
            lines,
            [
                "# x        n",
                "# ...  .....",
                "  a    1 000",
                "  bcd      2"
            ]
        );
    }
}
