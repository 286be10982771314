//! All rows of the live table. A refresh changes only the rows of coroutines that new records concern.

use std::collections::{HashMap, HashSet};

use ctp_trace::model::JudgedTask;
use ctp_trace::record::{CoroutineId, Nanos, Record, TaskState};
use ctp_trace::verdict::{Fact, Judgement};

use super::interval::Interval;
use super::row::{Rates, Row, RowId, RowProgress, RowState, Work};
use crate::load::Model;

/// The coroutines and tasks that have not ended, in no order.
#[derive(Debug, Default)]
pub struct Rows {
    rows: Vec<Row>,
    /// The work of each row.
    progress: Vec<RowProgress>,
    index: HashMap<RowId, usize>,
    counts: RowCounts,
}

/// What new records concern.
#[derive(Debug, Default)]
pub struct ChangedRows {
    /// The coroutines with new records.
    pub coroutines: HashSet<CoroutineId>,
    /// Any coroutine may have changed.
    pub everything: bool,
    /// An inspection was completed.
    pub inspected: bool,
    /// A place or a file of the program became known.
    pub places: bool,
}

impl ChangedRows {
    /// What must be read before anything is known.
    pub fn all() -> Self {
        ChangedRows {
            everything: true,
            inspected: true,
            places: true,
            ..ChangedRows::default()
        }
    }

    /// Notes what a record concerns.
    pub fn note(&mut self, record: &Record) {
        let id = match record {
            Record::Event(event) => event.coroutine,
            Record::Birth(birth) => birth.coroutine,
            Record::Wake(wake) => wake.coroutine,
            Record::EventCounts(event_counts) => event_counts.coroutine,
            Record::Aggregate(aggregate) => aggregate.coroutine,
            other => return self.note_other(other),
        };
        if !self.everything {
            self.coroutines.insert(id);
        }
    }

    fn note_other(&mut self, record: &Record) {
        match record {
            Record::ProcessEnd(_) | Record::Control(_) | Record::End(_) => self.everything = true,
            Record::InspectionEnd(_) => self.inspected = true,
            Record::Site(_) | Record::Chain(_) | Record::Branches(_) | Record::Module(_) => {
                self.places = true;
            }
            _ => {}
        }
    }
}

impl Rows {
    /// The row of a coroutine or task that has not ended.
    pub fn get(&self, id: RowId) -> Option<&Row> {
        self.index.get(&id).map(|at| &self.rows[*at])
    }

    /// All rows, with their rates over an interval.
    pub fn with_rates(&self, interval: Interval) -> impl Iterator<Item = (&Row, Rates)> {
        self.rows.iter().enumerate().map(move |(at, row)| {
            let rates = if row.is_active {
                self.progress[at].rates(row, interval.end, interval.length)
            } else {
                Rates::default()
            };
            (row, rates)
        })
    }

    /// Begins an interval, over which rates are computed.
    pub fn begin_interval(&mut self, now: Nanos) {
        for (at, row) in self.rows.iter_mut().enumerate() {
            if row.is_active {
                self.progress[at].begin_interval(row, now);
                row.is_active = row.state.is_running();
            }
        }
    }

    /// Takes the present states of coroutines. `admit` returns whether the filters admit a row.
    pub fn update(
        &mut self,
        model: &Model,
        changes: &ChangedRows,
        mut admit: impl FnMut(&Row) -> bool,
    ) {
        if changes.everything {
            let ended = self.ended(model);
            ended.into_iter().for_each(|id| self.remove(id));
            for coroutine in model.trace_model.coroutines() {
                self.update_coroutine(model, coroutine.id, &mut admit);
            }
        }
        for id in &changes.coroutines {
            self.update_coroutine(model, *id, &mut admit);
        }
    }

    fn ended(&self, model: &Model) -> Vec<RowId> {
        let all = self.rows.iter().map(|row| row.id);
        all.filter(|id| match id {
            RowId::Coroutine(id) => model.trace_model.get(*id).is_none(),
            RowId::Task(_) => false,
        })
        .collect()
    }

