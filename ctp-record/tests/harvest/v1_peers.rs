//! Stations of plain v1 peers, written word by word.

use ctp_nostd::create::Recording;
use ctp_nostd::{Probe, Region, Wait};
use ctp_record::harvest::Harvest;
use ctp_trace::record::{Dialect, Event, EventKind, Record};
use proptest::prelude::*;

use crate::reaped_stations;
use crate::test_memory::{
    Bare, RecordBuffer, SingleProcess, TestMemory, births_in, events_in, tallies_in,
};

const ALLOCATED: usize = 0x10;

/// A v1 peer in the first station.
struct StationProcess<'d> {
    test_memory: &'d mut TestMemory,
    is_d1: bool,
    n: u64,
}

const STATION: usize = 1024;

impl<'d> StationProcess<'d> {
    fn born(test_memory: &'d mut TestMemory, is_d1: bool) -> Self {
        test_memory.put_u32(ALLOCATED, 1);
        test_memory.put_u64(STATION, 0xABCD);
        test_memory.put_u64(STATION + 8, 5);
        StationProcess {
            test_memory,
            is_d1,
            n: 0,
        }
    }

    fn writes(&mut self, events: u64) {
        for _ in 0..events {
            let (slot, seq) = self.place();
            self.test_memory.put_u64(slot, 100 + self.n);
            self.test_memory.put_u64(slot + 0x08, 3000);
            self.test_memory.put_u64(slot + 0x10, self.n * 11);
            self.test_memory.put_u8(slot + 0x3F, (self.n % 2) as u8);
            self.test_memory.put_u64(slot + 0x18, seq);
            self.n += 1;
        }
    }

    /// The slot of the next event, and its sequence number.
    fn place(&self) -> (usize, u64) {
        let (index, seq) = if self.is_d1 {
            (self.n + 1, self.n + 1)
        } else {
            (self.n, self.n / 8 * 2 + 2)
        };
        (STATION + 0x40 + 64 * (index % 8) as usize, seq)
    }

    /// Begins an event and does not finish it.
    fn stumbles(&mut self) {
        let (slot, seq) = self.place();
        if self.is_d1 {
            self.test_memory.put_u64(slot, 100 + self.n);
        } else {
            self.test_memory.put_u64(slot + 0x18, seq - 1);
        }
    }

    fn dies(&mut self) {
        self.test_memory.put_u8(STATION + 0x10, 1);
    }
}

fn is_as_written(event: &Event) {
    assert_eq!((event.at.0, event.tid), (100 + event.n, 3000));
    match event.n % 2 {
        0 => assert_eq!((event.kind, event.arg), (EventKind::Suspend, event.n * 11)),
        _ => assert_eq!((event.kind, event.arg), (EventKind::Run, 0)),
    }
}

// CT-02
#[test]
fn events_after_the_end_are_neither_recorded_nor_lost() {
    for (is_d1, later) in [(false, 3), (false, 50), (true, 3), (true, 50)] {
        let mut test_memory = TestMemory::clocked(0, || 104);
        let mut peer = StationProcess::born(&mut test_memory, is_d1);
        peer.writes(3);
        let mut records = peer.test_memory.pass().1;
        peer.test_memory.stop();
        peer.writes(later);
        peer.dies();
        records.extend(test_memory.finish());
        let numbers = ns(&records);
        assert!(numbers.len() <= 5 && numbers.iter().copied().eq(0..numbers.len() as u64));
        assert_eq!(test_memory.totals().lost, 0, "{is_d1} {later}");
    }
}

fn ns(records: &[Record]) -> Vec<u64> {
    events_in(records).iter().map(|event| event.n).collect()
}

// CTP-12, CTP-13
#[test]
fn each_dialect_is_recognised_by_the_first_event() {
    for (is_d1, dialect) in [(true, Dialect::V1PerStation), (false, Dialect::V1PerSlot)] {
        let mut test_memory = TestMemory::new();
        let mut peer = StationProcess::born(&mut test_memory, is_d1);
        assert_eq!(peer.test_memory.pass().1, []);
        peer.writes(1);
        let (_, records) = peer.test_memory.pass();
        let birth = &births_in(&records)[0];
        assert_eq!(
            (birth.dialect, birth.probe_id, birth.at.0),
            (dialect, 0xABCD, 5)
        );
        events_in(&records).iter().for_each(is_as_written);
        assert_eq!(ns(&records), [0]);
    }
}

// CTP-13, CTP-19
#[test]
fn d2_writer_that_dies_at_the_first_event_is_no_d1_writer() {
    let mut test_memory = TestMemory::new();
    let mut peer = StationProcess::born(&mut test_memory, false);
    peer.stumbles();
    let records = test_memory.finish();
    assert_eq!(births_in(&records)[0].dialect, Dialect::V1PerSlot);
    assert_eq!(ns(&records), [0; 0]);
    let event_counts = tallies_in(&records)[0];
    assert_eq!((event_counts.attempted, event_counts.torn), (0, Some(0)));
}

// CTP-12
#[test]
fn oldest_slot_of_a_d1_station_is_never_trusted() {
    let mut test_memory = TestMemory::new();
    let mut peer = StationProcess::born(&mut test_memory, true);
    peer.writes(20);
    // The next event's payload overwrites event 12, but not yet its sequence number.
    peer.stumbles();
    let records = test_memory.finish();
    assert_eq!(ns(&records), [13, 14, 15, 16, 17, 18, 19]);
    events_in(&records).iter().for_each(is_as_written);
    assert_eq!(tallies_in(&records)[0].attempted, 20);
}

