//! CTP-28: whatever bytes stand in the memory, a pass ends, and reads the stations that are sane.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;

use ctp_nostd::Wait;
use ctp_trace::record::EventKind::{Birth, Run, Suspend};
use ctp_trace::record::Record;
use proptest::prelude::*;

use crate::desk::{Desk, STATIONS, births_in, events_in, tallies_in};

/// Words that overflow where something is added to them or multiplied.
fn word() -> impl Strategy<Value = u64> {
    prop_oneof![
        any::<u64>(),
        0..16_u64,
        (0..16_u64).prop_map(|below| u64::MAX - below),
        (0..64_u32).prop_map(|bit| 1 << bit),
        (0..64_u32).prop_map(|bit| (1 << bit) - 1),
    ]
}

/// Not the header's first 24 bytes, which are checked once, nor its table of what lies where.
fn offset(bytes: usize) -> impl Strategy<Value = usize> {
    (1024 / 8..bytes / 8).prop_map(|word| word * 8)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    // CTP-28
    #[test]
    fn any_words_anywhere_are_survived(
        writes in prop::collection::vec((offset(1024 * (1 + STATIONS)), word()), 1..200),
        count in word(),
        sums_up in any::<bool>(),
    ) {
        let mut desk = if sums_up { Desk::summing_up() } else { Desk::new() };
        let _lives = [desk.born("one"), desk.born("two")];
        desk.pass();
        for batch in writes.chunks(20) {
            for (offset, word) in batch {
                desk.put_u64(*offset, *word);
            }
            desk.put_u32(0x10, count as u32);
            desk.pass();
        }
        desk.finish();
    }

    // CTP-28
    #[test]
    fn a_sane_station_among_mad_ones_is_read(
        writes in prop::collection::vec((offset(1024 * STATIONS), word()), 1..100),
    ) {
        let mut desk = Desk::new();
        let mad: Vec<_> = (1..STATIONS).map(|_| desk.born("mad")).collect();
        let sane = desk.born("sane");
        for (offset, word) in writes {
            desk.put_u64(offset, word);
        }
        sane.run();
        sane.suspend(Wait::unknown());
        let records = [desk.pass().1, desk.finish()].concat();
        let births = births_in(&records);
        let birth = births.iter().find(|birth| birth.probe_id == sane.id());
        let id = birth.expect("the sane one is there").coroutine;
        let events = events_in(&records).into_iter().filter(|event| event.coroutine == id);
        let kinds: Vec<_> = events.map(|event| event.kind).collect();
        prop_assert_eq!(kinds, [Birth, Run, Suspend]);
        mad.into_iter().for_each(std::mem::forget);
    }
}

/// xorshift64 (Marsaglia), and words at which sums and bounds break.
fn next_word(seed: &mut u64) -> u64 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    let small = *seed >> 56;
    match *seed % 8 {
        0 => small,
        1 => u64::MAX - small,
        2 => small << 32 | small,
        3 => (1 << 63) + small,
        _ => *seed,
    }
}

/// Anywhere but in what a reader checks once, and in the first station.
fn next_place(seed: &mut u64, bytes: usize) -> usize {
    let places = bytes / 8 - (2 + 128);
    match next_word(seed) as usize % places {
        header @ ..126 => 2 + header,
        behind => 2 + 128 + behind,
    }
}

// CTP-28
#[test]
fn memory_that_changes_while_it_is_read_harms_no_station_but_its_own() {
    let mut desk = Desk::new();
    let sane = desk.born("sane");
    let mad: Vec<_> = (1..STATIONS).map(|_| desk.born("mad")).collect();
    let mut records = desk.pass().1;
    let (vandal, bytes, is_over) = (desk.vandal(), desk.bytes(), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut seed = 88_172_645_463_325_252;
            while !is_over.load(Relaxed) {
                vandal.put(next_place(&mut seed, bytes), next_word(&mut seed));
            }
        });
        for _ in 0..3000 {
            sane.run();
            records.extend(desk.pass().1);
        }
        is_over.store(true, Relaxed);
    });
    desk.put_u32(0x10, STATIONS as u32);
    records.extend(desk.finish());
    it_adds_up(&desk, &records);
    let id = births_in(&records)[0].coroutine;
    let of_sane: Vec<_> = events_in(&records)
        .into_iter()
        .filter(|event| event.coroutine == id)
        .collect();
    assert!(of_sane.is_sorted_by(|before, after| before.n < after.n && before.at < after.at));
    let tallies = tallies_in(&records);
    let tally = tallies.iter().find(|tally| tally.coroutine == id);
    let tally = tally.expect("it has an account");
    // What stands in the header may keep out its events, but not uncounted.
    assert_eq!(
        (tally.attempted + tally.filtered, tally.recorded),
        (3001, of_sane.len() as u64)
    );
    mad.into_iter().for_each(std::mem::forget);
}

