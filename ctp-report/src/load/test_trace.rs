//! A trace of several chunks, for tests of its readers.

use ctp_trace::Writer;
use ctp_trace::record::{Birth, CoroutineId, End, Event, EventKind, Nanos, Record, Start};

/// A trace of this many records about seven coroutines.
pub fn of_records(count: u32) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), &Start::default()).expect("memory");
    for n in 0..count {
        let coroutine = CoroutineId(n % 7 + 1);
        let record = if n < 7 {
            Record::Birth(Birth {
                coroutine,
                ..Birth::default()
            })
        } else {
            Record::Event(Event {
                coroutine,
                n: u64::from(n / 7),
                at: Nanos(u64::from(n) * u64::from(n)),
                kind: EventKind::Run,
                ..Event::default()
            })
        };
        writer.write(&record).expect("memory");
    }
    writer.finish(&End::default()).expect("memory")
}
