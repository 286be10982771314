//! The coroutines and the time that the user selected, with one filter for all views.

mod about;
pub mod notice;

use std::collections::{BTreeMap, HashSet};
use std::io;

use anyhow::Result;
use ctp_trace::model::{Coroutine, NameId, Span, TraceModel};
use ctp_trace::record::{CoroutineId, EventKind, Nanos, ProcessExit, Record, SiteId};
use ctp_trace::verdict::THRESHOLD;

use crate::config::filter::{Filter, FilterSubject};
use crate::evidence::{self, Member};
use crate::load::{Input, Model};
use crate::names::Names;
use crate::names::displayed::has_waited;
use crate::text::Page;
use crate::time_scale::Scale;
use about::RecordSubject;

/// The word that `--state` has for coroutines that have ended.
const ENDED: &str = "ended";

/// The coroutines, threads and times that a filter selects.
#[derive(Debug, Default)]
pub struct Selection {
    /// The selected coroutines; `None` selects all.
    ids: Option<HashSet<CoroutineId>>,
    /// The threads of which events are selected, in addition to events about selected coroutines.
    threads: Vec<u64>,
    /// The selected time; `None` selects all.
    time: Option<Scale>,
    /// `--time` selects whole spans that ended in the time, instead of clipping spans.
    whole_spans: bool,
    /// `--time` selects coroutines by when their latest wait or run began.
    selects_by_start: bool,
    /// The number of coroutines, living and ended; 0 without a filter on coroutines.
    all: usize,
}

impl Selection {
    /// Selects what the filter admits. `model` holds the living coroutines, `ended` the others.
    pub fn of(filter: &Filter, (model, names): (&Model, &Names), ended: &EndedSubjects) -> Self {
        let (from, to) = filter.time;
        let mut selection = Selection {
            threads: filter.threads.clone(),
            selects_by_start: filter.began.is_some(),
            whole_spans: filter.whole_spans,
            time: filter
                .has_time()
                .then(|| Scale::new(from, to.unwrap_or(Nanos(u64::MAX)))),
            ..Selection::default()
        };
        if filter.has_coroutines() {
            selection.select(filter, (model, names), ended);
        }
        selection
    }

    fn select(&mut self, filter: &Filter, about: (&Model, &Names), ended: &EndedSubjects) {
        let (model, names) = about;
        let members: Vec<Member> = evidence::members(&model.trace_model, THRESHOLD).collect();
        let admitted = members
            .iter()
            .filter(|member| is_admitted(model, names, member, filter));
        let mut ids: HashSet<CoroutineId> = admitted.map(|(coroutine, _)| coroutine.id).collect();
        let alive_ids: HashSet<CoroutineId> =
            members.iter().map(|(coroutine, _)| coroutine.id).collect();
        self.all = alive_ids.len();
        for (place, all) in &ended.by_place {
            let over = all.iter().filter(|id| !alive_ids.contains(id));
            for id in over {
                self.all += 1;
                if place.is_admitted(*id, (model, names), filter) {
                    ids.insert(*id);
                }
            }
        }
        self.ids = Some(ids);
    }

    /// Whether everything is selected.
    pub fn is_all(&self) -> bool {
        self.ids.is_none() && self.time.is_none()
    }

    /// Whether all coroutines are selected.
    pub fn has_all_coroutines(&self) -> bool {
        self.ids.is_none()
    }

    /// Whether a filter admits no coroutine at all.
    pub fn has_none(&self) -> bool {
        self.ids.as_ref().is_some_and(HashSet::is_empty)
    }

    /// Whether a part of the time is selected.
    pub fn has_time(&self) -> bool {
        self.time.is_some()
    }

    /// Whether the record is needed to rebuild the model of the selected coroutines. Drops only births, events and wakes
    /// of other coroutines. Keeps all thread events and definitions, and ignores the selected time.
    pub fn keeps(&self, record: &Record) -> bool {
        // Without a filter, no record needs to be examined.
        if self.ids.is_none() {
            return true;
        }
        let about = RecordSubject::of(record).filter(|about| about.tid.is_none());
        let id = about.and_then(|about| about.coroutine);
        id.is_none_or(|id| self.has(id))
    }

    /// Reads a model of the selected coroutines, unless all are selected. The model numbers names in its own
    /// way.
    ///
    /// # Errors
    /// If the trace cannot be read.
    pub fn model(&self, input: &Input) -> Result<Option<Model>> {
        if self.ids.is_none() {
            return Ok(None);
        }
        input.part(|record| self.keeps(record)).map(Some)
    }

