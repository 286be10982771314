//! A trace read back, with what must be true of every trace checked on the way.

use std::collections::BTreeMap;
use std::path::Path;

use ctp_trace::model::Gap;
use ctp_trace::record::{
    Aggregate, Birth, CoroutineId, End, EndedSums, Event, EventCounts, EventKind, Module, Nanos,
    Place, Process, ProcessEnd, Record, SiteId, Start, ThreadEvent, Wake, Window,
};
use ctp_trace::{Completeness, Reader, TraceModel};

#[derive(Debug, Default)]
pub struct Trace {
    pub start: Start,
    pub processes: Vec<Process>,
    pub process_ends: Vec<ProcessEnd>,
    pub modules: Vec<Module>,
    pub sites: BTreeMap<SiteId, Place>,
    pub coroutines: BTreeMap<CoroutineId, Coroutine>,
    pub thread_events: Vec<ThreadEvent>,
    pub window: Option<Window>,
    pub all_ended_sums: Vec<EndedSums>,
    pub end: Option<End>,
    /// Records between the start and the end.
    records: u64,
    trace_model: TraceModel,
}

#[derive(Debug)]
pub struct Coroutine {
    pub birth: Birth,
    pub events: Vec<Event>,
    pub wakes: Vec<Wake>,
    pub event_counts: Option<EventCounts>,
    /// The latest recorded value.
    pub aggregate: Option<Aggregate>,
    /// Events before the window of a flight recorder.
    pub earlier: u64,
}

impl Trace {
    /// A trace that has its end and adds up.
    pub fn read(path: &Path) -> Self {
        let trace = Trace::read_of_mad(path);
        trace.coroutines.values().for_each(Coroutine::is_in_order);
        trace.ends_once();
        trace
    }

    /// CT-03: no record is later than the end of the trace, from which readers measure ages.
    fn ends_once(&self) {
        assert_eq!(self.trace_model.end_at(), self.end().at);
    }

    /// The same of a program that wrote anything, so that its events may be in any order.
    pub fn read_of_mad(path: &Path) -> Self {
        let (trace, completeness) = Trace::records_of(path);
        assert_eq!(completeness, Completeness::Whole);
        trace.adds_up();
        trace
    }

    /// A trace that may lack its end. No record is damaged, and all records are in order.
    pub fn read_any(path: &Path) -> (Self, Completeness) {
        let (trace, completeness) = Trace::records_of(path);
        trace.coroutines.values().for_each(Coroutine::is_in_order);
        (trace, completeness)
    }

    fn records_of(path: &Path) -> (Self, Completeness) {
        let bytes = std::fs::read(path).expect("there is a trace");
        let mut reader = Reader::new(&bytes).expect("its start can be read");
        let mut trace = Trace::default();
        for record in reader.by_ref() {
            let record = record.expect("no chunk is damaged");
            trace.trace_model.consume(&record);
            let is_counted = !matches!(record, Record::Start(_) | Record::End(_));
            trace.records += u64::from(is_counted);
            trace.take(record);
        }
        trace.trace_model.finish_reading(&reader);
        (trace, reader.completeness())
    }

    fn take(&mut self, record: Record) {
        match record {
            Record::Start(start) => self.start = start,
            Record::Process(process) => self.processes.push(process),
            Record::ProcessEnd(end) => self.process_ends.push(end),
            Record::Module(module) => self.modules.push(module),
            Record::Site(site) => drop(self.sites.insert(site.id, site.place)),
            Record::Birth(birth) => {
                let (events, wakes, event_counts) = (Vec::new(), Vec::new(), None);
                let id = birth.coroutine;
                let coroutine = Coroutine {
                    birth,
                    events,
                    wakes,
                    event_counts,
                    aggregate: None,
                    earlier: 0,
                };
                assert!(self.coroutines.insert(id, coroutine).is_none(), "{id:?}");
            }
            Record::Event(event) => self.of(event.coroutine).events.push(event),
            Record::Wake(wake) => self.of(wake.coroutine).wakes.push(wake),
            Record::EventCounts(event_counts) => {
                let before = self
                    .of(event_counts.coroutine)
                    .event_counts
                    .replace(event_counts);
                assert_eq!(before, None);
            }
            Record::ThreadEvent(thread_event) => self.thread_events.push(thread_event),
            Record::Aggregate(aggregate) => {
                let coroutine = self.of(aggregate.coroutine);
                assert_eq!(
                    coroutine.event_counts, None,
                    "totals come before the account"
                );
                coroutine.aggregate = Some(*aggregate);
            }
            Record::Window(window) => assert!(self.window.replace(window).is_none()),
            Record::Earlier(earlier) => self.of(earlier.coroutine).earlier = earlier.events,
            Record::EndedSums(ended_sums) => self.all_ended_sums.push(*ended_sums),
            Record::End(end) => self.end = Some(end),
            _ => {}
        }
    }

