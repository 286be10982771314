//! Draws the table, the list of keys, or a page on a terminal.

mod columns;

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};

use super::keys::{Choices, KEYS, Mode, TextPage};
use super::line::EntryText;
use super::summary::Summary;
use crate::text::{self, List, units};
use columns::{ColumnKind, Placed};

/// What is drawn.
pub struct Screen<'s> {
    /// The facts above the table.
    pub summary: &'s Summary,
    /// The lines of the table that are on the screen.
    pub lines: &'s [EntryText],
    /// How many entries the table has.
    pub entries: usize,
    /// What the user chose.
    pub choices: &'s Choices,
    /// Whether to use colours.
    pub has_colors: bool,
}

/// Lines above the rows of the table: three of the summary, one of notes, and the heading.
const ABOVE: u16 = 5;
/// Lines below the rows.
const BELOW: u16 = 1;

/// How many rows of the table fit on a screen of this height.
pub fn visible_rows(height: u16) -> usize {
    usize::from(height.saturating_sub(ABOVE + BELOW))
}

/// How many lines of a page fit on a screen of this height.
pub fn visible_lines(height: u16) -> usize {
    usize::from(height.saturating_sub(BELOW))
}

/// Draws on the whole screen.
pub fn draw(frame: &mut Frame, screen: &Screen) {
    let area = frame.area();
    let buffer = frame.buffer_mut();
    match &screen.choices.mode {
        Mode::Page(page) => draw_page(buffer, area, page),
        Mode::Help => draw_help(buffer, area),
        Mode::Table | Mode::Pattern(_) => draw_table(buffer, area, screen),
    }
}

/// Writes a text at the beginning of a line, if the screen has this line.
fn write(buffer: &mut Buffer, area: Rect, y: u16, text: &str, style: Style) {
    if y < area.height {
        buffer.set_stringn(area.x, area.y + y, text, area.width.into(), style);
    }
}

fn draw_table(buffer: &mut Buffer, area: Rect, screen: &Screen) {
    let above = above(screen, area.width.into());
    for (y, text) in (0..).zip(&above) {
        write(buffer, area, y, text, Style::new());
    }
    let is_grouped = screen.choices.order.is_grouped;
    let placed = columns::place(screen.lines, area.width.into(), is_grouped);
    for column in &placed {
        draw_column(buffer, area, column, screen);
    }
    mark_selected(buffer, area, screen);
    let last = area.height.saturating_sub(BELOW);
    write(
        buffer,
        area,
        last,
        &below(screen),
        Style::new().add_modifier(Modifier::DIM),
    );
}

/// The lines of the summary.
fn above(screen: &Screen, width: usize) -> [String; 4] {
    let summary = screen.summary;
    let pids: Vec<String> = summary.pids.iter().map(u32::to_string).collect();
    let pids = match pids.len() {
        0 => String::new(),
        _ => format!(" (pid {})", text::few(&pids)),
    };
    let paused = if screen.choices.is_paused {
        "   PAUSED"
    } else {
        ""
    };
    let program = format!("{}{pids}{paused}", summary.program);
    let state = format!("{}, {}", summary.complete_until(), state(summary));
    let room = width.saturating_sub(text::columns(&state) + 2);
    let program = text::cut(&program, room);
    let states = match &summary.states()[..] {
        [] => "no coroutine is alive".to_owned(),
        states => states.join(", "),
    };
    let over = format!("{} ended", units::grouped(summary.over));
    let lost = format!("lost {}", units::grouped(summary.lost));
    [
        text::cut(&text::spread(&program, &state, width), width),
        both(&states, &over, width),
        both(&rates(screen), &lost, width),
        text::cut(&summary.notes.join("; "), width),
    ]
}

/// A text at the left edge and a text at the right edge, which is left out if there is no room.
fn both(left: &str, right: &str, width: usize) -> String {
    let line = text::spread(left, right, width);
    if text::columns(&line) <= width {
        line
    } else {
        text::cut(left, width)
    }
}

/// Whether the recording goes on, or how it ended.
fn state(summary: &Summary) -> String {
    if summary.goes_on {
        "recording".to_owned()
    } else {
        format!("ended: {}", summary.ended)
    }
}