#[test]
fn peer_without_a_number_in_the_trace_is_refused_once() {
    let mut test_memory = TestMemory::after(u32::MAX, 0);
    let mut peer = StationProcess::born(&mut test_memory, false);
    for _ in 0..3 {
        peer.writes(2);
        assert_eq!(peer.test_memory.pass().1, []);
    }
    assert_eq!(test_memory.finish(), []);
    assert_eq!(
        (
            test_memory.totals().refused,
            test_memory.totals().v1_coroutines
        ),
        (1, 0)
    );
}

// CTP-20
#[test]
fn death_without_an_event_is_recorded_once_and_last() {
    for is_d1 in [true, false] {
        let mut test_memory = TestMemory::new();
        let mut peer = StationProcess::born(&mut test_memory, is_d1);
        peer.writes(2);
        peer.test_memory.pass();
        peer.writes(3);
        peer.dies();
        let records = peer.test_memory.pass().1;
        let kinds: Vec<_> = events_in(&records).iter().map(|event| event.kind).collect();
        assert_eq!(kinds.len(), 4);
        assert_eq!(kinds[3], EventKind::Death);
        assert_eq!(peer.test_memory.pass().1, []);
        let event_counts = tallies_in(&test_memory.finish())[0];
        assert_eq!((event_counts.attempted, event_counts.recorded), (6, 6));
    }
}

// CTP-20, CT-03
#[test]
fn death_before_the_end_is_recorded_when_first_read() {
    for is_d1 in [true, false] {
        for events in [0, 1, 3, 50] {
            let mut test_memory = TestMemory::clocked(0, || 1_000);
            let mut peer = StationProcess::born(&mut test_memory, is_d1);
            peer.writes(events);
            peer.dies();
            test_memory.stop();
            let records = test_memory.finish();
            let events_read = events_in(&records);
            let last = events_read.last().expect("its death");
            assert_eq!((last.kind, last.n), (EventKind::Death, events));
            assert!(births_in(&records)[0].at <= last.at);
            let event_counts = tallies_in(&records)[0];
            assert_eq!(
                (event_counts.attempted, event_counts.inexact),
                (events + 1, false)
            );
        }
    }
}

// CTP-20, CT-02
#[test]
fn death_after_the_end_is_not_recorded() {
    for is_d1 in [true, false] {
        let mut test_memory = TestMemory::clocked(0, || 1_000);
        let mut peer = StationProcess::born(&mut test_memory, is_d1);
        peer.writes(3);
        peer.test_memory.stop();
        peer.dies();
        let records = test_memory.finish();
        assert_eq!(ns(&records), [0, 1, 2]);
        assert!(
            events_in(&records)
                .iter()
                .all(|event| event.kind != EventKind::Death)
        );
    }
}

// CTP-20, CT-03
#[test]
fn deaths_of_very_many_peers_are_all_recorded_at_the_end() {
    const MANY: u32 = 10_000;
    let region = reaped_stations::memory(MANY, &Recording::default());
    // A probe with another layout than the recorder's uses plain cTP v1 only.
    let plain = Region {
        is_extended: false,
        ..region
    };
    let probe: Probe<Bare> = Probe::new(plain, 1);
    for _ in 0..MANY {
        drop(probe.born("brief"));
    }
    let (mut outside, mut buffer) = (SingleProcess::default(), RecordBuffer::default());
    let mut harvest = Harvest::new(0);
    harvest.stop(&region);
    harvest.finish(&region, &mut outside, &mut buffer);
    let events = events_in(&buffer.0);
    let deaths = events.iter().filter(|event| event.kind == EventKind::Death);
    assert_eq!(deaths.count(), MANY as usize);
}

// CTP-14
#[test]
fn probe_with_another_layout_is_read_as_a_v1_peer() {
    let region = reaped_stations::memory(4, &Recording::default());
    let plain = Region {
        is_extended: false,
        ..region
    };
    let probe: Probe<Bare> = Probe::new(plain, 1);
    let task = probe.born("session");
    task.run();
    task.suspend(Wait::unknown());
    let (mut outside, mut buffer) = (SingleProcess::default(), RecordBuffer::default());
    Harvest::new(0).finish(&region, &mut outside, &mut buffer);
    let births = births_in(&buffer.0);
    assert_eq!(births[0].dialect, Dialect::V1PerSlot);
    assert_eq!(ns(&buffer.0), [0, 1, 2]);
    assert_eq!(tallies_in(&buffer.0)[0].attempted, 3);
    std::mem::forget(task);
}

proptest! {
    // CTP-11, CTP-12, CTP-13
    #[test]
    fn events_read_were_written_and_the_rest_is_counted(
        is_d1 in any::<bool>(),
        bursts in prop::collection::vec(0..20_u64, 1..40),
        stumbles in any::<bool>(),
    ) {
        let mut test_memory = TestMemory::new();
        let mut peer = StationProcess::born(&mut test_memory, is_d1);
        peer.writes(1);
        // In D1, the oldest slot may be being overwritten.
        let kept = if is_d1 { 7 } else { 8 };
        let mut next = 0;
        for burst in bursts {
            peer.writes(burst);
            let records = peer.test_memory.pass().1;
            events_in(&records).iter().for_each(is_as_written);
            let oldest = peer.n.saturating_sub(kept).max(next);
            prop_assert_eq!(ns(&records), (oldest..peer.n).collect::<Vec<_>>());
            next = peer.n;
        }
        if stumbles {
            peer.stumbles();
        }
        let (attempted, torn) = (peer.n, (stumbles && !is_d1).then_some(peer.n));
        let event_counts = tallies_in(&test_memory.finish())[0];
        prop_assert_eq!((event_counts.attempted, event_counts.torn), (attempted, torn));
        prop_assert_eq!(event_counts.recorded, test_memory.totals().events);
        prop_assert_eq!(test_memory.totals().lost, attempted - event_counts.recorded);
    }
}
