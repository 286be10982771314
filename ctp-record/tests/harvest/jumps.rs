//! CTP-29: numbers that jump back or near 2^64. The station is still read, and its account is inexact.

use ctp_trace::record::{Event, Record};

use crate::test_memory::{TestMemory, events_in, tallies_in};

const STATION: usize = 1024;
const HEAD: usize = STATION + 0x240;
const FAR: [u64; 5] = [0, 3, 1 << 41, u64::MAX / 2, u64::MAX - 30];

fn slot(index: u64) -> usize {
    STATION + 0x40 + 64 * (index % 8) as usize
}

/// All events, after asserting that their numbers ascend and that the account is inexact and adds up.
fn checked_events(test_memory: &mut TestMemory, mut records: Vec<Record>) -> Vec<Event> {
    records.extend(test_memory.finish());
    let event_counts = tallies_in(&records)[0];
    assert!(event_counts.inexact);
    let totals = test_memory.totals();
    assert_eq!(event_counts.recorded, totals.events);
    assert_eq!(event_counts.attempted, totals.events + totals.lost);
    let events = events_in(&records);
    assert!(events.is_sorted_by(|before, after| before.n < after.n));
    events
}

// CTP-29
#[test]
fn head_that_jumps_loses_no_later_events() {
    for far in FAR {
        let mut test_memory = TestMemory::new();
        let life = test_memory.born("one");
        let mut records = Vec::new();
        for event in 0..20 {
            if event == 10 {
                test_memory.put_u64(HEAD, far);
            }
            life.run();
            records.extend(test_memory.pass().1);
        }
        // The eleventh event may be missed if the old and the new number share a slot.
        assert!(
            checked_events(&mut test_memory, records).len() >= 20,
            "to {far:#x}"
        );
        std::mem::forget(life);
    }
}

// CTP-29
#[test]
fn jump_between_two_passes_loses_no_more_than_the_slots() {
    for far in FAR {
        let mut test_memory = TestMemory::new();
        let life = test_memory.born("one");
        (0..10).for_each(|_| life.run());
        let mut records = test_memory.pass().1;
        test_memory.put_u64(HEAD, far);
        (0..5).for_each(|_| life.run());
        records.extend(test_memory.pass().1);
        assert!(
            checked_events(&mut test_memory, records).len() >= 8 + 5,
            "to {far:#x}"
        );
        std::mem::forget(life);
    }
}

/// A v1 peer that writes times and arbitrary event numbers.
struct StationProcess {
    test_memory: TestMemory,
    is_d1: bool,
    at: u64,
    records: Vec<Record>,
}

impl StationProcess {
    fn new(is_d1: bool) -> Self {
        let test_memory = TestMemory::new();
        test_memory.put_u32(0x10, 1);
        StationProcess {
            test_memory,
            is_d1,
            at: 100,
            records: Vec::new(),
        }
    }

    /// Writes an event and runs a pass.
    fn writes(&mut self, n: u64) {
        let (place, seq) = if self.is_d1 {
            (slot(n.wrapping_add(1)), n.wrapping_add(1))
        } else {
            (slot(n), (n / 8).wrapping_mul(2).wrapping_add(2))
        };
        self.at += 1;
        self.test_memory.put_u64(place, self.at);
        self.test_memory.put_u64(place + 0x18, seq);
        self.records.extend(self.test_memory.pass().1);
    }
}

// CTP-29
#[test]
fn v1_peer_with_jumping_numbers_is_still_read() {
    for (is_d1, far) in FAR.iter().flat_map(|far| [(false, far), (true, far)]) {
        let mut peer = StationProcess::new(is_d1);
        (0..20).for_each(|n| peer.writes(n));
        (0..24).for_each(|more| peer.writes(far + more));
        let events = checked_events(&mut peer.test_memory, peer.records).len();
        assert!(events >= 20 + 8, "{events}, D1: {is_d1}, to {far:#x}");
    }
}

// CTP-29
#[test]
fn v1_slot_that_goes_back_loses_only_own_events() {
    let mut peer = StationProcess::new(false);
    (0..40).for_each(|n| peer.writes(n));
    // The peer continues from the number that the slot holds.
    for n in 40..80 {
        peer.writes(if n % 8 == 3 { n - 40 } else { n });
    }
    let events = checked_events(&mut peer.test_memory, peer.records).len();
    assert_eq!(events, 40 + 35);
}
