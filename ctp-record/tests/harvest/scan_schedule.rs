//! When a pass scans all stations.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use ctp_nostd::Probe;
use ctp_record::harvest::Harvest;
use ctp_trace::record::{CoroutineId, Event};

use crate::lanes::{LANELESS, TurnTaking, cycles, memory, switch_to_thread};
use crate::test_memory::{RecordBuffer, SingleProcess, events_in};

/// The recorder's clock.
static NOW_NS: AtomicU64 = AtomicU64::new(1_000_000);
/// Longer than the pause between two scans of two stations.
const PAUSE_NS: u64 = 1_000_000;

// CT-10
#[test]
fn stations_are_scanned_again_after_a_pause() {
    const TEST: usize = 21;
    let region = memory(1);
    let probe: Probe<TurnTaking<TEST>> = Probe::new(region, 1);
    let _in_a_lane = probe.born("in a lane");
    let (mut outside, mut buffer) = (SingleProcess::default(), RecordBuffer::default());
    let mut harvest = Harvest::clocked(0, || NOW_NS.load(Relaxed));
    let mut pass = || {
        harvest.pass(&region, &mut outside, &mut buffer);
        let events = events_in(&buffer.0);
        let is_in_slots = |event: &&Event| event.coroutine == CoroutineId(2);
        events.iter().filter(is_in_slots).count()
    };
    assert_eq!([pass(), pass(), pass()], [0; 3]);
    switch_to_thread(TEST, LANELESS);
    let in_slots = probe.born("in slots");
    cycles(&in_slots, 1);
    assert_eq!([pass(), pass()], [0, 0], "it is too early");
    NOW_NS.fetch_add(PAUSE_NS, Relaxed);
    // The first pass finds that events are in slots, and the next that lanes do not bring them.
    let found = [pass(), pass(), pass()];
    assert_eq!(found[2], 3, "{found:?}");
    cycles(&in_slots, 1);
    assert!(3 < [pass(), pass()][1], "the next pass scans again");
}
