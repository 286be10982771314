//! Stations of plain v1 peers, written word by word.

use ctp_nostd::create::Recording;
use ctp_nostd::{Probe, Region, Wait};
use ctp_record::harvest::Harvest;
use ctp_trace::record::{Dialect, Event, EventKind, Record};
use proptest::prelude::*;

use crate::desk::{Bare, Desk, Nowhere, Tray, births_in, events_in, tallies_in};
use crate::sweep;

const ALLOCATED: usize = 0x10;

/// A v1 peer in the first station.
struct Peer<'d> {
    desk: &'d mut Desk,
    is_d1: bool,
    n: u64,
}

const STATION: usize = 1024;

impl<'d> Peer<'d> {
    fn born(desk: &'d mut Desk, is_d1: bool) -> Self {
        desk.put_u32(ALLOCATED, 1);
        desk.put_u64(STATION, 0xABCD);
        desk.put_u64(STATION + 8, 5);
        Peer { desk, is_d1, n: 0 }
    }

    fn writes(&mut self, events: u64) {
        for _ in 0..events {
            let (slot, seq) = self.place();
            self.desk.put_u64(slot, 100 + self.n);
            self.desk.put_u64(slot + 0x08, 3000);
            self.desk.put_u64(slot + 0x10, self.n * 11);
            self.desk.put_u8(slot + 0x3F, (self.n % 2) as u8);
            self.desk.put_u64(slot + 0x18, seq);
            self.n += 1;
        }
    }

    /// The slot of the next event, and its sequence number.
    fn place(&self) -> (usize, u64) {
        let (index, seq) = match self.is_d1 {
            true => (self.n + 1, self.n + 1),
            false => (self.n, self.n / 8 * 2 + 2),
        };
        (STATION + 0x40 + 64 * (index % 8) as usize, seq)
    }

    /// Begins an event and does not end it.
    fn stumbles(&mut self) {
        let (slot, seq) = self.place();
        match self.is_d1 {
            true => self.desk.put_u64(slot, 100 + self.n),
            false => self.desk.put_u64(slot + 0x18, seq - 1),
        }
    }

