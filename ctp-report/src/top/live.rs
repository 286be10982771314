//! The table on a terminal: waits for keys, refreshes, and draws.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;

use super::background::BackgroundPage;
use super::input::Typed;
use super::keys::{Action, Choices, Cursor, Key, Mode, Sizes, TextPage, scrolled};
use super::line::EntryText;
use super::order::{Entries, Entry, Order};
use super::proof;
use super::recorder::Recorder;
use super::row::RowId;
use super::screen::{self, Screen};
use super::session::Session;
use super::shown::ShownTable;
use super::signals::{REACTION, Signals};
use super::summary::Summary;
use super::wake_chain::WakeChain;
use crate::config::{Config, TopView};
use crate::evidence::inspected::check_filter;
use crate::load::follow::{Followed, TraceProgress};
use crate::load::memory;
use crate::text::{self, List};

/// What ended the table of a trace.
enum TableEnd {
    ByUser,
    /// Another recording has the name of the trace.
    Replaced,
}

/// Shows the table until the user quits.
///
/// # Errors
/// If the trace or the process cannot be read, or there is no terminal.
pub fn show(config: &Config, view: &TopView, signals: &Signals) -> Result<()> {
    let Some(pid) = view.pid else {
        return follow(config, view, &config.input, signals);
    };
    let mut recorder = Recorder::start(pid, view.interval, None)?;
    while !recorder.has_started()? {
        if !signals.sleep(REACTION / 4) {
            return Ok(());
        }
    }
    follow(config, view, &recorder.trace(), signals)
}

/// Shows a trace, and the recordings that take its place.
fn follow(config: &Config, view: &TopView, trace: &Path, signals: &Signals) -> Result<()> {
    let mut choices = Choices::new(Order {
        sort: view.sort,
        is_reversed: false,
        is_grouped: view.is_grouped,
    });
    let mut session = Session::open(config, view, Followed::open(config, trace)?)?;
    if session.followed().model.is_inspection() {
        check_filter(&config.filter)?;
    }
    let mut shown = ShownTable::begin(config)?;
    let mut background = None;
    loop {
        let mut live = Live {
            config,
            view,
            signals,
            session,
            choices,
            background,
            entries: Entries::default(),
            lines: Vec::new(),
            size: (0, 0),
        };
        match live.run(&mut shown)? {
            TableEnd::ByUser => return Ok(()),
            TableEnd::Replaced => (choices, background) = (live.choices, live.background),
        }
        session = Session::open(config, view, Followed::open(config, trace)?)?;
    }
}

struct Live<'c> {
    config: &'c Config,
    view: &'c TopView,
    signals: &'c Signals,
    session: Session<'c>,
    choices: Choices,
    /// The page that is being made.
    background: Option<BackgroundPage>,
    /// The entries of the table, sorted as far as they are on the screen.
    entries: Entries,
    /// The lines on the screen.
    lines: Vec<EntryText>,
    /// The size of the terminal, in columns and lines.
    size: (u16, u16),
}

