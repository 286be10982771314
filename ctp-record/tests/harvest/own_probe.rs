//! Stations of this project's probe.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;

use ctp_nostd::{Coroutine, Wait};
use ctp_trace::record::EventKind::{Birth, Death, Run, Suspend};
use ctp_trace::record::Record;
use proptest::prelude::*;

use crate::test_memory::{Bare, TestMemory, births_in, events_in, tallies_in};

/// Offset of the first station. A station is as long as the header.
const STATION: usize = 1024;
const SLOTS: usize = STATION + 0x40;

fn steps(coroutine: &Coroutine<Bare>, count: usize) {
    for step in 0..count {
        if step % 2 == 0 {
            coroutine.run();
        } else {
            coroutine.suspend(Wait::unknown());
        }
    }
}

#[test]
fn unchanged_memory_gives_no_records() {
    let mut test_memory = TestMemory::new();
    assert_eq!(test_memory.pass().1, []);
    let coroutine = test_memory.born("one");
    coroutine.run();
    assert!(!test_memory.pass().1.is_empty());
    let (found, records) = test_memory.pass();
    assert_eq!((found.events, records), (0, vec![]));
}

// CTP-20, CTP-21
#[test]
fn all_events_of_a_coroutine_are_read_in_order() {
    let mut test_memory = TestMemory::new();
    let coroutine = test_memory.born("one");
    let (_, records) = test_memory.pass();
    let births = births_in(&records);
    assert_eq!((births.len(), births[0].name.as_str()), (1, "one"));
    assert_eq!(births[0].probe_id, coroutine.id());
    coroutine.run();
    coroutine.suspend(Wait::readable(17));
    drop(coroutine);
    let life = [events_in(&records), test_memory.events()].concat();
    let kinds: Vec<_> = life.iter().map(|event| event.kind).collect();
    assert_eq!(kinds, [Birth, Run, Suspend, Death]);
    assert_eq!(life[2].arg, 17);
    assert!(life.windows(2).all(|pair| pair[0].at < pair[1].at));
}

// CTP-21
#[test]
fn only_coroutines_that_ended_in_a_run_are_finished() {
    let mut test_memory = TestMemory::new();
    let finished = |test_memory: &mut TestMemory| {
        test_memory.pass();
        test_memory.totals().finished
    };
    let [ended, dropped, never_run, lives] =
        ["ended", "dropped", "never run", "lives"].map(|name| test_memory.born(name));
    steps(&ended, 3);
    steps(&dropped, 4);
    steps(&lives, 3);
    assert_eq!(finished(&mut test_memory), 0);
    drop(dropped);
    drop(never_run);
    assert_eq!(finished(&mut test_memory), 0);
    drop(ended);
    assert_eq!(finished(&mut test_memory), 1);
    test_memory.finish();
    assert_eq!(test_memory.totals().finished, 1);
}

// CT-15
#[test]
fn run_and_suspend_state_the_wakes_that_the_run_had_seen() {
    let mut test_memory = TestMemory::new();
    let coroutine = test_memory.born("one");
    steps(&coroutine, 2);
    coroutine.waker().wake();
    coroutine.waker().wake();
    coroutine.run();
    coroutine.waker().wake();
    coroutine.suspend(Wait::unknown());
    let seen: Vec<u16> = test_memory
        .events()
        .iter()
        .map(|event| event.wake_seen)
        .collect();
    assert_eq!(seen, [0, 0, 0, 2, 2]);
}

// CT-15
#[test]
fn wake_counts_as_latest_record_but_not_as_event() {
    let mut test_memory = TestMemory::new();
    let coroutine = test_memory.born("one");
    steps(&coroutine, 2);
    let events = test_memory.events();
    let suspended = events[2].at;
    assert_eq!(
        (test_memory.latest_event(), test_memory.latest()),
        (suspended, suspended)
    );
    coroutine.waker().wake();
    test_memory.finish();
    assert_eq!(test_memory.latest_event(), suspended);
    assert!(suspended < test_memory.latest());
}

// CTP-11
#[test]
fn overwritten_events_are_counted_and_the_rest_is_read() {
    let mut test_memory = TestMemory::new();
    let coroutine = test_memory.born("one");
    steps(&coroutine, 99);
    let (found, records) = test_memory.pass();
    let ns: Vec<u64> = events_in(&records).iter().map(|event| event.n).collect();
    assert_eq!(ns, [92, 93, 94, 95, 96, 97, 98, 99]);
    assert!(found.has_lost);
    assert_eq!(
        (test_memory.totals().events, test_memory.totals().lost),
        (8, 92)
    );
    let event_counts = tallies_in(&test_memory.finish())[0];
    assert_eq!((event_counts.attempted, event_counts.recorded), (100, 8));
    assert_eq!((event_counts.torn, event_counts.inexact), (None, false));
}

