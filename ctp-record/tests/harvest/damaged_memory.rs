//! CTP-28: whatever bytes the memory holds, a pass ends and reads the stations that make sense.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;

use ctp_nostd::Wait;
use ctp_trace::record::EventKind::{Birth, Run, Suspend};
use ctp_trace::record::Record;
use proptest::prelude::*;

use crate::test_memory::{STATIONS, TestMemory, births_in, events_in, tallies_in};

/// Words that overflow in additions or multiplications.
fn word() -> impl Strategy<Value = u64> {
    prop_oneof![
        any::<u64>(),
        0..16_u64,
        (0..16_u64).prop_map(|below| u64::MAX - below),
        (0..64_u32).prop_map(|bit| 1 << bit),
        (0..64_u32).prop_map(|bit| (1 << bit) - 1),
    ]
}

/// An offset behind the words of the header that are checked only once.
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
        let mut test_memory = if sums_up { TestMemory::summing_up() } else { TestMemory::new() };
        let _lives = [test_memory.born("one"), test_memory.born("two")];
        test_memory.pass();
        for batch in writes.chunks(20) {
            for (offset, word) in batch {
                test_memory.put_u64(*offset, *word);
            }
            test_memory.put_u32(0x10, count as u32);
            test_memory.pass();
        }
        test_memory.finish();
    }

    // CTP-28
    #[test]
    fn sane_station_among_damaged_stations_is_read(
        writes in prop::collection::vec((offset(1024 * STATIONS), word()), 1..100),
    ) {
        let mut test_memory = TestMemory::new();
        let mad: Vec<_> = (1..STATIONS).map(|_| test_memory.born("mad")).collect();
        let sane = test_memory.born("sane");
        for (offset, word) in writes {
            test_memory.put_u64(offset, word);
        }
        sane.run();
        sane.suspend(Wait::unknown());
        let records = [test_memory.pass().1, test_memory.finish()].concat();
        let births = births_in(&records);
        let birth = births.iter().find(|birth| birth.probe_id == sane.id());
        let id = birth.expect("the sane coroutine is there").coroutine;
        let events = events_in(&records).into_iter().filter(|event| event.coroutine == id);
        let kinds: Vec<_> = events.map(|event| event.kind).collect();
        prop_assert_eq!(kinds, [Birth, Run, Suspend]);
        mad.into_iter().for_each(std::mem::forget);
    }
}

/// xorshift64 (Marsaglia), with words at which sums and bounds overflow.
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

/// A word outside the first station and the words that a reader checks only once.
fn next_place(seed: &mut u64, bytes: usize) -> usize {
    let places = bytes / 8 - (2 + 128);
    match next_word(seed) as usize % places {
        header @ ..126 => 2 + header,
        behind => 2 + 128 + behind,
    }
}

// CTP-28
#[test]
fn concurrent_damage_is_limited_to_the_station() {
    let mut test_memory = TestMemory::new();
    let sane = test_memory.born("sane");
    let mad: Vec<_> = (1..STATIONS).map(|_| test_memory.born("mad")).collect();
    let mut records = test_memory.pass().1;
    let (overwriter, bytes, is_over) = (
        test_memory.overwriter(),
        test_memory.bytes(),
        AtomicBool::new(false),
    );
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut seed = 88_172_645_463_325_252;
            while !is_over.load(Relaxed) {
                overwriter.put(next_place(&mut seed, bytes), next_word(&mut seed));
            }
        });
        for _ in 0..3000 {
            sane.run();
            records.extend(test_memory.pass().1);
        }
        is_over.store(true, Relaxed);
    });
    test_memory.put_u32(0x10, STATIONS as u32);
    records.extend(test_memory.finish());
    counts_match(&test_memory, &records);
    let id = births_in(&records)[0].coroutine;
    let of_sane: Vec<_> = events_in(&records)
        .into_iter()
        .filter(|event| event.coroutine == id)
        .collect();
    assert!(of_sane.is_sorted_by(|before, after| before.n < after.n && before.at < after.at));
    let tallies = tallies_in(&records);
    let event_counts = tallies
        .iter()
        .find(|event_counts| event_counts.coroutine == id);
    let event_counts = event_counts.expect("the sane coroutine has an account");
    // The header's words may exclude its events, but not without counting them.
    assert_eq!(
        (
            event_counts.attempted + event_counts.filtered,
            event_counts.recorded
        ),
        (3001, of_sane.len() as u64)
    );
    mad.into_iter().for_each(std::mem::forget);
}

/// The totals agree with the records: every event and coroutine is in both.
fn counts_match(test_memory: &TestMemory, records: &[Record]) {
    let totals = test_memory.totals();
    assert_eq!(events_in(records).len() as u64, totals.events);
    assert_eq!(births_in(records).len(), totals.coroutines as usize);
    assert_eq!(tallies_in(records).len(), totals.coroutines as usize);
}