    fn dies(&mut self) {
        self.desk.put_u8(STATION + 0x10, 1);
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
fn what_it_does_after_the_end_is_neither_told_nor_lost() {
    for (is_d1, later) in [(false, 3), (false, 50), (true, 3), (true, 50)] {
        let mut desk = Desk::clocked(0, || 104);
        let mut peer = Peer::born(&mut desk, is_d1);
        peer.writes(3);
        let mut records = peer.desk.pass().1;
        peer.desk.stop();
        peer.writes(later);
        peer.dies();
        records.extend(desk.finish());
        let told = ns(&records);
        assert!(told.len() <= 5 && told.iter().copied().eq(0..told.len() as u64));
        assert_eq!(desk.totals().lost, 0, "{is_d1} {later}");
    }
}

fn ns(records: &[Record]) -> Vec<u64> {
    events_in(records).iter().map(|event| event.n).collect()
}

// CTP-12, CTP-13
#[test]
fn each_dialect_is_recognised_by_its_first_event() {
    for (is_d1, dialect) in [(true, Dialect::V1PerStation), (false, Dialect::V1PerSlot)] {
        let mut desk = Desk::new();
        let mut peer = Peer::born(&mut desk, is_d1);
        assert_eq!(peer.desk.pass().1, []);
        peer.writes(1);
        let (_, records) = peer.desk.pass();
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
fn a_d2_writer_that_dies_at_its_first_event_is_no_d1_writer() {
    let mut desk = Desk::new();
    let mut peer = Peer::born(&mut desk, false);
    peer.stumbles();
    let records = desk.finish();
    assert_eq!(births_in(&records)[0].dialect, Dialect::V1PerSlot);
    assert_eq!(ns(&records), [0; 0]);
    let tally = tallies_in(&records)[0];
    assert_eq!((tally.attempted, tally.torn), (0, Some(0)));
}

// CTP-12
#[test]
fn the_oldest_slot_of_a_d1_station_is_never_trusted() {
    let mut desk = Desk::new();
    let mut peer = Peer::born(&mut desk, true);
    peer.writes(20);
    // The next event's payload goes over event 12, whose number still stands.
    peer.stumbles();
    let records = desk.finish();
    assert_eq!(ns(&records), [13, 14, 15, 16, 17, 18, 19]);
    events_in(&records).iter().for_each(is_as_written);
    assert_eq!(tallies_in(&records)[0].attempted, 20);
}

#[test]
fn one_for_whom_the_trace_has_no_number_is_refused_once() {
    let mut desk = Desk::after(u32::MAX, 0);
    let mut peer = Peer::born(&mut desk, false);
    for _ in 0..3 {
        peer.writes(2);
        assert_eq!(peer.desk.pass().1, []);
    }
    assert_eq!(desk.finish(), []);
    assert_eq!((desk.totals().refused, desk.totals().plain), (1, 0));
}

// CTP-20
#[test]
fn a_death_without_an_event_is_told_once_and_last() {
    for is_d1 in [true, false] {
        let mut desk = Desk::new();
        let mut peer = Peer::born(&mut desk, is_d1);
        peer.writes(2);
        peer.desk.pass();
        peer.writes(3);
        peer.dies();
        let records = peer.desk.pass().1;
        let kinds: Vec<_> = events_in(&records).iter().map(|event| event.kind).collect();
        assert_eq!(kinds.len(), 4);
        assert_eq!(kinds[3], EventKind::Death);
        assert_eq!(peer.desk.pass().1, []);
        let tally = tallies_in(&desk.finish())[0];
        assert_eq!((tally.attempted, tally.recorded), (6, 6));
    }
}

// CTP-20, CT-03
#[test]
fn a_death_before_the_end_is_told_in_the_first_look() {
    for is_d1 in [true, false] {
        for events in [0, 1, 3, 50] {
            let mut desk = Desk::clocked(0, || 1_000);
            let mut peer = Peer::born(&mut desk, is_d1);
            peer.writes(events);
            peer.dies();
            desk.stop();
            let records = desk.finish();
            let told = events_in(&records);
            let last = told.last().expect("its death");
            assert_eq!((last.kind, last.n), (EventKind::Death, events));
            assert!(births_in(&records)[0].at <= last.at);
            let tally = tallies_in(&records)[0];
            assert_eq!((tally.attempted, tally.inexact), (events + 1, false));
        }
    }
}

// CTP-20, CT-02
#[test]
fn a_death_after_the_end_is_not_of_the_recording() {
    for is_d1 in [true, false] {
        let mut desk = Desk::clocked(0, || 1_000);
        let mut peer = Peer::born(&mut desk, is_d1);
        peer.writes(3);
        peer.desk.stop();
        peer.dies();
        let records = desk.finish();
        assert_eq!(ns(&records), [0, 1, 2]);
        assert!(
            events_in(&records)
                .iter()
                .all(|it| it.kind != EventKind::Death)
        );
    }
}

// CTP-20, CT-03
#[test]
fn deaths_of_very_many_in_the_last_look_are_all_told() {
    const MANY: u32 = 10_000;
    let region = sweep::memory(MANY, &Recording::default());
    // A probe of another layout than the recorder's uses plain cTP v1 only.
    let plain = Region {
        extended: false,
        ..region
    };
    let probe: Probe<Bare> = Probe::new(plain, 1);
    for _ in 0..MANY {
        drop(probe.born("brief"));
    }
    let (mut nowhere, mut tray) = (Nowhere::default(), Tray::default());
    let mut harvest = Harvest::new(0);
    harvest.stop(&region);
    harvest.finish(&region, &mut nowhere, &mut tray);
    let events = events_in(&tray.0);
    let deaths = events.iter().filter(|it| it.kind == EventKind::Death);
    assert_eq!(deaths.count(), MANY as usize);
}

// CTP-14
#[test]
fn a_probe_of_another_layout_is_read_as_a_v1_peer() {
    let region = sweep::memory(4, &Recording::default());
    let plain = Region {
        extended: false,
        ..region
    };
    let probe: Probe<Bare> = Probe::new(plain, 1);
    let task = probe.born("session");
    task.run();
    task.suspend(Wait::unknown());
    let (mut nowhere, mut tray) = (Nowhere::default(), Tray::default());
    Harvest::new(0).finish(&region, &mut nowhere, &mut tray);
    let births = births_in(&tray.0);
    assert_eq!(births[0].dialect, Dialect::V1PerSlot);
    assert_eq!(ns(&tray.0), [0, 1, 2]);
    assert_eq!(tallies_in(&tray.0)[0].attempted, 3);
    std::mem::forget(task);
}

proptest! {
    // CTP-11, CTP-12, CTP-13
    #[test]
    fn whatever_is_read_was_written_and_the_rest_is_counted(
        is_d1 in any::<bool>(),
        bursts in prop::collection::vec(0..20_u64, 1..40),
        stumbles in any::<bool>(),
    ) {
        let mut desk = Desk::new();
        let mut peer = Peer::born(&mut desk, is_d1);
        peer.writes(1);
        // In D1 the oldest slot may be under overwrite.
        let kept = if is_d1 { 7 } else { 8 };
        let mut next = 0;
        for burst in bursts {
            peer.writes(burst);
            let records = peer.desk.pass().1;
            events_in(&records).iter().for_each(is_as_written);
            let oldest = peer.n.saturating_sub(kept).max(next);
            prop_assert_eq!(ns(&records), (oldest..peer.n).collect::<Vec<_>>());
            next = peer.n;
        }
        if stumbles {
            peer.stumbles();
        }
        let (attempted, torn) = (peer.n, (stumbles && !is_d1).then_some(peer.n));
        let tally = tallies_in(&desk.finish())[0];
        prop_assert_eq!((tally.attempted, tally.torn), (attempted, torn));
        prop_assert_eq!(tally.recorded, desk.totals().events);
        prop_assert_eq!(desk.totals().lost, attempted - tally.recorded);
    }
}