// CTP-09, CTP-19
#[test]
fn slot_of_a_dead_writer_is_reported_as_torn_and_not_decoded() {
    let mut test_memory = TestMemory::new();
    let coroutine = test_memory.born("one");
    steps(&coroutine, 10);
    // Event 11 goes to slot 3, which holds event 3: its number becomes odd.
    test_memory.put_u64(SLOTS + 3 * 64 + 0x18, 3);
    let records = test_memory.finish();
    let ns: Vec<u64> = events_in(&records).iter().map(|event| event.n).collect();
    assert_eq!(ns, [4, 5, 6, 7, 8, 9, 10]);
    let event_counts = tallies_in(&records)[0];
    assert_eq!((event_counts.attempted, event_counts.recorded), (11, 7));
    assert_eq!(event_counts.torn, Some(11));
}

// CTP-09
#[test]
fn slot_in_the_middle_of_a_write_is_read_in_a_later_pass() {
    let mut test_memory = TestMemory::new();
    let coroutine = test_memory.born("one");
    steps(&coroutine, 2);
    let seq = SLOTS + 2 * 64 + 0x18;
    test_memory.put_u64(seq, 1);
    assert_eq!(test_memory.events().len(), 2);
    assert_eq!(test_memory.events().len(), 0);
    test_memory.put_u64(seq, 2);
    assert_eq!(test_memory.events().len(), 1);
    assert_eq!(test_memory.totals().lost, 0);
}

#[test]
fn impossible_event_is_left_out_and_counted() {
    let mut test_memory = TestMemory::new();
    let coroutine = test_memory.born("one");
    steps(&coroutine, 3);
    test_memory.put_u8(SLOTS + 64 + 0x38, 77);
    test_memory.put_u64(SLOTS + 2 * 64, 0);
    let ns: Vec<u64> = test_memory.events().iter().map(|event| event.n).collect();
    assert_eq!(ns, [0, 3]);
    let totals = test_memory.totals();
    assert_eq!((totals.quarantined, totals.lost), (2, 2));
    let event_counts = tallies_in(&test_memory.finish())[0];
    assert_eq!((event_counts.attempted, event_counts.recorded), (4, 2));
    assert_eq!(test_memory.totals().lost, 2, "counted once");
}

// CTP-09
#[test]
fn busy_coroutine_does_not_delay_the_others() {
    let mut test_memory = TestMemory::new();
    let hot = test_memory.born("hot");
    let calm: Vec<_> = (0..5).map(|_| test_memory.born("calm")).collect();
    test_memory.pass();
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let over = &over;
        scope.spawn(move || {
            while !over.load(Relaxed) {
                steps(&hot, 2);
            }
        });
        for coroutine in &calm {
            coroutine.run();
        }
        for _ in 0..1000 {
            test_memory.pass();
        }
        for coroutine in &calm {
            coroutine.suspend(Wait::unknown());
        }
        let (_, records) = test_memory.pass();
        over.store(true, Relaxed);
        let of_the_calm = events_in(&records);
        let suspends = of_the_calm.iter().filter(|event| event.coroutine.0 > 1);
        assert_eq!(suspends.count(), 5);
    });
    test_memory.finish();
    assert_eq!(test_memory.totals().quarantined, 0);
}

// CTP-08, CTP-11
#[test]
fn live_writer_is_read_in_order_and_accounted_for() {
    let mut test_memory = TestMemory::new();
    let hot = test_memory.born("hot");
    const STEPS: usize = 200_000;
    let mut events = Vec::new();
    thread::scope(|scope| {
        let writer = scope.spawn(move || {
            steps(&hot, STEPS);
            std::mem::forget(hot);
        });
        while !writer.is_finished() {
            events.extend(test_memory.events());
        }
    });
    let records = test_memory.finish();
    events.extend(events_in(&records));
    assert!(events.windows(2).all(|pair| pair[0].n < pair[1].n));
    assert!(events.windows(2).all(|pair| pair[0].at < pair[1].at));
    let of_turn = |n: u64| if n % 2 == 1 { Run } else { Suspend };
    assert!(
        events
            .iter()
            .skip(1)
            .all(|event| event.kind == of_turn(event.n))
    );
    let event_counts = tallies_in(&records)[0];
    assert_eq!(event_counts.attempted, STEPS as u64 + 1);
    assert_eq!(event_counts.recorded, events.len() as u64);
    assert_eq!(
        test_memory.totals().lost + test_memory.totals().events,
        event_counts.attempted
    );
}

