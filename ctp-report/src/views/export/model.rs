//! Turns the events of a trace into rows with the six columns of coroTracer.

use std::collections::{HashMap, HashSet};

use ctp_trace::record::{Birth, CoroutineId, Dialect, Event, EventKind, Record, Site, SiteId};

use crate::load::Model;

/// An event in the form of coroTracer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The coroutine's probe id, or a free id if another coroutine of the trace has the same.
    pub probe_id: u64,
    /// The kernel's id of the thread.
    pub tid: u64,
    /// The frame address that a plain v1 program recorded, or the code address of the site. 0 if
    /// neither is known, and for runs.
    pub addr: u64,
    /// `2 * (n / 8) + 2`: the sequence number of a slot, which counts by twos. There are eight slots.
    pub seq: u64,
    /// Whether the coroutine runs after the event.
    pub is_active: bool,
    /// Nanoseconds of the program's monotonic clock.
    pub ts: u64,
}

/// Collects the rows, record by record.
#[derive(Debug, Default)]
pub struct Exporter {
    births: Vec<(CoroutineId, u64)>,
    plain: HashSet<CoroutineId>,
    addresses: HashMap<SiteId, u64>,
    /// The rows, with the trace's coroutine number as `probe_id` and times since the start. `finish`
    /// replaces both in place, which saves memory.
    rows: Vec<Row>,
}

impl Exporter {
    /// Takes one record, in the order of the trace.
    pub fn see(&mut self, record: &Record) {
        match record {
            Record::Birth(birth) => self.birth(birth),
            Record::Site(site) => self.site(site),
            Record::Event(event) => self.event(event),
            _ => {}
        }
    }

    /// Returns the rows by time.
    pub fn finish(mut self, model: &Model) -> Vec<Row> {
        // Ids are assigned in the order of time, too.
        self.rows.sort_by_key(|row| row.ts);
        let ids = self.ids();
        let zero = model.start.started_monotonic_ns;
        for row in &mut self.rows {
            row.probe_id = ids.get(&coroutine_of(row)).copied().unwrap_or_default();
            row.ts = zero.saturating_add(row.ts);
        }
        self.rows
    }

    fn birth(&mut self, birth: &Birth) {
        self.births.push((birth.coroutine, birth.probe_id));
        if birth.dialect != Dialect::Extended {
            self.plain.insert(birth.coroutine);
        }
    }

    fn site(&mut self, site: &Site) {
        if let Some(address) = site.place.address() {
            self.addresses.insert(site.id, address);
        }
    }

    fn event(&mut self, event: &Event) {
        let is_plain = self.plain.contains(&event.coroutine);
        if is_plain && event.kind == EventKind::Death {
            // A plain program wrote no event: the recorder derived the death from a mark in the
            // station.
            return;
        }
        let is_active = event.kind != EventKind::Suspend;
        let addr = if is_active {
            0
        } else if is_plain && event.arg != 0 {
            event.arg
        } else {
            self.addresses.get(&event.site).copied().unwrap_or(0)
        };
        self.rows.push(Row {
            probe_id: event.coroutine.0.into(),
            tid: event.tid,
            addr,
            seq: (event.n / 8).saturating_mul(2).saturating_add(2),
            is_active,
            ts: event.at.0,
        });
    }

    /// Assigns a unique id to each coroutine. Programs reuse ids, and several processes use the same
    /// ids.
    fn ids(&self) -> HashMap<CoroutineId, u64> {
        let recorded: HashSet<u64> = self.births.iter().map(|(_, id)| *id).collect();
        let mut free = (1..).filter(|id| !recorded.contains(id));
        let mut assigned = HashSet::from([0]);
        let mut ids = HashMap::new();
        let unborn = self.rows.iter().map(|row| (coroutine_of(row), 0));
        for (coroutine, id) in self.births.iter().copied().chain(unborn) {
            ids.entry(coroutine).or_insert_with(|| {
                if assigned.insert(id) {
                    id
                } else {
                    free.next().unwrap_or_default()
                }
            });
        }
        ids
    }
}

/// The coroutine of a row that has no final id yet.
fn coroutine_of(row: &Row) -> CoroutineId {
    CoroutineId(row.probe_id as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ctp_trace::record::Nanos;

    #[test]
    fn ids_are_unique_and_kept_where_they_can_be() {
        let mut exporter = Exporter::default();
        for (number, probe_id) in [(1, 1), (2, 7), (3, 7), (4, 0)] {
            exporter.see(&Record::Birth(Birth {
                coroutine: CoroutineId(number),
                probe_id,
                ..Birth::default()
            }));
        }
        for (number, at) in [(5, 50), (4, 40), (3, 30), (2, 20), (1, 10)] {
            exporter.see(&Record::Event(Event {
                coroutine: CoroutineId(number),
                at: Nanos(at),
                ..Event::default()
            }));
        }
        let rows = exporter.finish(&Model::default());
        let ids: Vec<u64> = rows.iter().map(|row| row.probe_id).collect();
        assert_eq!(ids, [1, 7, 2, 3, 4], "in the order of time");
    }
}
