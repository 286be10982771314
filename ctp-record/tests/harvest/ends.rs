//! The end of a recording whose program was over long before it was read.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use ctp_nostd::{Coroutine, Platform, Wait};
use ctp_trace::Census;
use ctp_trace::record::{Nanos, Record};

use crate::desk::{Desk, events_in};

fn live<P: Platform>(coroutine: &Coroutine<P>, rounds: u64) {
    for round in 0..rounds {
        coroutine.run();
        coroutine.suspend(Wait::user(round));
    }
}

static LATE_NS: AtomicU64 = AtomicU64::new(0);

// CT-03, AGG-17
#[test]
fn totals_that_are_read_long_after_the_end_are_not_later_than_it() {
    const HOUR: u64 = 3_600_000_000_000;
    let mut desk = Desk::summing_up_by(|| LATE_NS.load(Relaxed));
    LATE_NS.store(HOUR, Relaxed);
    let task = desk.born("ended");
    live(&task, 20);
    std::mem::forget(task);
    let records = desk.finish();
    let last = events_in(&records).last().expect("its slots are there").at;
    let mut census = Census::new();
    for record in &records {
        census.feed(record);
    }
    assert!(Nanos(0) < last && last < Nanos(HOUR));
    assert_eq!(census.end_at(), last);
    let mut told = records
        .iter()
        .filter(|it| matches!(it, Record::Aggregate(_)));
    assert!(told.next().is_some());
}
