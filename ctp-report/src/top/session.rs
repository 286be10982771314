//! A trace that is followed, with its rows, verdicts and names.

use std::time::Duration;

use anyhow::Result;
use ctp_trace::record::{CoroutineId, Nanos};
use ctp_trace::verdict::Judgement;
use regex_lite::Regex;

use super::interval::Interval;
use super::line::{EntryText, Tasks, TextSources};
use super::order::{Entries, Entry, Order, first_entries};
use super::pace::Pace;
use super::row::{Rates, Row, RowId};
use super::rows::{ChangedRows, Rows};
use crate::config::filter::FilterSubject;
use crate::config::{Config, TopSort, TopView};
use crate::document::trace_names;
use crate::evidence::ignored;
use crate::load::Model;
use crate::load::follow::{Followed, TraceProgress};
use crate::names::Names;

/// Judging uses about one n-th of a processor.
const SHARE_OF_VERDICTS: u32 = 300;
/// Looking up names uses about one n-th of a processor.
const SHARE_OF_NAMES: u32 = 100;

/// The state of the table, apart from what the user chose.
pub struct Session<'c> {
    config: &'c Config,
    view: &'c TopView,
    followed: Followed,
    names: Names,
    rows: Rows,
    tasks: Tasks,
    interval: Interval,
    /// Events until the beginning of the interval.
    events_before: u64,
    /// Whether places became known that have no names yet.
    has_new_places: bool,
    /// Whether records came after the last verdicts.
    is_outdated: bool,
    naming: Pace,
    judging: Pace,
    /// Missing events, as of the latest verdicts. To count them takes a pass over all coroutines.
    lost: u64,
    /// The pattern that the user typed.
    pattern: Option<Regex>,
}

impl<'c> Session<'c> {
    /// Opens the trace and reads what it has.
    ///
    /// # Errors
    /// If the trace cannot be read, or takes too much memory.
    pub fn open(config: &'c Config, view: &'c TopView, followed: Followed) -> Result<Self> {
        let mut session = Session {
            config,
            view,
            followed,
            names: Names::default(),
            rows: Rows::default(),
            tasks: Tasks::default(),
            interval: Interval::default(),
            events_before: 0,
            has_new_places: false,
            is_outdated: true,
            naming: Pace::new(SHARE_OF_NAMES),
            judging: Pace::new(SHARE_OF_VERDICTS),
            lost: 0,
            pattern: None,
        };
        session.followed.read_on(|_| {})?;
        session.take(&ChangedRows::all());
        Ok(session)
    }

    /// Reads what was added to the trace, and begins a new interval.
    ///
    /// # Errors
    /// If the trace takes too much memory.
    pub fn refresh(&mut self) -> Result<TraceProgress> {
        if self.followed.progress() != TraceProgress::GoesOn {
            return Ok(self.followed.progress());
        }
        let mut changes = ChangedRows::default();
        let damaged = self.followed.model.damage.len();
        let before = self.events();
        let progress = self.followed.read_on(|record| changes.note(record))?;
        changes.everything |= damaged < self.followed.model.damage.len();
        changes.everything |= progress != TraceProgress::GoesOn;
        // Without new records, the time of the recording stands still, and the rates stay.
        if self.interval.end < time_of(&self.followed.model) {
            self.rows.begin_interval(self.interval.end);
            self.events_before = before;
        }
        self.take(&changes);
        Ok(progress)
    }

    fn take(&mut self, changes: &ChangedRows) {
        let end = time_of(&self.followed.model);
        if self.interval.end < end {
            let length = self.interval.end.until(end);
            self.interval = Interval { end, length };
            self.is_outdated = true;
        }
        self.has_new_places |= changes.places;
        let is_final = self.followed.progress() != TraceProgress::GoesOn;
        if self.has_new_places && (self.naming.is_due() || is_final) {
            self.find_names();
        }
        self.update_rows(changes);
        self.is_outdated |= changes.everything || !changes.coroutines.is_empty();
        if self.is_outdated && (self.judging.is_due() || is_final) {
            self.judge();
        }
    }

    fn find_names(&mut self) {
        let Session {
            config, followed, ..
        } = self;
        let names = self
            .naming
            .work(|| trace_names::resolve(config, followed.input(), &followed.model));
        self.names = names;
        self.has_new_places = false;
        self.filter_again();
    }

    fn update_rows(&mut self, changes: &ChangedRows) {
        if changes.inspected {
            self.update_tasks();
        }
        let mut rows = std::mem::take(&mut self.rows);
        rows.update(&self.followed.model, changes, |row| self.admits(row));
        self.rows = rows;
    }

    fn update_tasks(&mut self) {
        let mut rows = std::mem::take(&mut self.rows);
        let model = &self.followed.model;
        let mut judged = model.trace_model.judge_inspected(self.view.threshold);
        judged.retain(|judged| !judged.task.is_recorded());
        self.tasks = Tasks::of(&judged, self.interval.end);
        rows.set_tasks(&judged, self.interval.end, |row| self.admits(row));
        self.rows = rows;
    }