// CTP-05
#[test]
fn station_that_is_being_filled_in_is_waited_for() {
    let mut test_memory = TestMemory::new();
    test_memory.put_u32(0x10, 1);
    test_memory.put_u32(STATION + 0x14, 1);
    assert_eq!(test_memory.pass().1, []);
    assert_eq!(test_memory.finish(), []);
    let second = test_memory.born("second");
    assert_eq!(births_in(&test_memory.pass().1)[0].probe_id, second.id());
}

// CTP-05, CTP-24
#[test]
fn numbers_are_unique_and_coroutines_without_are_refused_once() {
    let mut test_memory = TestMemory::after(u32::MAX - 2, 0);
    let coroutines: Vec<_> = (0..4)
        .map(|_| test_memory.born("one of the last"))
        .collect();
    let births = births_in(&test_memory.pass().1);
    let ids: Vec<_> = births.iter().map(|birth| birth.coroutine.0).collect();
    assert_eq!(ids, [u32::MAX - 1, u32::MAX]);
    for coroutine in &coroutines {
        steps(coroutine, 3);
    }
    let events = test_memory.events();
    assert!(events.iter().all(|event| ids.contains(&event.coroutine.0)));
    assert_eq!(events.len(), 6);
    drop(coroutines);
    assert_eq!(tallies_in(&test_memory.finish()).len(), 2);
    let totals = test_memory.totals();
    assert_eq!((totals.coroutines, totals.refused), (2, 2));
}

#[test]
fn site_without_a_number_is_unknown() {
    let mut test_memory = TestMemory::after(0, u32::MAX - 1);
    let coroutine = test_memory.born("at several places");
    coroutine.suspend(Wait::user(0));
    coroutine.suspend(Wait::user(1));
    let records = test_memory.pass().1;
    let is_site = |record: &&Record| matches!(record, Record::Site(_));
    assert_eq!(records.iter().filter(is_site).count(), 1);
    let sites = events_in(&records).into_iter().map(|event| event.site.0);
    assert!(sites.clone().all(|site| [0, u32::MAX].contains(&site)));
    assert!(sites.clone().any(|site| site == 0), "a wait has no site");
    assert!(test_memory.totals().unnamed > 0);
}

proptest! {
    // CTP-11
    #[test]
    fn each_pass_reads_at_most_the_last_eight_and_counts_the_rest(
        bursts in prop::collection::vec((0..3_usize, 0..20_usize, any::<bool>()), 1..60),
    ) {
        let mut test_memory = TestMemory::new();
        let coroutines: Vec<_> = (0..3).map(|_| test_memory.born("one of three")).collect();
        // For each coroutine: events attempted, events read or lost, events read.
        let mut accounts = [(1_u64, 0_u64, 0_u64); 3];
        for (which, count, is_read) in bursts {
            steps(&coroutines[which], count);
            accounts[which].0 += count as u64;
            if !is_read {
                continue;
            }
            let events = test_memory.events();
            for (index, (head, next, read)) in accounts.iter_mut().enumerate() {
                let mine = events.iter().filter(|event| event.coroutine.0 as usize == index + 1);
                let ns: Vec<u64> = mine.map(|event| event.n).collect();
                let expected: Vec<u64> = ((*next).max(head.saturating_sub(8))..*head).collect();
                prop_assert_eq!(&ns, &expected);
                *read += ns.len() as u64;
                *next = *head;
            }
        }
        let records = test_memory.finish();
        let late = events_in(&records).len() as u64;
        let tallies = tallies_in(&records);
        prop_assert_eq!(tallies.len(), 3);
        for (event_counts, (head, ..)) in tallies.iter().zip(accounts) {
            prop_assert_eq!(event_counts.attempted, head);
        }
        let recorded: u64 = tallies.iter().map(|event_counts| event_counts.recorded).sum();
        let read: u64 = accounts.iter().map(|(_, _, read)| read).sum();
        let attempted: u64 = tallies.iter().map(|event_counts| event_counts.attempted).sum();
        prop_assert_eq!(recorded, read + late);
        prop_assert_eq!(test_memory.totals().events, recorded);
        prop_assert_eq!(test_memory.totals().lost, attempted - recorded);
    }
}
