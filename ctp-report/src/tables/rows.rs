//! Turns a trace into the rows of the tables. Events, waits and wakes become rows as they are read, and
//! are not kept in memory.

mod aggregates;
mod coroutine_names;
mod coroutine_set;
mod coroutines;
mod definitions;
mod events;
mod references;
mod verdicts;
mod waits;

use anyhow::{Error, Result};
use ctp_trace::TraceModel;
use ctp_trace::model::Coroutine;
use ctp_trace::record::{
    Act, CoroutineId, Event, EventCounts, EventKind, ProcessExit, ProcessId, Record, ThreadEvent,
};

use crate::evidence::first_calls::FirstCalls;
use crate::evidence::selection::Selection;
use crate::load::Model;
use crate::names::Names;
use crate::tables::schema::TableId;
use crate::tables::value::{TableWriter, Value};
use crate::views::stuck::Explained;
use aggregates::Aggregates;
use coroutine_names::CoroutineNames;
use references::References;
use waits::Call;

/// Turns records into rows, in the order of the trace.
pub struct Rows<'a> {
    about: About<'a>,
    references: References,
    aggregates: Aggregates,
    coroutine_names: CoroutineNames,
    calls: FirstCalls<Call>,
    out: Output<'a>,
}

/// The trace, read before, and the names of its places.
#[derive(Clone, Copy)]
struct About<'a> {
    model: &'a Model,
    names: &'a Names,
    selection: &'a Selection,
}

impl About<'_> {
    /// The id of a coroutine, or null if it is not selected.
    fn coroutine(&self, id: Option<CoroutineId>) -> Value<'static> {
        Value::id(id.filter(|id| self.selection.has(*id)).map(|id| id.0))
    }
}

/// A writer that keeps its first error.
struct Output<'a> {
    writer: &'a mut dyn TableWriter,
    failed: Option<Error>,
}