    /// Judges and finds names now, however long that takes.
    pub fn judge_now(&mut self) {
        if self.has_new_places {
            self.find_names();
        }
        if self.is_outdated {
            self.judge();
        }
    }

    /// Judges all coroutines by the rule of `--stuck`.
    fn judge(&mut self) {
        let Session {
            view,
            followed,
            names,
            ..
        } = self;
        let (judged, lost) = self.judging.work(|| {
            followed.model.find_awaited();
            (judged(followed, names, view), followed.model.lost())
        });
        self.lost = lost;
        self.is_outdated = false;
        let mut rows = std::mem::take(&mut self.rows);
        rows.set_verdicts(&judged, |row| self.admits(row));
        self.rows = rows;
    }

    /// Shows only rows that match the pattern, or all.
    pub fn set_pattern(&mut self, pattern: Option<Regex>) {
        self.pattern = pattern;
        self.filter_again();
    }

    fn filter_again(&mut self) {
        let mut rows = std::mem::take(&mut self.rows);
        rows.admit(|row| self.admits(row));
        self.rows = rows;
    }

    fn admits(&self, row: &Row) -> bool {
        let filter = &self.config.filter;
        if filter.is_empty() && self.pattern.is_none() {
            return true;
        }
        let line = self
            .texts()
            .line(&Entry::of(row, Rates::default()), row, self.interval.end);
        let pattern = self.pattern.as_ref();
        filter.admits(&self.subject(row, &line))
            && pattern.is_none_or(|pattern| line.matches(pattern))
    }

    fn subject<'l>(&self, row: &Row, line: &'l EntryText) -> FilterSubject<'l> {
        let thread = match row.id {
            RowId::Coroutine(id) => {
                let coroutine = self.followed.model.trace_model.get(id);
                coroutine.and_then(|coroutine| Some(coroutine.last?.tid))
            }
            RowId::Task(_) => None,
        };
        FilterSubject {
            id: line.id,
            function: &line.function,
            at: line.at.as_deref(),
            name: &line.name,
            thread,
            states: [line.verdict, line.state],
            since: Some(row.since),
        }
    }

    fn texts(&self) -> TextSources<'_> {
        TextSources {
            model: &self.followed.model,
            names: &self.names,
            tasks: &self.tasks,
        }
    }

    /// The first `limit` entries of the table.
    pub fn entries(&self, order: Order, limit: usize) -> Entries {
        first_entries(&self.rows, self.interval, (order, limit), |entry| {
            let line = self.line(entry);
            match order.sort {
                TopSort::Name => line.name,
                _ => line.function,
            }
        })
    }

    /// The texts of an entry.
    pub fn line(&self, entry: &Entry) -> EntryText {
        match self.rows.get(entry.id) {
            Some(row) => self.texts().line(entry, row, self.interval.end),
            None => EntryText::default(),
        }
    }

    /// All rows.
    pub fn rows(&self) -> &Rows {
        &self.rows
    }

    /// How many of the rows are recorded coroutines.
    pub fn recorded(&self) -> usize {
        self.rows.counts().alive.saturating_sub(self.tasks.count())
    }

    /// The trace that is followed.
    pub fn followed(&self) -> &Followed {
        &self.followed
    }

    /// The names of places.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// The trace and the names of places, to which names of call stacks can be added.
    pub fn names_mut(&mut self) -> (&Followed, &mut Names) {
        (&self.followed, &mut self.names)
    }

    /// The interval of the rates.
    pub fn interval(&self) -> Interval {
        self.interval
    }

    /// Events in the interval of the rates.
    pub fn new_events(&self) -> u64 {
        self.events().saturating_sub(self.events_before)
    }

    fn events(&self) -> u64 {
        self.followed.model.trace_model.totals().events
    }

    /// Missing events, as of the latest verdicts.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// How old the verdicts are, if newer records came since.
    pub fn verdict_age(&self) -> Option<Duration> {
        self.judging.age().filter(|_| self.is_outdated)
    }
}

/// The time up to which the trace is complete. Inspections are not events, so that their time may be later.
fn time_of(model: &Model) -> Nanos {
    let inspected = model.trace_model.inspected();
    let inspections = inspected.filter_map(|(_, process)| Some(process.times.last()?.began));
    inspections.fold(model.duration(), Nanos::max)
}

/// The verdicts on all coroutines. Without ignored places, no names are needed.
fn judged(followed: &Followed, names: &Names, view: &TopView) -> Vec<(CoroutineId, Judgement)> {
    let model = &followed.model;
    if view.ignore.0.is_empty() {
        return model.trace_model.judge(view.threshold);
    }
    let members = ignored::members(model, names, view.threshold, &view.ignore);
    let judged = members.into_iter();
    judged
        .map(|(coroutine, judgement)| (coroutine.id, judgement))
        .collect()
}
