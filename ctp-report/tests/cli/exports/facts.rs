//! What the records of a trace say, without the report.

use std::collections::{BTreeMap, BTreeSet};

use ctp_trace::model::SpanActivity;
use ctp_trace::record::{Act, Nanos, Place, Record, SiteId, ThreadEvent, Waker};
use ctp_trace::verdict::THRESHOLD;
use ctp_trace::{Completeness, Reader, TraceModel};

/// Number and total time of spans.
pub type Sum = (u64, u64);

#[derive(Debug, Default)]
pub struct Facts {
    /// The coroutines that have an event.
    pub coroutines: BTreeSet<u32>,
    /// The coroutines that are stuck at the end.
    pub stuck: BTreeSet<u32>,
    /// Waits that ended, by file name and line. Other waits have no key.
    pub waits: BTreeMap<String, Sum>,
    /// Waits that had not ended when the recording did.
    pub open_waits: BTreeMap<String, Sum>,
    /// Runs that ended, and runs that had not.
    pub runs: Sum,
    pub open_runs: Sum,
    /// Thread and time of each call of `wake()`.
    pub wakes: BTreeSet<(u64, u64)>,
    /// The coroutines that called `wake()`.
    pub wakers: BTreeSet<u32>,
    /// How many events the report counts as lost; `None` if not all records could be read.
    pub lost: Option<u64>,
    /// Whether all events are known, so that each pair of events is a span.
    pub is_complete: bool,
}

pub fn add(sum: &mut Sum, length: Nanos) {
    *sum = (sum.0 + 1, sum.1.saturating_add(length.0));
}

impl Facts {
    pub fn of(bytes: &[u8]) -> Self {
        let mut facts = Facts::default();
        let mut places = BTreeMap::new();
        let mut model = TraceModel::new();
        let mut reader = Reader::new(bytes).unwrap();
        let mut is_damaged = false;
        for record in reader.by_ref() {
            let Ok(record) = record else {
                model.note_damage();
                is_damaged = true;
                continue;
            };
            match &record {
                Record::Site(site) => drop(places.insert(site.id, place(&site.place))),
                Record::Event(event) => drop(facts.coroutines.insert(event.coroutine.0)),
                Record::ThreadEvent(event) => facts.note_wake(event),
                _ => {}
            }
            if let Some(span) = model.consume(&record) {
                match span.activity {
                    SpanActivity::Waiting(site, _) => {
                        facts.add_wait(&places, site, span.length());
                    }
                    SpanActivity::Running(_) => add(&mut facts.runs, span.length()),
                }
            }
        }
        model.finish_reading(&reader);
        let is_whole = !is_damaged && reader.completeness() == Completeness::Whole;
        facts.lost = is_whole.then(|| model.lost());
        facts.note_end(&model, &places);
        facts
    }

    fn note_wake(&mut self, event: &ThreadEvent) {
        let Act::Wake(call) = event.act else {
            return;
        };
        self.wakes.insert((event.tid, event.at.0));
        if let Waker::Coroutine(id) = call.by {
            self.wakers.insert(id.0);
        }
    }

    fn add_wait(&mut self, places: &BTreeMap<SiteId, String>, site: SiteId, length: Nanos) {
        let place = places.get(&site).cloned().unwrap_or_default();
        add(self.waits.entry(place).or_default(), length);
    }

    fn note_end(&mut self, model: &TraceModel, places: &BTreeMap<SiteId, String>) {
        for (id, judgement) in model.judge(THRESHOLD) {
            if judgement.verdict.is_stuck() {
                self.stuck.insert(id.0);
            }
        }
        for coroutine in model.coroutines() {
            let end = model.end_of(coroutine.process);
            if let Some(wait) = coroutine.suspend() {
                let place = places.get(&wait.site).cloned().unwrap_or_default();
                add(
                    self.open_waits.entry(place).or_default(),
                    wait.at.until(end),
                );
            } else if let Some(since) = coroutine.runs_since() {
                add(&mut self.open_runs, since.until(end));
            }
        }
        self.is_complete =
            model.lost() == 0 && !model.is_approximate() && model.broken().is_empty();
    }

    /// All waits, ended or not.
    pub fn all_waits(&self) -> BTreeMap<String, Sum> {
        let mut all = self.waits.clone();
        for (place, (count, ns)) in &self.open_waits {
            let sum = all.entry(place.clone()).or_default();
            *sum = (sum.0 + count, sum.1 + ns);
        }
        all
    }

    /// All runs, ended or not.
    pub fn all_runs(&self) -> Sum {
        (
            self.runs.0 + self.open_runs.0,
            self.runs.1 + self.open_runs.1,
        )
    }
}

/// `session.rs:17`, or nothing for a place without a line.
fn place(place: &Place) -> String {
    match place {
        Place::Source { file, line, .. } => {
            let name = file.rsplit('/').next().unwrap_or_default();
            format!("{name}:{line}")
        }
        _ => String::new(),
    }
}

/// The last word of a displayed place if that is a file and line, such as `session.rs:17`, or nothing.
pub fn line_of(last_word: &str) -> String {
    let line = last_word.rsplit_once(':');
    let line = line.filter(|(file, _)| !file.ends_with(':'));
    let has_line = line.is_some_and(|(_, line)| line.parse::<u32>().is_ok());
    let line = if has_line { last_word } else { "" };
    line.to_owned()
}
