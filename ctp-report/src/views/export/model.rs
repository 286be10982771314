//! The events of a trace as rows with the six columns of coroTracer.

use std::collections::{HashMap, HashSet};

use ctp_trace::record::{
    Birth, CoroutineId, Dialect, Event, EventKind, Place, Record, Site, SiteId,
};

use crate::load::Model;

/// One event, as coroTracer writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The coroutine's own id if nobody else in the trace has it, else one that is free.
    pub probe_id: u64,
    /// The kernel's id of the thread.
    pub tid: u64,
    /// The frame, if a plain v1 program told it, or the code address of the site; 0 if neither is
    /// known, and for whoever runs.
    pub addr: u64,
    /// `2 * (n / 8) + 2`: eight slots, each counting by twos.
    pub seq: u64,
    /// Whether it runs from now on.
    pub is_active: bool,
    /// Nanoseconds of the program's monotonic clock.
    pub ts: u64,
}

/// Gathers what the rows are made of, record by record.
#[derive(Debug, Default)]
pub struct Exporter {
    births: Vec<(CoroutineId, u64)>,
    plain: HashSet<CoroutineId>,
    addresses: HashMap<SiteId, u64>,
    /// With the number of the coroutine for its id, and times since the start: both are made what
    /// they are to be once all is known, in the memory where they are.
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

    /// The rows, in the order of time.
    pub fn finish(mut self, model: &Model) -> Vec<Row> {
        // In the order of time, in which also ids are given.
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
        match site.place {
            Place::Function { address, .. }
            | Place::Address(address)
            | Place::ReturnAddress(address) => {
                self.addresses.insert(site.id, address);
            }
            _ => {}
        }
    }

    fn event(&mut self, event: &Event) {
        let is_plain = self.plain.contains(&event.coroutine);
        if is_plain && event.kind == EventKind::Death {
            // A mark in the station, which the recorder made an event of.
            return;
        }
        let is_active = event.kind != EventKind::Suspend;
        let addr = match is_active {
            true => 0,
            false if is_plain => event.arg,
            false => self.addresses.get(&event.site).copied().unwrap_or(0),
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

    /// An id for each coroutine that no other one has: programs give theirs again, and those of
    /// several processes begin alike.
    fn ids(&self) -> HashMap<CoroutineId, u64> {
        let reported: HashSet<u64> = self.births.iter().map(|(_, id)| *id).collect();
        let mut free = (1..).filter(|id| !reported.contains(id));
        let mut given = HashSet::from([0]);
        let mut ids = HashMap::new();
        let unborn = self.rows.iter().map(|row| (coroutine_of(row), 0));
        for (other_id, id) in self.births.iter().copied().chain(unborn) {
            ids.entry(other_id).or_insert_with(|| {
                if given.insert(id) {
                    id
                } else {
                    free.next().unwrap_or_default()
                }
            });
        }
        ids
    }
}

/// Of a row that has no id yet.
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
