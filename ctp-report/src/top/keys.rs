//! What keys do: each key changes what is shown, and may ask for an action.

use regex_lite::Regex;

use super::order::Order;
use super::row::RowId;
use crate::config::TopSort;

/// A key that the user pressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// A character.
    Char(char),
    /// One row up.
    Up,
    /// One row down.
    Down,
    /// One screen up.
    PageUp,
    /// One screen down.
    PageDown,
    /// The first row.
    Home,
    /// The last row.
    End,
    /// Return.
    Enter,
    /// Escape.
    Escape,
    /// The key that deletes the character before.
    Backspace,
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-Z.
    Suspend,
}

/// What the caller has to do.
#[derive(Clone, Debug)]
pub enum Action {
    /// Only draw again.
    Draw,
    /// End.
    Quit,
    /// Stop this program until the shell continues it.
    Suspend,
    /// Judge all coroutines now.
    Judge,
    /// Show only rows that match, or all.
    Filter(Option<Regex>),
    /// Show the proof of the verdict on the selected row.
    OpenProof,
    /// Show the wakes that led to the state of this row, or of the selected row.
    OpenWakeChain(Option<RowId>),
}

/// What is shown instead of the table, or where keys go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The table.
    Table,
    /// The table, while the user types a pattern.
    Pattern(String),
    /// The list of keys.
    Help,
    /// The page about a row.
    Page(TextPage),
}

/// A text that can be scrolled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextPage {
    /// The lines.
    pub lines: Vec<String>,
    /// The first line that is shown.
    pub first: usize,
    /// The row of which the key `w` shows the wakes.
    pub row: Option<RowId>,
    /// Whether the lines only say that the page is being made.
    pub is_pending: bool,
}

/// Where the selection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cursor {
    /// On the row with this number, whichever entry that is.
    At(usize),
    /// On this entry. If the entry moves, the selection follows it.
    On(RowId, usize),
}

/// What the user chose.
#[derive(Clone, Debug)]
pub struct Choices {
    /// How the table is ordered.
    pub order: Order,
    /// Whether the table stands still.
    pub is_paused: bool,
    /// Where keys go.
    pub mode: Mode,
    /// The selected row.
    pub cursor: Cursor,
    /// The number of the first row on the screen.
    pub first: usize,
    /// The pattern that rows must match; empty shows all.
    pub pattern: String,
    /// What was wrong with the last key, for the last line of the screen.
    pub complaint: Option<String>,
}

/// The sizes that keys depend on.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// How many rows fit on the screen.
    pub visible: usize,
    /// How many entries the table has.
    pub entries: usize,
}

/// The columns that `s` selects, one after the other.
const SORTS: [TopSort; 8] = [
    TopSort::Verdict,
    TopSort::Wait,
    TopSort::Polls,
    TopSort::Wakes,
    TopSort::Run,
    TopSort::Id,
    TopSort::Name,
    TopSort::Function,
];

/// The longest pattern, in characters.
const MAX_PATTERN: usize = 200;

/// The keys and what they do, for the list of keys.
pub const KEYS: [(&str, &str); 13] = [
    ("Up, Down", "select a row, as do j and k"),
    ("PgUp, PgDn", "select a row one screen away"),
    ("Home, End", "select the first or the last row"),
    ("Enter", "show the page of --stuck about the row"),
    (
        "w",
        "show the page of --why: the wakes before, and what blocks the row",
    ),
    ("s", "sort by the next column"),
    ("r", "reverse the order"),
    ("g", "show a row for each place and verdict"),
    ("/", "show only rows that match a pattern"),
    ("Esc", "show all rows"),
    ("p", "pause, or go on"),
    ("v", "renew the verdicts now"),
    ("q, Ctrl-C", "quit"),
];

impl Choices {
    /// What is shown at the start.
    pub fn new(order: Order) -> Self {
        Choices {
            order,
            is_paused: false,
            mode: Mode::Table,
            cursor: Cursor::At(0),
            first: 0,
            pattern: String::new(),
            complaint: None,
        }
    }

    /// The number of the selected row.
    pub fn selected(&self) -> usize {
        match self.cursor {
            Cursor::At(number) | Cursor::On(_, number) => number,
        }
    }

    /// Whether the screen waits for a page that is being made.
    pub fn awaits_page(&self) -> bool {
        matches!(&self.mode, Mode::Page(page) if page.is_pending)
    }

