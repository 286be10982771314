//! What the trace model derives from a stream of records.

#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]

mod absent;
mod control;
mod coroutine_stacks;
#[path = "../facts/mod.rs"]
mod facts;
#[expect(dead_code, reason = "other tests use the other functions")]
#[path = "../roundtrip/frames.rs"]
mod frames;
mod gaps;
mod properties;
mod spans;
mod thread_events;
mod violations;

use ctp_trace::TraceModel;
use ctp_trace::model::SiteStats;
use ctp_trace::record::*;
use facts::READ;

const SECOND: Nanos = Nanos(1_000_000_000);

fn birth(id: u32) -> Record {
    let coroutine = CoroutineId(id);
    Record::Birth(Birth {
        coroutine,
        name: format!("c{}", id % 2),
        ..Birth::default()
    })
}

fn wake(id: u32, count: u32, at: u64) -> Record {
    Record::Wake(Wake {
        coroutine: CoroutineId(id),
        count,
        at: Nanos(at),
        ..Wake::default()
    })
}

fn read_site(trace_model: &TraceModel) -> SiteStats {
    trace_model
        .sites()
        .into_iter()
        .find(|site| site.site == READ)
        .unwrap()
}

fn thread_event(at: u64, act: Act) -> Record {
    Record::ThreadEvent(ThreadEvent {
        at: Nanos(at),
        tid: 7,
        act,
        ..ThreadEvent::default()
    })
}

// LT-23
#[test]
fn open_waits_last_until_the_latest_watermark() {
    let waits = facts::event(1, 0, 10, EventKind::Suspend);
    let open = |after: &[Record]| {
        let mut trace_model = facts::trace_model(&[birth(1), waits.clone()]);
        for record in after {
            trace_model.consume(record);
        }
        read_site(&trace_model).open.max()
    };
    let watermark = Record::Watermark(SECOND);
    assert_eq!(open(&[]), Some(Nanos(0)));
    assert_eq!(
        open(std::slice::from_ref(&watermark)),
        Some(Nanos(SECOND.0 - 10))
    );
    assert_eq!(
        open(&[watermark, facts::end(2_000)]),
        Some(Nanos(SECOND.0 - 10))
    );
}
