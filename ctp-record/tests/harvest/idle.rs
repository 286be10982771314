//! Coroutines without recent events, and events that come while such coroutines are looked for.

use std::time::Duration;

use ctp_nostd::{Coroutine, Platform as _, Wait};
use ctp_record::harvest::Sink;
use ctp_trace::record::Record;

use crate::test_memory::{Bare, TestMemory, tallies_in};

/// Offset of the first station's `last_ts`, the time of its latest event.
const LAST_TS: usize = 1024 + 0x248;

/// Lets a coroutine run as soon as the wake of a coroutine is recorded.
struct RunsAtWake<'c>(&'c Coroutine<Bare>);

impl Sink for RunsAtWake<'_> {
    fn take(&mut self, record: Record) {
        if matches!(record, Record::Wake(_)) {
            self.0.run();
        }
    }
}

// CT-26
#[test]
fn event_during_a_scan_is_not_missing_in_the_account() {
    let mut test_memory = TestMemory::clocked(0, Bare::now_ns);
    let coroutine = test_memory.born("idle");
    coroutine.run();
    coroutine.suspend(Wait::unknown());
    test_memory.pass();
    coroutine.waker().wake();
    let report = test_memory.report_idle(Duration::ZERO, &mut RunsAtWake(&coroutine));
    let accounts = tallies_in(&report.records);
    let counts = accounts.iter().map(|of| (of.attempted, of.recorded));
    assert_eq!(counts.collect::<Vec<_>>(), [(3, 3)]);
}

#[test]
fn run_that_began_during_a_scan_is_not_long() {
    let mut test_memory = TestMemory::clocked(0, Bare::now_ns);
    let coroutine = test_memory.born("runs");
    coroutine.run();
    test_memory.pass();
    let since_ns = Bare::now_ns();
    assert!(test_memory.long_run(0, since_ns).is_some());
    coroutine.suspend(Wait::unknown());
    coroutine.run();
    // As if this time had been read before the latest two events.
    test_memory.put_u64(LAST_TS, since_ns);
    assert_eq!(test_memory.long_run(0, since_ns), None);
}