// CTP-28
#[test]
fn made_up_sites_do_not_fill_the_recorders_memory() {
    let mut test_memory = TestMemory::new();
    let life = test_memory.born("one");
    let (mut sites, most) = (0, 1 << 17);
    for place in 1..=most / 8 + 10 {
        (0..8).for_each(|_| life.suspend(Wait::unknown()));
        for slot in 0..8 {
            test_memory.put_u64(1024 + 0x40 + 64 * slot + 0x20, (place * 8 + slot) as u64);
        }
        let records = test_memory.pass().1;
        sites += records
            .iter()
            .filter(|record| matches!(record, Record::Site(_)))
            .count();
    }
    assert_eq!(sites, most);
    assert!(test_memory.totals().unnamed > 0);
}

// CTP-28
#[test]
fn zeroed_station_is_still_read() {
    let mut test_memory = TestMemory::new();
    drop(test_memory.born("before"));
    let mut records = test_memory.pass().1;
    for word in 0..128 {
        test_memory.put_u64(1024 + word * 8, 0);
    }
    test_memory.put_u32(0x10, 0);
    drop(test_memory.born("after"));
    records.extend(test_memory.finish());
    let names: Vec<_> = births_in(&records)
        .into_iter()
        .map(|birth| birth.name)
        .collect();
    assert_eq!(names, ["before", "after"]);
    assert_eq!(events_in(&records).len(), 4);
}

// CTP-28
#[test]
fn head_far_ahead_of_the_events_does_not_delay_a_pass() {
    let mut test_memory = TestMemory::new();
    let _life = test_memory.born("one");
    test_memory.put_u64(1024 + 0x240, u64::MAX);
    for _ in 0..100 {
        test_memory.pass();
    }
    let records = test_memory.finish();
    let totals = test_memory.totals();
    assert_eq!((totals.events, totals.lost), (1, 0), "what the slots hold");
    assert_eq!(tallies_in(&records)[0].attempted, 1);
}

// CTP-29
#[test]
fn impossible_sequence_number_does_not_silence_the_station() {
    for far in [1 << 20, 1 << 50, u64::MAX - 1] {
        let mut test_memory = TestMemory::new();
        let life = test_memory.born("one");
        test_memory.pass();
        // The slot of event 1; its sequence number lies at 0x18.
        test_memory.put_u64(1024 + 0x40 + 64 + 0x18, far);
        test_memory.pass();
        for _ in 0..20 {
            life.run();
            test_memory.pass();
        }
        let records = test_memory.finish();
        let totals = test_memory.totals();
        assert_eq!((totals.events, totals.lost), (21, 0), "{far:#x}");
        assert_eq!(tallies_in(&records)[0].attempted, 21);
    }
}

// CTP-28
#[test]
fn event_with_a_future_time_is_left_out() {
    const YEAR: u64 = 365 * 24 * 3600 * 1_000_000_000;
    let mut test_memory = TestMemory::clocked(0, || YEAR);
    let task = test_memory.born("from tomorrow");
    task.run();
    // The time of event 1, in slot 1 of the first station.
    test_memory.put_u64(1024 + 0x40 + 64, 2 * YEAR);
    let events = test_memory.events();
    let kinds: Vec<_> = events.iter().map(|event| event.kind).collect();
    assert_eq!(kinds, [Birth]);
    assert_eq!(test_memory.totals().quarantined, 1);
    task.suspend(Wait::unknown());
    assert_eq!(test_memory.events().len(), 1, "the next event is read");
}

// CTP-28
#[test]
fn wake_with_a_future_time_does_not_date_the_recording() {
    const YEAR: u64 = 365 * 24 * 3600 * 1_000_000_000;
    let mut test_memory = TestMemory::clocked(0, || YEAR);
    let task = test_memory.born("woken tomorrow");
    task.waker().wake();
    // The time of the latest wake of the first station.
    test_memory.put_u64(1024 + 0x20, 2 * YEAR);
    let (_, records) = test_memory.pass();
    let wakes: Vec<_> = records
        .iter()
        .filter_map(|record| match record {
            Record::Wake(wake) => Some((wake.count, wake.at)),
            _ => None,
        })
        .collect();
    let latest = events_in(&records)[0].at;
    assert_eq!(wakes, [(1, latest)]);
    assert_eq!(test_memory.latest(), latest);
}

// CTP-28
#[test]
fn events_older_than_the_recording_make_the_account_inexact() {
    const YEAR: u64 = 365 * 24 * 3600 * 1_000_000_000;
    let mut test_memory = TestMemory::clocked(YEAR, || YEAR);
    let task = test_memory.born("by another clock");
    task.run();
    let records = test_memory.finish();
    assert_eq!(events_in(&records).len(), 2);
    assert!(tallies_in(&records)[0].inexact);
}