/// Each event and coroutine that the totals know of was told, and the other way round.
fn it_adds_up(desk: &Desk, records: &[Record]) {
    let totals = desk.totals();
    assert_eq!(events_in(records).len() as u64, totals.events);
    assert_eq!(births_in(records).len(), totals.coroutines as usize);
    assert_eq!(tallies_in(records).len(), totals.coroutines as usize);
}

// CTP-28
#[test]
fn places_that_are_made_up_do_not_fill_the_recorders_memory() {
    let mut desk = Desk::new();
    let life = desk.born("one");
    let (mut sites, most) = (0, 1 << 17);
    for place in 1..=most / 8 + 10 {
        (0..8).for_each(|_| life.suspend(Wait::unknown()));
        for slot in 0..8 {
            desk.put_u64(1024 + 0x40 + 64 * slot + 0x20, (place * 8 + slot) as u64);
        }
        let records = desk.pass().1;
        let site = |record: &&Record| matches!(record, Record::Site(_));
        sites += records.iter().filter(site).count();
    }
    assert_eq!(sites, most);
    assert!(desk.totals().unnamed > 0);
}

// CTP-28
#[test]
fn a_station_that_somebody_emptied_is_read_on() {
    let mut desk = Desk::new();
    drop(desk.born("before"));
    let mut records = desk.pass().1;
    for word in 0..128 {
        desk.put_u64(1024 + word * 8, 0);
    }
    desk.put_u32(0x10, 0);
    drop(desk.born("after"));
    records.extend(desk.finish());
    let names: Vec<_> = births_in(&records).into_iter().map(|it| it.name).collect();
    assert_eq!(names, ["before", "after"]);
    assert_eq!(events_in(&records).len(), 4);
}

// CTP-28
#[test]
fn a_head_that_is_far_ahead_of_its_events_does_not_hold_up_a_pass() {
    let mut desk = Desk::new();
    let _life = desk.born("one");
    desk.put_u64(1024 + 0x240, u64::MAX);
    for _ in 0..100 {
        desk.pass();
    }
    let records = desk.finish();
    let totals = desk.totals();
    assert_eq!((totals.events, totals.lost), (1, 0), "what the slots hold");
    assert_eq!(tallies_in(&records)[0].attempted, 1);
}

// CTP-29
#[test]
fn a_sequence_number_that_cannot_be_does_not_mute_its_station() {
    for far in [1 << 20, 1 << 50, u64::MAX - 1] {
        let mut desk = Desk::new();
        let life = desk.born("one");
        desk.pass();
        // Of event 1; 0x18 is where a slot's number lies.
        desk.put_u64(1024 + 0x40 + 64 + 0x18, far);
        desk.pass();
        for _ in 0..20 {
            life.run();
            desk.pass();
        }
        let records = desk.finish();
        let totals = desk.totals();
        assert_eq!((totals.events, totals.lost), (21, 0), "{far:#x}");
        assert_eq!(tallies_in(&records)[0].attempted, 21);
    }
}

// CTP-28
#[test]
fn an_event_of_tomorrow_makes_no_sense() {
    const YEAR: u64 = 365 * 24 * 3600 * 1_000_000_000;
    let mut desk = Desk::clocked(0, || YEAR);
    let task = desk.born("from tomorrow");
    task.run();
    // The time of event 1, in slot 1 of the first station.
    desk.put_u64(1024 + 0x40 + 64, 2 * YEAR);
    let events = desk.events();
    let kinds: Vec<_> = events.iter().map(|event| event.kind).collect();
    assert_eq!(kinds, [Birth]);
    assert_eq!(desk.totals().quarantined, 1);
    task.suspend(Wait::unknown());
    assert_eq!(desk.events().len(), 1, "what comes after it is read");
}

// CTP-28
#[test]
fn a_wake_of_tomorrow_does_not_date_the_recording() {
    const YEAR: u64 = 365 * 24 * 3600 * 1_000_000_000;
    let mut desk = Desk::clocked(0, || YEAR);
    let task = desk.born("woken tomorrow");
    task.waker().wake();
    // The time of the latest wake of the first station.
    desk.put_u64(1024 + 0x20, 2 * YEAR);
    let (_, records) = desk.pass();
    let wake = |record: &Record| match record {
        Record::Wake(wake) => Some((wake.count, wake.at)),
        _ => None,
    };
    let wakes: Vec<_> = records.iter().filter_map(wake).collect();
    let latest = events_in(&records)[0].at;
    assert_eq!(wakes, [(1, latest)]);
    assert_eq!(desk.latest(), latest);
}

// CTP-28
#[test]
fn what_is_older_than_the_recording_is_there_without_figures_that_look_exact() {
    const YEAR: u64 = 365 * 24 * 3600 * 1_000_000_000;
    let mut desk = Desk::clocked(YEAR, || YEAR);
    let task = desk.born("by another clock");
    task.run();
    let records = desk.finish();
    assert_eq!(events_in(&records).len(), 2);
    assert!(tallies_in(&records)[0].inexact);
}
