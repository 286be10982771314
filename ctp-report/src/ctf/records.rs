//! Turns the records of a trace into event records, as they are read.

mod losses;

use std::collections::HashMap;
use std::io;

use ctp_trace::TraceModel;
use ctp_trace::hash::Map;
use ctp_trace::model::{Coroutine, NameId};
use ctp_trace::record::{
    Act, CoroutineId, Event, EventKind, Hold, ProcessId, Record, SiteId, ThreadEvent, WaitKind,
    WakeCall, Waker,
};

use crate::ctf::encoding::{self, FieldValue, Moment};
use crate::ctf::labels::Labels;
use crate::ctf::schema::{EventClass, LabelSet};
use crate::ctf::streams::Streams;
use crate::evidence::selection::Selection;
use crate::evidence::{proof, resource};
use crate::load::Model;
use crate::names::Names;
use crate::views::stuck::Explained;

/// Stands for the name of a coroutine that has ended or is not selected.
const NO_NAME: &str = "(ended or not selected)";

/// Turns records into event records, in the order of the trace.
pub struct EventRecords<'a> {
    /// The coroutines, as their records number names.
    model: &'a Model,
    names: &'a Names,
    selection: &'a Selection,
    pids: HashMap<ProcessId, u32>,
    labels: Labels,
    /// The labels of the coroutines that have not ended.
    named: Map<CoroutineId, u32>,
    /// The labels of places. A place without a known function has the name of the coroutine.
    places: HashMap<(SiteId, NameId), u32>,
    streams: Streams<'a>,
    /// The latest event record.
    encoded: Vec<u8>,
    /// The first error.
    failed: Option<io::Error>,
}

impl<'a> EventRecords<'a> {
    /// Creates event records. `model` is the result of an earlier pass over the same records.
    pub fn new(
        (model, names): (&'a Model, &'a Names),
        selection: &'a Selection,
        streams: Streams<'a>,
    ) -> Self {
        let processes = model.processes.iter();
        let pids = processes.map(|process| (process.id, process.pid));
        EventRecords {
            model,
            names,
            selection,
            pids: pids.collect(),
            labels: Labels::default(),
            named: Map::default(),
            places: HashMap::new(),
            streams,
            encoded: Vec::new(),
            failed: None,
        }
    }

    /// Takes coroutines of another model from now on, which may number names in another way.
    pub fn set_model(&mut self, model: &'a Model) {
        self.model = model;
        self.places.clear();
    }

    /// Takes the next record, which `trace_model` has not seen yet.
    pub fn take(&mut self, trace_model: &TraceModel, record: &Record) {
        match record {
            Record::Event(event) => {
                if let Some(coroutine) = trace_model.get(event.coroutine) {
                    self.add_loss_before(coroutine, event);
                    self.add_event(coroutine, event);
                }
            }
            Record::EventCounts(event_counts) => {
                if let Some(coroutine) = trace_model.get(event_counts.coroutine) {
                    self.add_loss_at_end(coroutine, event_counts);
                }
            }
            Record::ThreadEvent(thread_event) => self.add_thread_event(trace_model, thread_event),
            _ => {}
        }
    }

    /// Writes what is left. Returns the number of event records, and the texts to which they refer.
    ///
    /// # Errors
    /// The first error of a file.
    pub fn finish(mut self) -> io::Result<(u64, Labels)> {
        if let Some(failed) = self.failed {
            return Err(failed);
        }
        Ok((self.streams.finish()?, self.labels))
    }

    /// Writes the verdict on a coroutine of the model, at the time of which it speaks.
    pub fn add_verdict(&mut self, explained: &Explained<'_>) {
        let (coroutine, judgement) = explained.member;
        let trace_model = &self.model.trace_model;
        let site = trace_model.place_of(coroutine);
        let moment = self.end_of(coroutine);
        let place = self.place(coroutine, site);
        let [verdict, confidence, state, reason] = [
            judgement.verdict.word(),
            judgement.confidence.word(),
            judgement.fact.word(),
            judgement.reason.word(),
        ]
        .map(|word| self.word(word));
        let proof = proof::lines(&explained.proof.steps).join("\n");
        let values = [
            FieldValue::U32(coroutine.id.0),
            self.name(coroutine),
            place,
            verdict,
            confidence,
            state,
            reason,
            FieldValue::U64(judgement.age.0),
            FieldValue::Text(explained.text),
            FieldValue::Text(&proof),
        ];
        self.add(EventClass::Verdict, moment, &values);
    }

    fn add_event(&mut self, coroutine: &Coroutine, event: &Event) {
        let moment = self.moment(coroutine, event);
        let id = FieldValue::U32(coroutine.id.0);
        let name = self.name(coroutine);
        match event.kind {
            EventKind::Birth => {
                let place = self.place(coroutine, coroutine.spawn_site);
                let values = [id, name, place, FieldValue::U64(coroutine.probe_id)];
                self.add(EventClass::Birth, moment, &values);
            }
            EventKind::Run => self.add(EventClass::Run, moment, &[id, name]),
            EventKind::Suspend => {
                let place = self.place(coroutine, event.site);
                let waits_for = self.waits_for(event);
                let values = [id, name, place, waits_for, FieldValue::U64(event.arg)];
                self.add(EventClass::Suspend, moment, &values);
            }
            EventKind::Death => {
                self.add(EventClass::Death, moment, &[id, name]);
                self.named.remove(&coroutine.id);
            }
        }
    }

