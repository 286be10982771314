//! Computes from the records of a trace what its tables must have.

use std::collections::{BTreeMap, BTreeSet};

use ctp_trace::Reader;
use ctp_trace::record::{Act, Event, EventKind, Record};

use super::read::Tables;

/// What the records say.
#[derive(Debug, Default)]
struct Expected {
    /// The time and coroutine of each event, and the time of each event of a thread.
    events: BTreeMap<(u64, Option<u32>), u64>,
    wakes: Vec<(u64, u32)>,
    coroutines: BTreeSet<u32>,
    /// Coroutine, start and end of each wait.
    waits: BTreeSet<(u32, u64, Option<u64>)>,
    /// The latest event of each coroutine.
    last: BTreeMap<u32, Event>,
    /// Programs kept sums for coroutines.
    has_aggregates: bool,
}

/// Compares the tables with the records.
pub fn compare(name: &str, bytes: &[u8], tables: &Tables) {
    if bytes.first() == Some(&b'{') {
        // Lines of another tool; other tests compare the records that are made of them.
        return;
    }
    let mut expected = Expected::default();
    for record in Reader::new(bytes).unwrap().flatten() {
        expected.note(&record);
    }
    expected.finish();
    let mut events = BTreeMap::new();
    for row in tables.rows("events") {
        let coroutine = row
            .number("coroutine_id")
            .map(|id| u32::try_from(id).unwrap());
        let is_of_coroutine =
            ["birth", "run", "suspend", "death"].contains(&row.text("event").unwrap());
        let coroutine = coroutine.filter(|_| is_of_coroutine);
        *events
            .entry((row.number("time_ns").unwrap(), coroutine))
            .or_default() += 1;
    }
    assert_eq!(events, expected.events, "{name}");
    let wakes = tables.rows("wakes").map(|row| {
        let id = row.number("coroutine_id").unwrap();
        (row.number("time_ns").unwrap(), u32::try_from(id).unwrap())
    });
    assert_eq!(wakes.collect::<Vec<_>>(), expected.wakes, "{name}");
    let id = |number: Option<u64>| u32::try_from(number.unwrap()).unwrap();
    let coroutines = tables
        .rows("coroutines")
        .map(|row| id(row.number("coroutine_id")));
    assert_eq!(
        coroutines.collect::<BTreeSet<_>>(),
        expected.coroutines,
        "{name}"
    );
    assert_eq!(
        tables.rows("coroutines").count(),
        expected.coroutines.len(),
        "{name}"
    );
    let waits = tables.rows("waits").map(|row| {
        let start = row.number("start_ns").unwrap();
        (id(row.number("coroutine_id")), start, row.number("end_ns"))
    });
    assert_eq!(waits.collect::<BTreeSet<_>>(), expected.waits, "{name}");
    let trace = tables.rows("traces").next().unwrap();
    if trace.text("is_exact") == Some("true") && !expected.has_aggregates {
        sums(name, tables);
    }
}

/// The sums of each coroutine are those of its waits.
fn sums(name: &str, tables: &Tables) {
    let mut waits: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    let resumed = tables
        .rows("waits")
        .filter(|row| row.text("outcome") == Some("resumed"));
    for row in resumed {
        let sum = waits
            .entry(row.number("coroutine_id").unwrap())
            .or_default();
        sum.0 += 1;
        sum.1 += row
            .number("end_ns")
            .unwrap()
            .saturating_sub(row.number("start_ns").unwrap());
    }
    for row in tables.rows("coroutines") {
        let id = row.number("coroutine_id").unwrap();
        let sum = (
            row.number("waits").unwrap(),
            row.number("waiting_ns").unwrap(),
        );
        assert_eq!(sum, waits.remove(&id).unwrap_or_default(), "{name}: {id}");
    }
}

impl Expected {
    fn note(&mut self, record: &Record) {
        match record {
            Record::Birth(birth) => {
                self.coroutines.insert(birth.coroutine.0);
            }
            Record::Event(event) => {
                let id = event.coroutine.0;
                self.coroutines.insert(id);
                *self.events.entry((event.at.0, Some(id))).or_default() += 1;
                if let Some(last) = self.last.insert(id, *event)
                    && last.kind == EventKind::Suspend
                {
                    self.wait(&last, Some(event));
                }
            }
            Record::ThreadEvent(thread_event) => match thread_event.act {
                Act::Wake(call) => self.wakes.push((thread_event.at.0, call.coroutine.0)),
                _ => *self.events.entry((thread_event.at.0, None)).or_default() += 1,
            },
            Record::Aggregate(_) => self.has_aggregates = true,
            _ => {}
        }
    }

    /// The waits that have not ended.
    fn finish(&mut self) {
        let open = self
            .last
            .values()
            .filter(|last| last.kind == EventKind::Suspend);
        for last in open.copied().collect::<Vec<_>>() {
            self.wait(&last, None);
        }
    }

    fn wait(&mut self, suspend: &Event, next: Option<&Event>) {
        let is_end = |next: &&Event| {
            let is_known = next.n == suspend.n + 1 && !next.after_filtered;
            is_known && matches!(next.kind, EventKind::Run | EventKind::Death)
        };
        let end = next.filter(is_end).map(|next| next.at.0);
        self.waits.insert((suspend.coroutine.0, suspend.at.0, end));
    }
}