impl Output<'_> {
    /// Stores a row, unless an earlier row could not be stored.
    fn row(&mut self, table: TableId, values: &[Value<'_>]) {
        debug_assert_eq!(values.len(), table.table().columns.len(), "{table:?}");
        if self.failed.is_none() {
            self.failed = self.writer.row(table, values).err();
        }
    }

    /// Stores a row without texts but words, unless an earlier row could not be stored.
    fn row_of_words(&mut self, table: TableId, values: &[Value<'static>]) {
        debug_assert_eq!(values.len(), table.table().columns.len(), "{table:?}");
        if self.failed.is_none() {
            self.failed = self.writer.row_of_words(table, values).err();
        }
    }
}

impl<'a> Rows<'a> {
    /// Creates the rows of a trace. `model` is the result of an earlier pass over the records of the selected
    /// coroutines.
    pub fn new(
        (model, names): (&'a Model, &'a Names),
        selection: &'a Selection,
        writer: &'a mut dyn TableWriter,
    ) -> Self {
        Rows {
            about: About {
                model,
                names,
                selection,
            },
            references: References::of(model),
            aggregates: Aggregates::default(),
            coroutine_names: CoroutineNames::default(),
            calls: FirstCalls::default(),
            out: Output {
                writer,
                failed: None,
            },
        }
    }

    /// Writes the rows that do not depend on events. `whole` is the trace with all coroutines.
    pub fn write_definitions(&mut self, whole: &Model) {
        definitions::trace(whole, &mut self.out);
        definitions::write(self.about, &self.references, &mut self.out);
    }

    /// Takes the next record of a selected coroutine, which `trace_model` has not seen yet. Records at other
    /// times than those that are selected have no rows, but end waits that do.
    pub fn take(&mut self, trace_model: &TraceModel, record: &Record) {
        let has_row = self.about.selection.has_record(record);
        match record {
            Record::Event(event) => self.add_event(trace_model, event, has_row),
            Record::ThreadEvent(thread_event) => {
                self.thread_event(trace_model, thread_event, has_row);
            }
            Record::Aggregate(aggregate) => self.aggregates.note(aggregate),
            Record::EventCounts(counts) => self.account(trace_model, counts),
            Record::ProcessEnd(end) if end.how == ProcessExit::Exec => {
                self.replaced(trace_model, end.process);
            }
            _ => {}
        }
    }

    /// Takes an event of a coroutine, and the wait that the event ended.
    fn add_event(&mut self, trace_model: &TraceModel, event: &Event, has_row: bool) {
        let coroutine = trace_model.get(event.coroutine);
        if has_row {
            events::event(&self.references, coroutine, event, &mut self.out);
        }
        if let Some(coroutine) = coroutine {
            let end = waits::End::of(coroutine, event);
            let call = self.call_before(event);
            self.write_wait(coroutine, end, call);
        }
    }

    /// Writes a wait, if a part of it is in the selected time.
    fn write_wait(&mut self, coroutine: &Coroutine, end: Option<waits::End>, call: Option<Call>) {
        let selection = self.about.selection;
        if let Some(end) = end.filter(|end| end.is_selected(selection)) {
            let about = (self.about, &self.references);
            waits::write(about, coroutine, (end, call), &mut self.out);
        }
    }

    /// The call that ended the wait before this event.
    fn call_before(&mut self, event: &Event) -> Option<Call> {
        match event.kind {
            EventKind::Run | EventKind::Death => self.calls.take(event.coroutine),
            EventKind::Suspend => {
                self.calls.suspended(event);
                None
            }
            EventKind::Birth => None,
        }
    }

    fn thread_event(
        &mut self,
        trace_model: &TraceModel,
        thread_event: &ThreadEvent,
        has_row: bool,
    ) {
        let about = (&self.references, trace_model);
        match &thread_event.act {
            Act::Wake(call) => {
                if let Some(coroutine) = trace_model.get(call.coroutine) {
                    let columns = || Call::of(about, thread_event, call);
                    self.calls.note(coroutine, call, columns);
                }
                if has_row {
                    events::wake(about, thread_event, call, &mut self.out);
                }
            }
            _ if !has_row => {}
            _ => events::thread_event(about, thread_event, &mut self.out),
        }
    }

    /// Takes the final account of a coroutine. The model forgets the coroutine if it has ended.
    fn account(&mut self, trace_model: &TraceModel, counts: &EventCounts) {
        let Some(coroutine) = trace_model.get(counts.coroutine) else {
            return;
        };
        if coroutines::is_over(coroutine, counts) {
            let lost = coroutine.account.lost_given(counts);
            // A filter may have kept out the run and the death after the last wait.
            self.write_last_wait(coroutine, true);
            self.write_coroutine(coroutine, lost, true);
        }
    }

    /// Takes the end of a process whose image was replaced. The model forgets its coroutines.
    fn replaced(&mut self, trace_model: &TraceModel, process: ProcessId) {
        let all = trace_model.coroutines().into_iter();
        for coroutine in all.filter(|coroutine| coroutine.process == process) {
            self.write_last_wait(coroutine, true);
            self.write_coroutine(coroutine, coroutine.account.lost(), true);
        }
    }

    /// Writes the row of a coroutine, unless a damaged trace has the same coroutine twice.
    /// `is_over` says that the final account has its death.
    fn write_coroutine(&mut self, coroutine: &Coroutine, lost: u64, is_over: bool) {
        let sums = self.aggregates.take(coroutine);
        if self.references.note_written(coroutine.id) {
            let about = (self.about, &self.references);
            let name = self.coroutine_names.of(self.about, coroutine);
            let facts = (name, &sums, lost, is_over);
            coroutines::write(about, coroutine, facts, &mut self.out);
        }
    }

    /// Writes the wait of which the trace has no end.
    fn write_last_wait(&mut self, coroutine: &Coroutine, is_over: bool) {
        if let Some(end) = waits::End::missing(coroutine, is_over) {
            let call = self.calls.take(coroutine.id);
            self.write_wait(coroutine, Some(end), call);
        }
    }

    /// Writes the coroutines that have not ended, or have no final account, and their waits.
    ///
    /// # Errors
    /// If a row could not be stored.
    pub fn finish(&mut self) -> Result<()> {
        for coroutine in self.about.model.trace_model.coroutines() {
            self.write_last_wait(coroutine, false);
            self.write_coroutine(coroutine, coroutine.account.lost(), false);
        }
        self.out.failed.take().map_or(Ok(()), Err)
    }

    /// Writes the verdict on a coroutine. `judged` is the model from which the verdict follows.
    ///
    /// # Errors
    /// If the row could not be stored.
    pub fn write_verdict(&mut self, judged: &Model, explained: &Explained<'_>) -> Result<()> {
        verdicts::write(judged, &self.references, explained, &mut self.out);
        self.out.failed.take().map_or(Ok(()), Err)
    }
}