    fn add_thread_event(&mut self, trace_model: &TraceModel, thread_event: &ThreadEvent) {
        let moment = Moment {
            at: thread_event.at,
            pid: self.pid(thread_event.process),
            tid: thread_event.tid,
        };
        match &thread_event.act {
            Act::Begin => self.add(EventClass::ThreadBegin, moment, &[]),
            Act::End => self.add(EventClass::ThreadEnd, moment, &[]),
            Act::Loss(lost) => {
                self.add(EventClass::RecordsLost, moment, &[FieldValue::U64(*lost)]);
            }
            Act::Wake(call) => self.add_wake(trace_model, moment, call),
            Act::Close(close) => {
                let values = self.resource(close.site, close.wait, close.arg);
                self.add(EventClass::Close, moment, &values);
            }
            Act::Acquire(hold) => self.add_hold(EventClass::Acquire, moment, hold),
            Act::Release(hold) => self.add_hold(EventClass::Release, moment, hold),
            _ => {}
        }
    }

    fn add_wake(&mut self, trace_model: &TraceModel, moment: Moment, call: &WakeCall) {
        let woken = trace_model.get(call.coroutine);
        let name = match woken.filter(|woken| woken.is_alive()) {
            Some(woken) => self.name(woken),
            None => FieldValue::U32(self.labels.number(LabelSet::Names, NO_NAME)),
        };
        let place = self.call_place(call.site);
        let values = [
            FieldValue::U32(call.coroutine.0),
            name,
            place,
            caller_id(call.by),
        ];
        self.add(EventClass::Wake, moment, &values);
    }

    fn add_hold(&mut self, class: EventClass, moment: Moment, hold: &Hold) {
        let [place, kind, number] = self.resource(hold.site, hold.wait, hold.arg);
        self.add(class, moment, &[place, kind, number, caller_id(hold.by)]);
    }

    /// The values for a resource, and for the place of a call about the resource.
    fn resource(&mut self, site: SiteId, wait: WaitKind, arg: u64) -> [FieldValue<'static>; 3] {
        let place = self.call_place(site);
        [place, self.word(resource::word(wait)), FieldValue::U64(arg)]
    }

    fn add(&mut self, class: EventClass, moment: Moment, values: &[FieldValue<'_>]) {
        if self.failed.is_some() {
            return;
        }
        let moment = Moment {
            at: self.streams.accepted(moment.at),
            ..moment
        };
        self.encoded.clear();
        encoding::event(class, moment, values, &mut self.encoded);
        self.failed = self.streams.add(moment.at, &self.encoded).err();
    }

    fn moment(&self, coroutine: &Coroutine, event: &Event) -> Moment {
        Moment {
            at: event.at,
            pid: self.pid(coroutine.process),
            tid: event.tid,
        }
    }

    /// The end of the recording, or of the coroutine's process, on the thread of its latest known event.
    fn end_of(&self, coroutine: &Coroutine) -> Moment {
        Moment {
            at: self.model.trace_model.end_of(coroutine.process),
            pid: self.pid(coroutine.process),
            tid: coroutine.last.map_or(0, |last| last.tid),
        }
    }

    fn pid(&self, process: ProcessId) -> u32 {
        self.pids.get(&process).copied().unwrap_or_default()
    }

    /// The kind of resource that the program announced or, if none, that the leaf future waits for.
    fn waits_for(&mut self, event: &Event) -> FieldValue<'static> {
        self.word(match event.wait {
            WaitKind::Unknown => self.model.trace_model.leaf_kind_at(event.site).word(),
            wait => resource::word(wait),
        })
    }

    fn word(&mut self, word: &str) -> FieldValue<'static> {
        FieldValue::U32(self.labels.number(LabelSet::Words, word))
    }

    fn name(&mut self, coroutine: &Coroutine) -> FieldValue<'static> {
        let EventRecords {
            model,
            names,
            labels,
            ..
        } = self;
        let number = self.named.entry(coroutine.id).or_insert_with(|| {
            let name = names.of_coroutine(model, coroutine);
            labels.number(LabelSet::Names, &name)
        });
        FieldValue::U32(*number)
    }

    /// The place of a wait or a spawn: `read_frame main.rs:64`.
    fn place(&mut self, coroutine: &Coroutine, site: SiteId) -> FieldValue<'static> {
        let EventRecords {
            model,
            names,
            labels,
            ..
        } = self;
        let number = self
            .places
            .entry((site, coroutine.name))
            .or_insert_with(|| {
                let place = names.place_of(model, coroutine, site);
                labels.number(LabelSet::Places, &place)
            });
        FieldValue::U32(*number)
    }

    /// The place of a call: `reactor.rs:141`.
    fn call_place(&mut self, site: SiteId) -> FieldValue<'static> {
        let place = self.names.short(site).unwrap_or_default();
        FieldValue::U32(self.labels.number(LabelSet::Places, &place))
    }
}

/// The coroutine that ran at a call, or 0.
fn caller_id(waker: Waker) -> FieldValue<'static> {
    FieldValue::U32(match waker {
        Waker::Coroutine(id) => id.0,
        Waker::Foreign | Waker::Thread(_) => 0,
    })
}
