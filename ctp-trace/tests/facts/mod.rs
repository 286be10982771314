//! Builds records with the few fields that a test sets, and a trace model from records.

use ctp_trace::TraceModel;
use ctp_trace::record::*;

pub const READ: SiteId = SiteId(7);

pub fn event(id: u32, n: u64, at: u64, kind: EventKind) -> Record {
    let (site, wait) = match kind {
        EventKind::Suspend => (READ, WaitKind::Readable),
        _ => (SiteId(0), WaitKind::Unknown),
    };
    let coroutine = CoroutineId(id);
    Record::Event(Event {
        coroutine,
        n,
        at: Nanos(at),
        kind,
        site,
        wait,
        ..Event::default()
    })
}

pub fn event_counts(id: u32, attempted: u64, recorded: u64) -> Record {
    let coroutine = CoroutineId(id);
    Record::EventCounts(EventCounts {
        coroutine,
        attempted,
        recorded,
        ..EventCounts::default()
    })
}

pub fn end(at: u64) -> Record {
    Record::End(End {
        at: Nanos(at),
        ..End::default()
    })
}

pub fn trace_model(records: &[Record]) -> TraceModel {
    let mut trace_model = TraceModel::new();
    for record in records {
        trace_model.consume(record);
    }
    trace_model
}