    fn of(&mut self, id: CoroutineId) -> &mut Coroutine {
        self.coroutines.get_mut(&id).expect("its birth comes first")
    }

    /// CTP-11: what was recorded and what was lost is all there was, in each coroutine and in sum.
    fn adds_up(&self) {
        self.has_all_counted();
        let sum = |count: fn(&Coroutine) -> u64| self.coroutines.values().map(count).sum::<u64>();
        let end = self.end();
        assert_eq!(end.coroutines, self.coroutines.len() as u64);
        assert_eq!(end.events, sum(|coroutine| coroutine.events.len() as u64));
        let of_ended: u64 = self
            .all_ended_sums
            .iter()
            .map(|all_ended_sum| all_ended_sum.lost)
            .sum();
        assert_eq!(end.lost, sum(Coroutine::lost) + of_ended);
        for coroutine in self.coroutines.values() {
            assert_eq!(
                coroutine.event_counts().recorded,
                coroutine.events.len() as u64
            );
        }
    }

    /// A complete trace has every record that it counts, and every live coroutine has its account
    /// and wake word.
    fn has_all_counted(&self) {
        assert_eq!(self.end().records, self.records);
        let gaps = self
            .trace_model
            .gaps(self.trace_model.judge(Nanos(1)), Nanos(1));
        let is_of_counts = |gap: &Gap| {
            matches!(
                gap,
                Gap::AbsentCoroutines(_)
                    | Gap::AbsentEvents(_)
                    | Gap::AbsentRecords(_)
                    | Gap::UnattributedLosses(_)
                    | Gap::UnknownChunks(_)
            )
        };
        assert!(!gaps.iter().any(is_of_counts), "{gaps:?}");
        for coroutine in self.trace_model.coroutines() {
            let is_woken = coroutine.last.is_some_and(|last| last.wake_seen != 0);
            let has_wake_word =
                coroutine.wakes.word.is_some() || !is_woken || self.window.is_some();
            assert!(
                coroutine.account.is_closed() && has_wake_word,
                "{coroutine:?}"
            );
        }
    }

    pub fn end(&self) -> End {
        self.end.expect("a whole trace has an end")
    }

    /// All events that the program had, as a flight recorder counts them.
    pub fn attempted(&self) -> u64 {
        let of_ended = self
            .all_ended_sums
            .iter()
            .map(|all_ended_sum| all_ended_sum.events + all_ended_sum.lost);
        let known = self
            .coroutines
            .values()
            .map(|coroutine| coroutine.event_counts().attempted);
        known.chain(of_ended).sum()
    }

    /// The only coroutine of this name.
    pub fn named(&self, name: &str) -> &Coroutine {
        let mut found = self
            .coroutines
            .values()
            .filter(|coroutine| coroutine.birth.name == name);
        match (found.next(), found.next()) {
            (Some(coroutine), None) => coroutine,
            (None, _) => panic!("no coroutine {name}"),
            _ => panic!("several coroutines {name}"),
        }
    }

    /// Nothing was lost, and nothing is missing.
    pub fn is_complete(&self) {
        assert_eq!(self.end().lost, 0);
        self.has_no_gaps();
    }

    /// No event that has a number is missing.
    pub fn has_no_gaps(&self) {
        for coroutine in self.coroutines.values() {
            let ns: Vec<u64> = coroutine.events.iter().map(|event| event.n).collect();
            let first = coroutine.earlier;
            assert!(
                ns.iter().copied().eq(first..first + ns.len() as u64),
                "{ns:?}"
            );
        }
    }
}

impl Coroutine {
    /// CTP-08: indices increase, time does not go back, nothing comes after death.
    fn is_in_order(&self) {
        for pair in self.events.windows(2) {
            assert!(pair[0].n < pair[1].n, "{:?}", pair);
            assert!(pair[0].at <= pair[1].at, "{:?}", pair);
            assert_ne!(pair[0].kind, EventKind::Death, "{:?}", pair);
        }
    }

    pub fn event_counts(&self) -> EventCounts {
        self.event_counts
            .expect("a whole trace has an account of each")
    }

    /// What is summed up, or came before a window, is not lost.
    pub fn lost(&self) -> u64 {
        let missing = self.event_counts().attempted - self.event_counts().recorded - self.earlier;
        let is_summed_up = self
            .aggregate
            .as_ref()
            .is_some_and(|aggregate| aggregate.stands_for_events);
        if is_summed_up { 0 } else { missing }
    }

    pub fn kinds(&self) -> Vec<EventKind> {
        self.events.iter().map(|event| event.kind).collect()
    }

    pub fn last(&self) -> EventKind {
        self.events.last().expect("it had events").kind
    }
}