    /// Whether the coroutine is selected.
    pub fn has(&self, id: CoroutineId) -> bool {
        self.ids.as_ref().is_none_or(|ids| ids.contains(&id))
    }

    /// The selected part of a time range, if any.
    pub fn part(&self, from: Nanos, to: Nanos) -> Option<(Nanos, Nanos)> {
        match &self.time {
            Some(time) => time.clip(from, to),
            None => Some((from, to)),
        }
    }

    /// Whether a time range overlaps the selected time. Unlike for [`part`](Self::part), a range without length and a
    /// range that only touches the selected time overlap.
    pub fn has_part(&self, from: Nanos, to: Nanos) -> bool {
        let is_in = |time: &Scale| time.has(from) || time.has(to);
        self.time.as_ref().is_none_or(is_in) || self.part(from, to).is_some()
    }

    /// The selected part of a span, if any, or the whole span if the filter selects whole spans.
    pub fn clip(&self, span: &Span) -> Option<Span> {
        let (from, to) = match &self.time {
            Some(time) if self.whole_spans => time.has(span.to).then_some((span.from, span.to)),
            _ => self.part(span.from, span.to),
        }?;
        self.has(span.coroutine)
            .then_some(Span { from, to, ..*span })
    }

    /// Whether the record is about a selected coroutine or thread, in the selected time. Records about
    /// anything else, such as definitions, are selected only if everything is.
    pub fn has_record(&self, record: &Record) -> bool {
        if self.is_all() {
            return true;
        }
        let Some(about) = RecordSubject::of(record) else {
            return false;
        };
        let is_time = |time: &Scale| about.at.is_none_or(|at| time.has(at));
        let is_thread = about.tid.is_some_and(|tid| self.threads.contains(&tid));
        let is_coroutine = match about.coroutine {
            Some(id) => self.has(id),
            None => self.ids.is_none(),
        };
        self.time.as_ref().is_none_or(is_time) && (is_thread || is_coroutine)
    }

    /// Whether a state that began at this time is selected.
    pub fn has_start(&self, since: Nanos) -> bool {
        self.time.as_ref().is_none_or(|time| time.has(since))
    }

    /// Says how many coroutines a filter selects, and which time. `what` is the end of the sentence, as
    /// `coroutines are shown`.
    pub fn statements(&self, what: &str) -> Vec<String> {
        let ids = self.ids.as_ref();
        let mut statements = Vec::new();
        statements.extend(ids.map(|ids| notice::counts((ids.len(), self.all), what)));
        statements.extend(self.selects_by_start.then(|| notice::BEGAN.to_owned()));
        statements.extend(self.time.as_ref().map(|_| {
            if self.whole_spans {
                notice::ENDS.to_owned()
            } else {
                notice::PARTS.to_owned()
            }
        }));
        statements
    }

    /// The lines of a page with these [statements](Self::statements).
    pub fn notes(&self, what: &str) -> Vec<String> {
        let statements = self.statements(what);
        statements
            .iter()
            .map(|statement| notice::line(statement))
            .collect()
    }

    /// Writes how many coroutines a filter selects.
    ///
    /// # Errors
    /// If the page cannot be written.
    pub fn write(&self, page: &mut Page) -> io::Result<()> {
        self.write_as(page, "coroutines are shown")
    }

    /// Writes how many coroutines a filter selects. `what` is the end of the sentence.
    ///
    /// # Errors
    /// If the page cannot be written.
    pub fn write_as(&self, page: &mut Page, what: &str) -> io::Result<()> {
        let notes = self.notes(what);
        notes.iter().try_for_each(|note| page.line(note))?;
        if notes.is_empty() { Ok(()) } else { page.gap() }
    }
}

/// Whether the filter admits a coroutine.
pub fn is_admitted(model: &Model, names: &Names, member: &Member, filter: &Filter) -> bool {
    let (coroutine, judgement) = member;
    let site = model.trace_model.place_of(coroutine);
    filter.admits(&FilterSubject {
        id: coroutine.id.0,
        function: &names.name_of_row(model, site, coroutine),
        at: names.at(site).as_deref(),
        name: &names.of_coroutine(model, coroutine),
        thread: coroutine.last.map(|event| event.tid),
        states: [judgement.verdict.word(), judgement.fact.word()],
        since: Some(coroutine.state().1),
    })
}