/// The rates, the age of the verdicts, and the pattern.
fn rates(screen: &Screen) -> String {
    let mut parts = vec![screen.summary.events()];
    let age = screen.summary.verdict_age.map(|age| age.as_secs());
    if let Some(seconds) = age.filter(|seconds| 2 < *seconds) {
        parts.push(format!("verdicts {seconds} s old"));
    }
    if !screen.choices.pattern.is_empty() {
        let pattern = text::escape(&screen.choices.pattern);
        let entries = units::grouped(screen.entries as u64);
        parts.push(format!("/{pattern}: {entries}"));
    }
    parts.join("   ")
}

fn draw_column(buffer: &mut Buffer, area: Rect, column: &Placed, screen: &Screen) {
    let room = usize::from(area.width).saturating_sub(column.x);
    let heading = Style::new().add_modifier(Modifier::REVERSED);
    let rows = column.texts.iter().take(1 + visible_rows(area.height));
    for (y, text) in (ABOVE - 1..).zip(rows) {
        let style = match (y, column.kind) {
            (y, _) if y == ABOVE - 1 => heading,
            (_, ColumnKind::Verdict) if screen.has_colors => severity(text),
            _ => Style::new(),
        };
        let x = u16::try_from(column.x).unwrap_or(u16::MAX);
        if y < area.height.saturating_sub(BELOW) && 0 < room {
            let width = column.width.min(room);
            buffer.set_stringn(area.x + x, area.y + y, text, width, style);
        }
    }
    fill_heading(buffer, area, heading);
}

fn fill_heading(buffer: &mut Buffer, area: Rect, style: Style) {
    let heading = Rect {
        y: area.y + ABOVE - 1,
        height: 1,
        ..area
    };
    buffer.set_style(heading, style);
}

fn severity(verdict: &str) -> Style {
    let color = match verdict.trim_end() {
        "DEADLOCK" | "STUCK" => Color::Red,
        "STUCK?" | "BUSY" => Color::Yellow,
        "UNKNOWN" => Color::Magenta,
        _ => return Style::new(),
    };
    Style::new().fg(color).add_modifier(Modifier::BOLD)
}

fn mark_selected(buffer: &mut Buffer, area: Rect, screen: &Screen) {
    let at = screen
        .choices
        .selected()
        .saturating_sub(screen.choices.first);
    let y = u16::try_from(at).unwrap_or(u16::MAX).saturating_add(ABOVE);
    if at < screen.lines.len() && y < area.height.saturating_sub(BELOW) {
        let row = Rect {
            y: area.y + y,
            height: 1,
            ..area
        };
        buffer.set_style(row, Style::new().add_modifier(Modifier::REVERSED));
    }
}

/// The last line: a pattern, a complaint, or the keys.
fn below(screen: &Screen) -> String {
    if let Some(complaint) = &screen.choices.complaint {
        return text::escape(complaint);
    }
    if let Mode::Pattern(typed) = &screen.choices.mode {
        return format!("/{}_", text::escape(typed));
    }
    let sort = format!("{:?}", screen.choices.order.sort).to_lowercase();
    let reversed = if screen.choices.order.is_reversed {
        ", reversed"
    } else {
        ""
    };
    format!(
        "h help  q quit  Enter proof  w why  / filter  g group  p pause  s sort: {sort}{reversed}"
    )
}

fn draw_page(buffer: &mut Buffer, area: Rect, page: &TextPage) {
    let visible = visible_lines(area.height);
    let lines = page.lines.iter().skip(page.first).take(visible);
    for (y, line) in (0..).zip(lines) {
        write(buffer, area, y, line, Style::new());
    }
    let more = page.lines.len().saturating_sub(page.first + visible);
    let more = match more {
        0 => String::new(),
        more => format!("   {more} more lines below"),
    };
    let last = area.height.saturating_sub(BELOW);
    let wakes = if page.row.is_some() { "  w why" } else { "" };
    let text = format!("Esc back{wakes}  arrows, PgUp, PgDn scroll{more}");
    write(
        buffer,
        area,
        last,
        &text,
        Style::new().add_modifier(Modifier::DIM),
    );
}

fn draw_help(buffer: &mut Buffer, area: Rect) {
    let mut lines = vec!["Keys (any key goes back):".to_owned(), String::new()];
    for (keys, what) in KEYS {
        let first = format!("{keys:<KEYS_WIDTH$}");
        let list = List {
            first: &first,
            indent: "    ",
            separator: " ",
            items: &text::words(what),
        };
        lines.extend(list.lines(area.width.into()));
    }
    for (y, line) in (0..).zip(&lines) {
        write(buffer, area, y, line, Style::new());
    }
}

/// The width of the column of keys.
const KEYS_WIDTH: usize = 12;

#[cfg(test)]
mod tests;
