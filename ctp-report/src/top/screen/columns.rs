//! The columns of the table that fit on a screen, and their texts.

use crate::text::{self, units};
use crate::top::line::EntryText;
use crate::top::summary::rate;

/// A column of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    Id,
    Count,
    Verdict,
    State,
    For,
    Polls,
    Wakes,
    Run,
    Name,
    Function,
    At,
    WaitsFor,
}

struct Definition {
    kind: ColumnKind,
    title: &'static str,
    /// The width of a figure; 0 for a column of text, which shares the rest of the screen.
    width: usize,
    /// Narrower screens omit the column.
    min_screen_width: usize,
}

const fn column(
    kind: ColumnKind,
    title: &'static str,
    width: usize,
    min_screen_width: usize,
) -> Definition {
    Definition {
        kind,
        title,
        width,
        min_screen_width,
    }
}

const DEFINITIONS: [Definition; 12] = [
    column(ColumnKind::Id, "id", 7, 0),
    column(ColumnKind::Count, "count", 7, 0),
    column(ColumnKind::Verdict, "verdict", 8, 0),
    column(ColumnKind::State, "state", 13, 100),
    column(ColumnKind::For, "for", 8, 0),
    column(ColumnKind::Polls, "polls/s", 9, 60),
    column(ColumnKind::Wakes, "wakes/s", 9, 110),
    column(ColumnKind::Run, "run %", 6, 72),
    column(ColumnKind::Name, "name", 0, 120),
    column(ColumnKind::Function, "function", 0, 0),
    column(ColumnKind::At, "at", 0, 100),
    column(ColumnKind::WaitsFor, "waits for", 0, 80),
];

/// A column on the screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Which column this is.
    pub kind: ColumnKind,
    /// The first position on the screen.
    pub x: usize,
    /// The number of positions.
    pub width: usize,
    /// The heading, then a cell for each line, each padded to `width`.
    pub texts: Vec<String>,
}

/// Places the columns on a screen of this width, with the heading above the lines.
pub fn place(lines: &[EntryText], screen: usize, is_grouped: bool) -> Vec<Placed> {
    let shown = DEFINITIONS.iter().filter(|definition| {
        let is_count = definition.kind == ColumnKind::Count;
        definition.min_screen_width <= screen && (is_grouped || !is_count)
    });
    let shown: Vec<&Definition> = shown.collect();
    let texts: Vec<Vec<String>> = shown.iter().map(|column| column.texts(lines)).collect();
    let widths = widths(&shown, &texts, screen);
    let mut x = 0;
    let placed = shown
        .iter()
        .zip(texts)
        .zip(widths)
        .map(|((column, texts), width)| {
            let placed = Placed {
                kind: column.kind,
                x,
                width,
                texts: fitted(&texts, width, column.kind),
            };
            x += width + 1;
            placed
        });
    placed.collect()
}

/// The width of each column. A column of text that needs less than its share leaves the rest to the others.
fn widths(columns: &[&Definition], texts: &[Vec<String>], screen: usize) -> Vec<usize> {
    let columns_and_texts = columns.iter().zip(texts);
    let mut widths: Vec<usize> = columns_and_texts
        .map(|(column, texts)| column.fixed_width(texts))
        .collect();
    let fixed: usize = widths.iter().map(|width| width + 1).sum();
    let mut rest = (screen + 1).saturating_sub(fixed);
    let text_columns = (0..columns.len()).filter(|at| columns[*at].width == 0);
    let mut text_columns: Vec<(usize, usize)> =
        text_columns.map(|at| (widest(&texts[at]), at)).collect();
    text_columns.sort_unstable();
    let count = text_columns.len();
    for (done, (needed, at)) in text_columns.into_iter().enumerate() {
        widths[at] = needed.min(rest / (count - done));
        rest -= widths[at];
    }
    widths
}

fn widest(texts: &[String]) -> usize {
    let columns = texts.iter().map(|text| text::columns(text));
    columns.max().unwrap_or_default()
}

/// The texts, shortened and filled to the width of the column.
fn fitted(texts: &[String], width: usize, kind: ColumnKind) -> Vec<String> {
    let plain: Vec<&str> = texts.iter().map(String::as_str).collect();
    let short = text::shortened(&plain, width);
    let short = short.unwrap_or_else(|| texts.to_vec());
    let fill = |text: &String| {
        let text = text::cut(text, width);
        let room = " ".repeat(width.saturating_sub(text::columns(&text)));
        if kind.is_figure() {
            room + &text
        } else {
            text + &room
        }
    };
    short.iter().map(fill).collect()
}

impl Definition {
    /// The width of a figure, or 0. Ids and counts are never shortened: a part of a number is another number.
    fn fixed_width(&self, texts: &[String]) -> usize {
        match self.kind {
            ColumnKind::Id | ColumnKind::Count => self.width.max(widest(texts)),
            _ => self.width,
        }
    }

    /// The heading and the text of each line.
    fn texts(&self, lines: &[EntryText]) -> Vec<String> {
        let cells = lines.iter().map(|line| self.kind.text(line));
        [self.title.to_owned()].into_iter().chain(cells).collect()
    }
}

impl ColumnKind {
    /// Whether the texts stand at the right of the column.
    fn is_figure(self) -> bool {
        use ColumnKind::{Count, For, Id, Polls, Run, Wakes};
        matches!(self, Id | Count | For | Polls | Wakes | Run)
    }

    fn text(self, line: &EntryText) -> String {
        match self {
            ColumnKind::Id => line.id.to_string(),
            ColumnKind::Count => units::grouped(line.count as u64),
            ColumnKind::Verdict => line.verdict.to_owned(),
            ColumnKind::State => line.state.to_owned(),
            ColumnKind::For => units::duration_ns(line.for_ns),
            ColumnKind::Polls => rate(line.polls_per_s),
            ColumnKind::Wakes => rate(line.wakes_per_s),
            ColumnKind::Run => format!("{:.1}", line.running_percent),
            ColumnKind::Name => line.name.clone(),
            ColumnKind::Function => line.function.clone(),
            ColumnKind::At => line.at.clone().unwrap_or_default(),
            ColumnKind::WaitsFor => line.waits_for.clone().unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_counts_are_never_shortened() {
        let line = EntryText {
            id: u32::MAX,
            count: 1_000_000,
            function: "orders::connection::read_frame".to_owned(),
            ..EntryText::default()
        };
        let placed = place(&[line], 80, true);
        let text = |kind| {
            let column = placed.iter().find(|column| column.kind == kind);
            column.map(|column| column.texts[1].trim().to_owned())
        };
        assert_eq!(text(ColumnKind::Id).as_deref(), Some("4294967295"));
        assert_eq!(text(ColumnKind::Count).as_deref(), Some("1 000 000"));
        let last = placed.last().expect("columns");
        assert!(last.x + last.width <= 80);
    }
}