/// Ended coroutines, grouped by the properties that a filter compares. They are collected while a trace is read, because
/// the model drops them.
#[derive(Debug, Default)]
pub struct EndedSubjects {
    by_place: BTreeMap<LastPlace, Vec<CoroutineId>>,
}

/// Where a coroutine ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct LastPlace {
    name: NameId,
    spawned: SiteId,
    site: SiteId,
    has_waited: bool,
    tid: Option<u64>,
}

impl EndedSubjects {
    /// Adds the coroutines that this record ends. Called before the model takes the record. An exec ends the coroutines
    /// of its process without a death.
    pub fn see(&mut self, trace_model: &TraceModel, record: &Record) {
        match record {
            Record::Event(event) if event.kind == EventKind::Death => {
                if let Some(coroutine) = trace_model.get(event.coroutine) {
                    self.add(trace_model, coroutine, Some(event.tid));
                }
            }
            Record::ProcessEnd(end) if end.how == ProcessExit::Exec => {
                let all = trace_model.coroutines().into_iter();
                for coroutine in all.filter(|coroutine| coroutine.process == end.process) {
                    let tid = coroutine.last.map(|last| last.tid);
                    self.add(trace_model, coroutine, tid);
                }
            }
            _ => {}
        }
    }

    fn add(&mut self, trace_model: &TraceModel, coroutine: &Coroutine, tid: Option<u64>) {
        let place = LastPlace {
            name: coroutine.name,
            spawned: coroutine.spawn_site,
            site: trace_model.place_of(coroutine),
            has_waited: has_waited(trace_model, coroutine),
            tid,
        };
        self.by_place.entry(place).or_default().push(coroutine.id);
    }
}

impl LastPlace {
    fn is_admitted(
        &self,
        id: CoroutineId,
        (model, names): (&Model, &Names),
        filter: &Filter,
    ) -> bool {
        let given = model.trace_model.name(self.name);
        let name = names.called(given);
        filter.admits(&FilterSubject {
            id: id.0,
            function: &names.name_of_row_at(self.site, given, self.has_waited),
            at: names.at(self.site).as_deref(),
            name: &name.unwrap_or_else(|| names.function(self.spawned, "")),
            thread: self.tid,
            states: [ENDED, ENDED],
            since: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use ctp_trace::model::SpanActivity;
    use ctp_trace::record::{Event, ThreadEvent};

    use super::*;

    fn event(id: u32, at: u64) -> Record {
        Record::Event(Event {
            coroutine: CoroutineId(id),
            at: Nanos(at),
            ..Event::default()
        })
    }

    // AGG-18
    #[test]
    fn records_need_the_coroutine_and_the_time() {
        let selection = Selection {
            ids: Some([CoroutineId(7)].into()),
            threads: vec![40],
            time: Some(Scale::new(Nanos(100), Nanos(200))),
            whole_spans: false,
            selects_by_start: false,
            all: 2,
        };
        assert!(selection.has_record(&event(7, 150)));
        assert!(!selection.has_record(&event(8, 150)) && !selection.has_record(&event(7, 201)));
        let thread_event = |tid, at| {
            Record::ThreadEvent(ThreadEvent {
                tid,
                at: Nanos(at),
                ..ThreadEvent::default()
            })
        };
        assert!(selection.has_record(&thread_event(40, 150)));
        assert!(!selection.has_record(&thread_event(41, 150)));
        assert!(!selection.has_record(&thread_event(40, 99)));
        assert!(!selection.has_record(&Record::Watermark(Nanos(150))));
        assert!(Selection::default().has_record(&Record::Watermark(Nanos(150))));
    }

    #[test]
    fn spans_are_clipped_to_the_time() {
        let selection = Selection {
            time: Some(Scale::new(Nanos(100), Nanos(200))),
            ..Selection::default()
        };
        let span = |from, to| Span {
            coroutine: CoroutineId(1),
            activity: SpanActivity::Running(None),
            from: Nanos(from),
            to: Nanos(to),
        };
        assert_eq!(selection.clip(&span(50, 150)), Some(span(100, 150)));
        assert_eq!(selection.clip(&span(50, 60)), None);
        let whole = Selection {
            whole_spans: true,
            ..selection
        };
        assert_eq!(whole.clip(&span(50, 150)), Some(span(50, 150)));
        assert_eq!(whole.clip(&span(150, 250)), None);
        assert_eq!(Selection::default().clip(&span(50, 60)), Some(span(50, 60)));
    }
}
