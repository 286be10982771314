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

/// The title of a column, its width, and how wide the screen must be at least. A width of 0 stands for names, which
/// share the rest of the screen.
struct Definition {
    kind: ColumnKind,
    title: &'static str,
    width: usize,
    from: usize,
}

const fn column(kind: ColumnKind, title: &'static str, width: usize, from: usize) -> Definition {
    Definition {
        kind,
        title,
        width,
        from,
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
    /// The heading and the text of each line, as wide as the column.
    pub texts: Vec<String>,
}

/// Places the columns on a screen of this width, with the heading above the lines.
pub fn place(lines: &[EntryText], screen: usize, is_grouped: bool) -> Vec<Placed> {
    let shown = DEFINITIONS.iter().filter(|definition| {
        let is_count = definition.kind == ColumnKind::Count;
        definition.from <= screen && (is_grouped || !is_count)
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

/// The width of each column. Names that need less than their share leave the rest to the others.
fn widths(columns: &[&Definition], texts: &[Vec<String>], screen: usize) -> Vec<usize> {
    let natural = |texts: &Vec<String>| texts.iter().map(|text| text::columns(text)).max();
    let fixed: usize = columns.iter().map(|column| column.width + 1).sum();
    let mut rest = (screen + 1).saturating_sub(fixed);
    let mut widths: Vec<usize> = columns.iter().map(|column| column.width).collect();
    let names = (0..columns.len()).filter(|at| columns[*at].width == 0);
    let mut names: Vec<(usize, usize)> = names
        .map(|at| (natural(&texts[at]).unwrap_or_default(), at))
        .collect();
    names.sort_unstable();
    let count = names.len();
    for (done, (needed, at)) in names.into_iter().enumerate() {
        widths[at] = needed.min(rest / (count - done));
        rest -= widths[at];
    }
    widths
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
