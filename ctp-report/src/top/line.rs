//! The texts of an entry of the table.

use std::collections::BTreeMap;

use ctp_trace::model::{Coroutine, JudgedTask};
use ctp_trace::record::{Nanos, TaskId};
use regex_lite::Regex;
use serde::Serialize;

use super::order::Entry;
use super::row::{Row, RowId};
use crate::evidence::inspected::{site, site::StackSite, words};
use crate::evidence::resource;
use crate::load::Model;
use crate::names::Names;

/// An entry of the table, in words.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct EntryText {
    /// The coroutine or task; of a group, the member that has been in its state for longest.
    pub id: u32,
    /// Whether the number is that of a task that is not recorded.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_task: bool,
    /// How many coroutines or tasks the line stands for.
    pub count: usize,
    /// The verdict.
    pub verdict: &'static str,
    /// What the coroutine does.
    pub state: &'static str,
    /// How long the coroutine has been in this state.
    pub for_ns: u64,
    /// Runs per second.
    pub polls_per_s: f64,
    /// Wakes per second.
    pub wakes_per_s: f64,
    /// The part of the time in which the coroutine ran, in percent of a thread.
    pub running_percent: f64,
    /// The name.
    pub name: String,
    /// The function at the place.
    pub function: String,
    /// The place, as file and line.
    pub at: Option<String>,
    /// What the coroutine waits for.
    pub waits_for: Option<String>,
}

/// What texts are found from.
#[derive(Clone, Copy)]
pub struct TextSources<'t> {
    /// The trace.
    pub model: &'t Model,
    /// The names of its places.
    pub names: &'t Names,
    /// The tasks of the last inspection, by id.
    pub tasks: &'t Tasks,
}

/// The texts of the tasks that the last inspection found.
#[derive(Debug, Default)]
pub struct Tasks(BTreeMap<TaskId, TaskTexts>);

/// The texts of a task.
#[derive(Clone, Debug)]
struct TaskTexts {
    name: String,
    function: String,
    at: Option<String>,
    waits_for: Option<String>,
}

impl EntryText {
    /// Whether a text of the line matches.
    pub fn matches(&self, pattern: &Regex) -> bool {
        let texts = [self.name.as_str(), &self.function, self.verdict, self.state];
        let places = [&self.at, &self.waits_for].into_iter().flatten();
        let mut all = texts.into_iter().chain(places.map(String::as_str));
        all.any(|text| pattern.is_match(text))
    }
}

impl Tasks {
    /// Finds the texts of tasks. `end` is the time of the last inspection.
    pub fn of(judged: &[JudgedTask], end: Nanos) -> Self {
        let texts = judged.iter().map(|judged| {
            let site = StackSite::of(judged.task, judged.stack);
            let waits = words::waits(&[judged.task], Some(end)).join(", ");
            let texts = TaskTexts {
                name: site::name_of(judged.task),
                at: site.at(),
                function: site.function,
                waits_for: Some(waits).filter(|waits| !waits.is_empty()),
            };
            (judged.task.id, texts)
        });
        Tasks(texts.collect())
    }
}

impl Tasks {
    /// The number of tasks.
    pub fn count(&self) -> usize {
        self.0.len()
    }
}

impl TextSources<'_> {
    /// The line of an entry.
    pub fn line(self, entry: &Entry, row: &Row, now: Nanos) -> EntryText {
        let mut line = EntryText {
            id: entry.id.number(),
            count: entry.count,
            verdict: entry.verdict.word(),
            state: row.state.word(),
            for_ns: entry.since.until(now).0,
            polls_per_s: entry.rates.polls,
            wakes_per_s: entry.rates.wakes,
            running_percent: entry.rates.running,
            ..EntryText::default()
        };
        match entry.id {
            RowId::Coroutine(id) => {
                if let Some(coroutine) = self.model.trace_model.get(id) {
                    self.name_coroutine(&mut line, coroutine, entry.since);
                }
            }
            RowId::Task(id) => self.name_task(&mut line, id),
        }
        line
    }

    fn name_coroutine(self, line: &mut EntryText, coroutine: &Coroutine, since: Nanos) {
        let TextSources { model, names, .. } = self;
        let site = model.trace_model.place_of(coroutine);
        // A coroutine of an ended process has not waited since.
        line.for_ns = since.until(model.trace_model.end_of(coroutine.process)).0;
        line.name = names.of_coroutine(model, coroutine);
        line.function = names.name_of_row(model, site, coroutine);
        line.at = names.at(site);
        let wait = coroutine.suspend();
        line.waits_for = wait.and_then(|wait| resource::of_known(model, wait));
    }

    fn name_task(self, line: &mut EntryText, id: TaskId) {
        line.is_task = true;
        if let Some(texts) = self.tasks.0.get(&id) {
            line.name.clone_from(&texts.name);
            line.function.clone_from(&texts.function);
            line.at.clone_from(&texts.at);
            line.waits_for.clone_from(&texts.waits_for);
        }
    }
}
