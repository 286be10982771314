//! A row of the live table: a coroutine, or a task that an inspection found.

use ctp_trace::model::{Coroutine, JudgedTask, TraceModel};
use ctp_trace::record::{AwaitStackId, CoroutineId, Nanos, SiteId, TaskId, TaskState};
use ctp_trace::verdict::{Fact, Verdict};

use crate::text::units;

/// What a row stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RowId {
    /// A recorded coroutine.
    Coroutine(CoroutineId),
    /// A task that is not recorded.
    Task(TaskId),
}

impl RowId {
    /// The number that pages print.
    pub fn number(self) -> u32 {
        match self {
            RowId::Coroutine(id) => id.0,
            RowId::Task(id) => id.0,
        }
    }
}

/// The place by which rows are grouped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RowPlace {
    /// Where a coroutine waits, or was spawned.
    Site(SiteId),
    /// The await stack of a task.
    Stack(AwaitStackId),
}

/// What a coroutine has done since its birth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// How often the coroutine ran, including the present run.
    pub polls: u64,
    /// How often the coroutine was woken, in 32 bits that overflow.
    pub wakes: u32,
    /// How long the coroutine ran, without the present run.
    pub ran: Nanos,
}

/// The rates of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rates {
    /// Runs per second.
    pub polls: f64,
    /// Wakes per second.
    pub wakes: f64,
    /// The part of the time in which the coroutine ran, in percent of a thread.
    pub running: f64,
}

/// What a coroutine or task does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowState {
    /// The fact about a coroutine.
    Coroutine(Fact),
    /// The state of a task.
    Task(TaskState),
}

impl RowState {
    /// The word for the state.
    pub fn word(self) -> &'static str {
        match self {
            RowState::Coroutine(fact) => fact.word(),
            RowState::Task(state) => state.word(),
        }
    }

    /// Whether a coroutine runs.
    pub fn is_running(self) -> bool {
        self == RowState::Coroutine(Fact::Running)
    }
}

/// A coroutine or task that has not ended. Every refresh reads all rows, so that a row is small.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// What the row stands for.
    pub id: RowId,
    /// Where the coroutine is.
    pub place: RowPlace,
    /// Since when the coroutine has been in this state.
    pub since: Nanos,
    /// What the coroutine does.
    pub state: RowState,
    /// The latest verdict, if the coroutine has not changed since.
    pub verdict: Verdict,
    /// Whether the filters admit the row.
    pub is_admitted: bool,
    /// Whether the coroutine may have worked in the present interval.
    pub is_active: bool,
}

const _: () = assert!(size_of::<Row>() <= 32);

impl Row {
    /// The row of a coroutine. Until the next verdict, nothing suggests that the coroutine is stuck.
    pub fn of_coroutine(model: &TraceModel, coroutine: &Coroutine) -> Self {
        Row {
            id: RowId::Coroutine(coroutine.id),
            place: RowPlace::Site(model.place_of(coroutine)),
            since: coroutine.state().1,
            state: RowState::Coroutine(coroutine.fact()),
            verdict: Verdict::Waiting,
            is_admitted: true,
            is_active: true,
        }
    }

    /// The row of a task. `end` is the time of the last inspection.
    pub fn of_task(judged: &JudgedTask, end: Nanos) -> Self {
        Row {
            id: RowId::Task(judged.task.id),
            place: RowPlace::Stack(judged.task.stack),
            since: Nanos(end.0.saturating_sub(judged.evidence.unchanged.0)),
            state: RowState::Task(judged.task.state),
            verdict: judged.judgement.verdict,
            is_admitted: true,
            is_active: false,
        }
    }
}

/// What a coroutine has done until now, and until the present interval began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowProgress {
    /// Until now.
    pub work: Work,
    /// Until the present interval began.
    pub before: Work,
}

impl RowProgress {
    /// Begins an interval at this time.
    pub fn begin_interval(&mut self, row: &Row, now: Nanos) {
        self.before = self.work.until(row, now);
    }

    /// The rates over the interval that ended at `now` and was `length` long.
    pub fn rates(&self, row: &Row, now: Nanos, length: Nanos) -> Rates {
        let (work, before) = (self.work.until(row, now), self.before);
        if work == before || length.0 == 0 {
            return Rates::default();
        }
        let ran = work.ran.0.saturating_sub(before.ran.0);
        Rates {
            polls: per_second(work.polls.saturating_sub(before.polls), length),
            wakes: per_second(work.wakes.wrapping_sub(before.wakes).into(), length),
            running: 100.0 * ratio(ran, length.0).min(1.0),
        }
    }
}

impl Work {
    /// What a coroutine has done, without its present run.
    pub fn of(coroutine: &Coroutine) -> Self {
        let word = coroutine.wakes.word.map(|word| word.count);
        let call = coroutine.wakes.call.map(|call| call.count);
        let ran = coroutine.waits.ran;
        Work {
            polls: ran.count + u64::from(coroutine.fact() == Fact::Running),
            wakes: word.max(call).unwrap_or_default(),
            ran: ran.sum,
        }
    }

    /// The work including the part of the present run until this time.
    fn until(mut self, row: &Row, now: Nanos) -> Self {
        if row.state.is_running() {
            let run = row.since.until(now).0;
            self.ran = Nanos(self.ran.0.saturating_add(run));
        }
        self
    }
}

/// A number per second of a time.
pub fn per_second(number: u64, time: Nanos) -> f64 {
    match time {
        Nanos(0) => 0.0,
        Nanos(ns) => 1e9 * ratio(number, ns),
    }
}

fn ratio(part: u64, whole: u64) -> f64 {
    units::to_f64(part) / units::to_f64(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Nanos = Nanos(1_000_000_000);

    fn row(fact: Fact) -> Row {
        Row {
            id: RowId::Coroutine(CoroutineId(1)),
            place: RowPlace::Site(SiteId(1)),
            since: Nanos(0),
            state: RowState::Coroutine(fact),
            verdict: Verdict::Waiting,
            is_admitted: true,
            is_active: true,
        }
    }

    #[test]
    fn rates_are_those_of_the_interval() {
        let before = Work {
            polls: 100,
            wakes: u32::MAX,
            ran: Nanos(500),
        };
        let work = Work {
            polls: 150,
            wakes: 9,
            ran: Nanos(500_000_500),
        };
        let (progress, row) = (RowProgress { work, before }, row(Fact::NotWoken));
        let rates = progress.rates(&row, Nanos(0), Nanos(2 * SECOND.0));
        let expected = Rates {
            polls: 25.0,
            wakes: 5.0,
            running: 25.0,
        };
        assert_eq!(rates, expected);
        assert_eq!(progress.rates(&row, Nanos(0), Nanos(0)), Rates::default());
    }

    #[test]
    fn a_present_run_counts_as_running() {
        let (mut progress, row) = (RowProgress::default(), row(Fact::Running));
        progress.begin_interval(&row, SECOND);
        let rates = progress.rates(&row, Nanos(3 * SECOND.0), Nanos(2 * SECOND.0));
        assert!((rates.running - 100.0).abs() < 1e-9 && rates.polls == 0.0);
    }
}