impl Live<'_> {
    fn run(&mut self, shown: &mut ShownTable) -> Result<TableEnd> {
        self.apply_pattern();
        let interval = Duration::from_nanos(self.view.interval.0);
        let mut next = Instant::now() + interval;
        loop {
            self.draw(shown)?;
            if !self.wait(next, shown)? {
                return Ok(TableEnd::ByUser);
            }
            if next <= Instant::now() {
                next = Instant::now() + interval;
                if self.refresh()? {
                    return Ok(TableEnd::Replaced);
                }
            }
        }
    }

    /// Refreshes, unless the table stands still. Returns whether another recording has the name of the trace.
    fn refresh(&mut self) -> Result<bool> {
        if self.choices.is_paused {
            return Ok(false);
        }
        memory::watch_again();
        let progress = self.session.refresh()?;
        let is_over = progress != TraceProgress::GoesOn;
        Ok(is_over && self.session.followed().is_replaced())
    }

    /// Waits until the next refresh, or until something must be drawn. Returns whether to go on.
    fn wait(&mut self, next: Instant, shown: &mut ShownTable) -> Result<bool> {
        if self.background.is_none() {
            memory::rest();
        }
        loop {
            if self.signals.have_arrived() {
                return Ok(false);
            }
            let rest = next.saturating_duration_since(Instant::now());
            if rest.is_zero() || self.has_new_size(shown)? || self.show_finished_page() {
                return Ok(true);
            }
            match shown.input.wait(rest.min(self.reaction()))? {
                Typed::Nothing => return Ok(false),
                Typed::Keys(keys) if keys.is_empty() => {}
                Typed::Keys(keys) => {
                    memory::watch_again();
                    return self.take_all(keys, shown);
                }
            }
        }
    }

    /// The longest time until something other than a key is noticed.
    fn reaction(&self) -> Duration {
        if self.background.is_some() {
            REACTION / 10
        } else {
            REACTION
        }
    }

    /// Shows the page that was being made, if it is finished. Returns whether it is.
    fn show_finished_page(&mut self) -> bool {
        let finished = self.background.as_ref().and_then(BackgroundPage::finished);
        let Some(lines) = finished else {
            return false;
        };
        self.background = None;
        self.open(lines_or_reason(lines, self.size.0), None);
        true
    }

    fn has_new_size(&self, shown: &ShownTable) -> Result<bool> {
        let size = shown.terminal.size()?;
        Ok(self.size != (size.width, size.height))
    }

    /// Takes keys. Returns whether to go on.
    fn take_all(&mut self, keys: Vec<Key>, shown: &mut ShownTable) -> Result<bool> {
        for key in keys {
            if !self.take(key, shown)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Takes a key. Returns whether to go on.
    fn take(&mut self, key: Key, shown: &mut ShownTable) -> Result<bool> {
        let visible = match self.choices.mode {
            Mode::Page(_) => screen::visible_lines(self.size.1),
            _ => screen::visible_rows(self.size.1),
        };
        let sizes = Sizes {
            visible,
            entries: self.entries.count,
        };
        match self.choices.press(key, sizes) {
            Action::Quit => return Ok(false),
            Action::Draw => {}
            Action::Judge => self.session.judge_now(),
            Action::Suspend => shown.suspend()?,
            Action::Filter(pattern) => self.session.set_pattern(pattern),
            Action::OpenProof => self.open_proof(),
            Action::OpenWakeChain(row) => self.open_wake_chain(row),
        }
        if !self.choices.awaits_page() {
            self.background = None;
        }
        Ok(true)
    }

    fn apply_pattern(&mut self) {
        if !self.choices.pattern.is_empty() {
            self.session.set_pattern(self.choices.pattern.parse().ok());
        }
    }

    fn draw(&mut self, shown: &mut ShownTable) -> Result<()> {
        let size = shown.terminal.size()?;
        self.size = (size.width, size.height);
        self.select_lines();
        let summary = Summary::of(&self.session);
        let screen = Screen {
            summary: &summary,
            lines: &self.lines,
            entries: self.entries.count,
            choices: &self.choices,
            has_colors: shown.has_colors,
        };
        shown.terminal.draw(|frame| screen::draw(frame, &screen))?;
        Ok(())
    }

    /// Sorts the entries as far as needed, and finds the texts of those on the screen.
    fn select_lines(&mut self) {
        let visible = screen::visible_rows(self.size.1);
        let selected = self.choices.selected();
        self.entries = self
            .session
            .entries(self.choices.order, selected + visible + 1);
        self.follow_selected();
        let selected = self.choices.selected();
        self.choices.first = scrolled(self.choices.first, selected, visible);
        let on_screen = self
            .entries
            .first
            .iter()
            .skip(self.choices.first)
            .take(visible);
        self.lines = on_screen.map(|entry| self.session.line(entry)).collect();
    }

    /// Keeps the selection on its entry, wherever the entry is now. The first row stays the first row.
    fn follow_selected(&mut self) {
        let last = self.entries.count.saturating_sub(1);
        let number = match self.choices.cursor {
            Cursor::At(number) => number.min(last),
            Cursor::On(id, before) => {
                let visible = screen::visible_rows(self.size.1);
                let near = self.entries.first.iter().take(before + visible + 1);
                near.enumerate()
                    .find_map(|(number, entry)| (entry.id == id).then_some(number))
                    .unwrap_or(before.min(last))
            }
        };
        self.choices.cursor = match self.entries.first.get(number) {
            Some(entry) if 0 < number => Cursor::On(entry.id, number),
            _ => Cursor::At(number),
        };
    }

    /// Opens the page with the proof of the selected entry's verdict.
    fn open_proof(&mut self) {
        let Some(entry) = self.selected_entry() else {
            return;
        };
        let (config, view, width) = (self.config, self.view, self.size.0);
        let proof = proof::lines(config, view, &mut self.session, entry.id, width);
        let mut lines = lines_or_reason(proof, width);
        if 1 < entry.count {
            let title = format!("The longest in this state, of {} here:", entry.count);
            lines.splice(0..0, [title, String::new()]);
        }
        // Wakes of tasks are not recorded.
        let has_wakes = matches!(entry.id, RowId::Coroutine(_));
        self.open(lines, Some(entry.id).filter(|_| has_wakes));
    }

    /// Begins to make the page with the wakes that led to the state of a row, or of the selected row. Another thread
    /// reads the trace, which takes as long as with `--why`.
    fn open_wake_chain(&mut self, row: Option<RowId>) {
        let selected = self.selected_entry().map(|entry| entry.id);
        let Some(id) = row.or(selected) else {
            return;
        };
        let width = self.size.0;
        let chain = WakeChain::of(self.config, self.view, &self.session, id);
        let started = chain.and_then(|chain| {
            let page = BackgroundPage::start(move |stop| chain.lines(width, stop));
            Ok(page?)
        });
        match started {
            Ok(page) => {
                self.background = Some(page);
                self.choices.mode = Mode::Page(TextPage {
                    lines: vec!["Reading the trace from its beginning…".to_owned()],
                    is_pending: true,
                    ..TextPage::default()
                });
            }
            Err(error) => self.open(lines_or_reason(Err(error), width), None),
        }
    }

    fn selected_entry(&self) -> Option<Entry> {
        self.entries.first.get(self.choices.selected()).copied()
    }

    fn open(&mut self, lines: Vec<String>, row: Option<RowId>) {
        self.choices.mode = Mode::Page(TextPage {
            lines,
            row,
            ..TextPage::default()
        });
    }
}

/// The lines of a page, or the reason why there is none, at most `width` columns wide.
fn lines_or_reason(made: Result<Vec<String>>, width: u16) -> Vec<String> {
    made.unwrap_or_else(|error| {
        let reason = text::escape(&format!("{error:#}"));
        let list = List {
            first: "",
            indent: "",
            separator: " ",
            items: &text::words(&reason),
        };
        list.lines(width.into())
    })
}