    fn update_coroutine(
        &mut self,
        model: &Model,
        id: CoroutineId,
        admit: &mut impl FnMut(&Row) -> bool,
    ) {
        let coroutine = model.trace_model.get(id);
        match coroutine.filter(|coroutine| coroutine.is_alive()) {
            Some(coroutine) => {
                let row = Row::of_coroutine(&model.trace_model, coroutine);
                self.put(row, Work::of(coroutine), admit);
            }
            None => self.remove(RowId::Coroutine(id)),
        }
    }

    fn put(&mut self, mut row: Row, work: Work, admit: &mut impl FnMut(&Row) -> bool) {
        row.is_admitted = admit(&row);
        *self.counts.of(&row) += 1;
        if let Some(at) = self.index.get(&row.id) {
            *self.counts.of(&self.rows[*at]) -= 1;
            self.progress[*at].work = work;
            self.rows[*at] = row;
            return;
        }
        self.counts.alive += 1;
        self.index.insert(row.id, self.rows.len());
        self.rows.push(row);
        self.progress.push(RowProgress {
            work,
            before: Work::default(),
        });
    }

    fn remove(&mut self, id: RowId) {
        let Some(at) = self.index.remove(&id) else {
            return;
        };
        let removed = self.rows.swap_remove(at);
        self.progress.swap_remove(at);
        *self.counts.of(&removed) -= 1;
        self.counts.alive -= 1;
        if let Some(moved) = self.rows.get(at) {
            self.index.insert(moved.id, at);
        }
    }

    /// Replaces all rows of tasks by those that the last inspection found.
    pub fn set_tasks(
        &mut self,
        tasks: &[JudgedTask],
        end: Nanos,
        mut admit: impl FnMut(&Row) -> bool,
    ) {
        let old: Vec<RowId> = self.rows.iter().map(|row| row.id).collect();
        for id in old {
            if matches!(id, RowId::Task(_)) {
                self.remove(id);
            }
        }
        for task in tasks {
            self.put(Row::of_task(task, end), Work::default(), &mut admit);
        }
    }

    /// Takes new verdicts on all coroutines.
    pub fn set_verdicts(
        &mut self,
        judged: &[(CoroutineId, Judgement)],
        mut admit: impl FnMut(&Row) -> bool,
    ) {
        for (id, judgement) in judged {
            let Some(at) = self.index.get(&RowId::Coroutine(*id)) else {
                continue;
            };
            let row = &mut self.rows[*at];
            if row.verdict != judgement.verdict {
                *self.counts.of(row) -= 1;
                row.verdict = judgement.verdict;
                row.is_admitted = admit(row);
                *self.counts.of(row) += 1;
            }
        }
    }

    /// Applies changed filters.
    pub fn admit(&mut self, mut admit: impl FnMut(&Row) -> bool) {
        for row in &mut self.rows {
            row.is_admitted = admit(row);
        }
    }

    /// How many coroutines and tasks there are in each state.
    pub fn counts(&self) -> RowCounts {
        self.counts
    }
}

/// Numbers of coroutines and tasks. Each is counted once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct RowCounts {
    /// All of them.
    pub alive: usize,
    /// Those that are stuck, certainly or likely.
    pub stuck: usize,
    /// Those that run, busy or not.
    pub running: usize,
    /// Those that were woken and have not run since.
    pub woken: usize,
    /// Those that have never run.
    pub never_run: usize,
    /// All others.
    pub waiting: usize,
}

impl RowCounts {
    /// The number to which a row belongs, apart from [`alive`](Self::alive).
    fn of(&mut self, row: &Row) -> &mut usize {
        match row.state {
            _ if row.verdict.is_stuck() => &mut self.stuck,
            RowState::Coroutine(Fact::Running) | RowState::Task(TaskState::Running) => {
                &mut self.running
            }
            RowState::Coroutine(Fact::WokenNotRun) | RowState::Task(TaskState::Notified) => {
                &mut self.woken
            }
            RowState::Coroutine(Fact::NeverRun) | RowState::Task(TaskState::NotStarted) => {
                &mut self.never_run
            }
            _ => &mut self.waiting,
        }
    }
}

#[cfg(test)]
mod tests;