    /// Takes a key.
    pub fn press(&mut self, key: Key, sizes: Sizes) -> Action {
        self.complaint = None;
        match key {
            Key::Interrupt => return Action::Quit,
            Key::Suspend => return Action::Suspend,
            _ => {}
        }
        match std::mem::replace(&mut self.mode, Mode::Table) {
            Mode::Table => self.press_in_table(key, sizes),
            Mode::Pattern(typed) => self.press_in_pattern(typed, key),
            Mode::Help => Action::Draw,
            Mode::Page(page) => self.press_in_page(page, key, sizes),
        }
    }

    fn press_in_table(&mut self, key: Key, sizes: Sizes) -> Action {
        match key {
            Key::Char('q') => return Action::Quit,
            Key::Char('v') => return Action::Judge,
            Key::Enter if 0 < sizes.entries => return Action::OpenProof,
            Key::Char('w') if 0 < sizes.entries => return Action::OpenWakeChain(None),
            Key::Escape if !self.pattern.is_empty() => return self.filter(String::new()),
            Key::Char('s') => self.order.sort = next_sort(self.order.sort),
            Key::Char('r') => self.order.is_reversed = !self.order.is_reversed,
            Key::Char('g') => self.order.is_grouped = !self.order.is_grouped,
            Key::Char('p') => self.is_paused = !self.is_paused,
            Key::Char('/') => self.mode = Mode::Pattern(self.pattern.clone()),
            Key::Char('h' | '?') => self.mode = Mode::Help,
            key => {
                let last = sizes.entries.saturating_sub(1);
                let selected = moved(self.selected(), key, sizes.visible, last);
                self.cursor = Cursor::At(selected);
                return Action::Draw;
            }
        }
        if matches!(key, Key::Char('s' | 'r' | 'g')) {
            self.cursor = Cursor::At(0);
        }
        Action::Draw
    }

    fn press_in_pattern(&mut self, mut typed: String, key: Key) -> Action {
        match key {
            Key::Enter => return self.filter(typed),
            Key::Escape => return Action::Draw,
            Key::Char(c) if typed.chars().count() < MAX_PATTERN => typed.push(c),
            Key::Backspace => drop(typed.pop()),
            _ => {}
        }
        self.mode = Mode::Pattern(typed);
        Action::Draw
    }

    /// Uses a pattern, unless it is invalid.
    fn filter(&mut self, pattern: String) -> Action {
        if pattern.is_empty() {
            self.pattern = pattern;
            return Action::Filter(None);
        }
        match Regex::new(&pattern) {
            Ok(regex) => {
                (self.pattern, self.cursor) = (pattern, Cursor::At(0));
                Action::Filter(Some(regex))
            }
            Err(error) => {
                self.complaint = Some(format!("not a pattern: {error}"));
                self.mode = Mode::Pattern(pattern);
                Action::Draw
            }
        }
    }

    fn press_in_page(&mut self, mut page: TextPage, key: Key, sizes: Sizes) -> Action {
        if matches!(key, Key::Escape | Key::Enter | Key::Char('q')) {
            return Action::Draw;
        }
        if let (Key::Char('w'), Some(row)) = (key, page.row) {
            return Action::OpenWakeChain(Some(row));
        }
        let last = page.lines.len().saturating_sub(sizes.visible);
        page.first = moved(page.first, key, sizes.visible, last);
        self.mode = Mode::Page(page);
        Action::Draw
    }
}

fn next_sort(sort: TopSort) -> TopSort {
    let at = SORTS.iter().position(|known| *known == sort);
    SORTS[at.map_or(0, |at| (at + 1) % SORTS.len())]
}

fn moved(from: usize, key: Key, page: usize, last: usize) -> usize {
    let to = match key {
        Key::Up | Key::Char('k') => from.saturating_sub(1),
        Key::Down | Key::Char('j') => from + 1,
        Key::PageUp => from.saturating_sub(page),
        Key::PageDown | Key::Char(' ') => from + page,
        Key::Home => 0,
        Key::End => last,
        _ => from,
    };
    to.min(last)
}

/// The first row on the screen, so that the selected row is visible.
pub fn scrolled(first: usize, selected: usize, visible: usize) -> usize {
    let least = (selected + 1).saturating_sub(visible);
    first.clamp(least, selected.max(least))
}

#[cfg(test)]
mod tests;
