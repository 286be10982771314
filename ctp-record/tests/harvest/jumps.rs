//! CTP-29: numbers that jump, back or near 2^64. The station goes on, and its account is inexact.

use ctp_trace::record::{Event, Record};

use crate::desk::{Desk, events_in, tallies_in};

const STATION: usize = 1024;
const HEAD: usize = STATION + 0x240;
const FAR: [u64; 5] = [0, 3, 1 << 41, u64::MAX / 2, u64::MAX - 30];

fn slot(index: u64) -> usize {
    STATION + 0x40 + 64 * (index % 8) as usize
}

/// All events, which have ascending numbers, and that the tally is in doubt and adds up.
fn told(desk: &mut Desk, mut records: Vec<Record>) -> Vec<Event> {
    records.extend(desk.finish());
    let tally = tallies_in(&records)[0];
    assert!(tally.inexact);
    let totals = desk.totals();
    assert_eq!(tally.recorded, totals.events);
    assert_eq!(tally.attempted, totals.events + totals.lost);
    let events = events_in(&records);
    assert!(events.is_sorted_by(|before, after| before.n < after.n));
    events
}

// CTP-29
#[test]
fn a_head_that_jumps_loses_nothing_of_what_comes_then() {
    for far in FAR {
        let mut desk = Desk::new();
        let life = desk.born("one");
        let mut records = Vec::new();
        for event in 0..20 {
            if event == 10 {
                desk.put_u64(HEAD, far);
            }
            life.run();
            records.extend(desk.pass().1);
        }
        // The eleventh may go by where the old and the new number share a slot.
        assert!(told(&mut desk, records).len() >= 20, "to {far:#x}");
        std::mem::forget(life);
    }
}

// CTP-29
#[test]
fn a_jump_between_two_looks_loses_no_more_than_the_slots_do() {
    for far in FAR {
        let mut desk = Desk::new();
        let life = desk.born("one");
        (0..10).for_each(|_| life.run());
        let mut records = desk.pass().1;
        desk.put_u64(HEAD, far);
        (0..5).for_each(|_| life.run());
        records.extend(desk.pass().1);
        assert!(told(&mut desk, records).len() >= 8 + 5, "to {far:#x}");
        std::mem::forget(life);
    }
}

/// A v1 peer that says when, and numbers its events as it likes.
struct Peer {
    desk: Desk,
    is_d1: bool,
    at: u64,
    records: Vec<Record>,
}

impl Peer {
    fn new(is_d1: bool) -> Self {
        let desk = Desk::new();
        desk.put_u32(0x10, 1);
        Peer {
            desk,
            is_d1,
            at: 100,
            records: Vec::new(),
        }
    }

    /// One event, and a look at it.
    fn writes(&mut self, n: u64) {
        let (place, seq) = match self.is_d1 {
            true => (slot(n.wrapping_add(1)), n.wrapping_add(1)),
            false => (slot(n), (n / 8).wrapping_mul(2).wrapping_add(2)),
        };
        self.at += 1;
        self.desk.put_u64(place, self.at);
        self.desk.put_u64(place + 0x18, seq);
        self.records.extend(self.desk.pass().1);
    }
}

// CTP-29
#[test]
fn a_v1_peer_whose_numbers_jump_is_read_on() {
    for (is_d1, far) in FAR.iter().flat_map(|far| [(false, far), (true, far)]) {
        let mut peer = Peer::new(is_d1);
        (0..20).for_each(|n| peer.writes(n));
        (0..24).for_each(|more| peer.writes(far + more));
        let events = told(&mut peer.desk, peer.records).len();
        assert!(events >= 20 + 8, "{events}, D1: {is_d1}, to {far:#x}");
    }
}

// CTP-29
#[test]
fn a_v1_slot_that_falls_back_costs_its_own_events_only() {
    let mut peer = Peer::new(false);
    (0..40).for_each(|n| peer.writes(n));
    // The peer counts on from what the slot holds.
    for n in 40..80 {
        peer.writes(if n % 8 == 3 { n - 40 } else { n });
    }
    let events = told(&mut peer.desk, peer.records).len();
    assert_eq!(events, 40 + 35);
}
