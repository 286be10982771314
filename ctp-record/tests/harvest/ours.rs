//! Stations of our probe.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;

use ctp_nostd::{Coroutine, Wait};
use ctp_trace::record::EventKind::{Birth, Death, Run, Suspend};
use ctp_trace::record::Record;
use proptest::prelude::*;

use crate::desk::{Bare, Desk, births_in, events_in, tallies_in};

/// Offset of the first station; one is as long as the header.
const STATION: usize = 1024;
const SLOTS: usize = STATION + 0x40;

fn steps(coroutine: &Coroutine<Bare>, count: usize) {
    for step in 0..count {
        match step % 2 {
            0 => coroutine.run(),
            _ => coroutine.suspend(Wait::unknown()),
        }
    }
}

#[test]
fn memory_in_which_nothing_is_new_gives_no_records() {
    let mut desk = Desk::new();
    assert_eq!(desk.pass().1, []);
    let coroutine = desk.born("one");
    coroutine.run();
    assert!(!desk.pass().1.is_empty());
    let (found, records) = desk.pass();
    assert_eq!((found.events, records), (0, vec![]));
}

// CTP-20, CTP-21
#[test]
fn a_life_is_read_as_it_was_lived() {
    let mut desk = Desk::new();
    let coroutine = desk.born("one");
    let (_, records) = desk.pass();
    let births = births_in(&records);
    assert_eq!((births.len(), births[0].name.as_str()), (1, "one"));
    assert_eq!(births[0].probe_id, coroutine.id());
    coroutine.run();
    coroutine.suspend(Wait::readable(17));
    drop(coroutine);
    let life = [events_in(&records), desk.events()].concat();
    let kinds: Vec<_> = life.iter().map(|event| event.kind).collect();
    assert_eq!(kinds, [Birth, Run, Suspend, Death]);
    assert_eq!(life[2].arg, 17);
    assert!(life.windows(2).all(|pair| pair[0].at < pair[1].at));
}

// CT-15
#[test]
fn a_run_and_its_suspend_tell_the_wakes_that_it_knew_of() {
    let mut desk = Desk::new();
    let coroutine = desk.born("one");
    steps(&coroutine, 2);
    coroutine.waker().wake();
    coroutine.waker().wake();
    coroutine.run();
    coroutine.waker().wake();
    coroutine.suspend(Wait::unknown());
    let seen: Vec<u16> = desk.events().iter().map(|it| it.wake_seen).collect();
    assert_eq!(seen, [0, 0, 0, 2, 2]);
}

// CT-15
#[test]
fn a_wake_is_the_latest_of_what_happened_but_no_event() {
    let mut desk = Desk::new();
    let coroutine = desk.born("one");
    steps(&coroutine, 2);
    let events = desk.events();
    let suspended = events[2].at;
    assert_eq!((desk.told(), desk.latest()), (suspended, suspended));
    coroutine.waker().wake();
    desk.finish();
    assert_eq!(desk.told(), suspended);
    assert!(suspended < desk.latest());
}

// CTP-11
#[test]
fn what_is_overwritten_is_counted_and_what_is_left_is_read() {
    let mut desk = Desk::new();
    let coroutine = desk.born("one");
    steps(&coroutine, 99);
    let (found, records) = desk.pass();
    let ns: Vec<u64> = events_in(&records).iter().map(|event| event.n).collect();
    assert_eq!(ns, [92, 93, 94, 95, 96, 97, 98, 99]);
    assert!(found.lost);
    assert_eq!((desk.totals().events, desk.totals().lost), (8, 92));
    let tally = tallies_in(&desk.finish())[0];
    assert_eq!((tally.attempted, tally.recorded), (100, 8));
    assert_eq!((tally.torn, tally.inexact), (None, false));
}

// CTP-09, CTP-19
#[test]
fn a_slot_whose_writer_died_in_the_middle_is_told_and_not_decoded() {
    let mut desk = Desk::new();
    let coroutine = desk.born("one");
    steps(&coroutine, 10);
    // Event 11 goes to slot 3, which holds event 3: its number becomes odd.
    desk.put_u64(SLOTS + 3 * 64 + 0x18, 3);
    let records = desk.finish();
    let ns: Vec<u64> = events_in(&records).iter().map(|event| event.n).collect();
    assert_eq!(ns, [4, 5, 6, 7, 8, 9, 10]);
    let tally = tallies_in(&records)[0];
    assert_eq!((tally.attempted, tally.recorded), (11, 7));
    assert_eq!(tally.torn, Some(11));
}

// CTP-09
#[test]
fn a_slot_that_is_being_written_is_read_in_a_later_pass() {
    let mut desk = Desk::new();
    let coroutine = desk.born("one");
    steps(&coroutine, 2);
    let seq = SLOTS + 2 * 64 + 0x18;
    desk.put_u64(seq, 1);
    assert_eq!(desk.events().len(), 2);
    assert_eq!(desk.events().len(), 0);
    desk.put_u64(seq, 2);
    assert_eq!(desk.events().len(), 1);
    assert_eq!(desk.totals().lost, 0);
}

#[test]
fn an_event_that_cannot_be_one_is_left_out_and_counted() {
    let mut desk = Desk::new();
    let coroutine = desk.born("one");
    steps(&coroutine, 3);
    desk.put_u8(SLOTS + 64 + 0x38, 77);
    desk.put_u64(SLOTS + 2 * 64, 0);
    let ns: Vec<u64> = desk.events().iter().map(|event| event.n).collect();
    assert_eq!(ns, [0, 3]);
    let totals = desk.totals();
    assert_eq!((totals.quarantined, totals.lost), (2, 2));
    let tally = tallies_in(&desk.finish())[0];
    assert_eq!((tally.attempted, tally.recorded), (4, 2));
    assert_eq!(desk.totals().lost, 2, "counted once");
}

// CTP-09
#[test]
fn a_coroutine_that_never_pauses_does_not_keep_a_pass_from_the_others() {
    let mut desk = Desk::new();
    let hot = desk.born("hot");
    let calm: Vec<_> = (0..5).map(|_| desk.born("calm")).collect();
    desk.pass();
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
            desk.pass();
        }
        for coroutine in &calm {
            coroutine.suspend(Wait::unknown());
        }
        let (_, records) = desk.pass();
        over.store(true, Relaxed);
        let of_the_calm = events_in(&records);
        let suspends = of_the_calm.iter().filter(|event| event.coroutine.0 > 1);
        assert_eq!(suspends.count(), 5);
    });
    desk.finish();
    assert_eq!(desk.totals().quarantined, 0);
}

// CTP-08, CTP-11
#[test]
fn a_live_writer_is_read_in_order_and_accounted_for() {
    let mut desk = Desk::new();
    let hot = desk.born("hot");
    const STEPS: usize = 200_000;
    let mut events = Vec::new();
    thread::scope(|scope| {
        let writer = scope.spawn(move || {
            steps(&hot, STEPS);
            std::mem::forget(hot);
        });
        while !writer.is_finished() {
            events.extend(desk.events());
        }
    });
    let records = desk.finish();
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
    let tally = tallies_in(&records)[0];
    assert_eq!(tally.attempted, STEPS as u64 + 1);
    assert_eq!(tally.recorded, events.len() as u64);
    assert_eq!(desk.totals().lost + desk.totals().events, tally.attempted);
}

// CTP-05
#[test]
fn a_station_that_somebody_is_moving_into_is_waited_for() {
    let mut desk = Desk::new();
    desk.put_u32(0x10, 1);
    desk.put_u32(STATION + 0x14, 1);
    assert_eq!(desk.pass().1, []);
    assert_eq!(desk.finish(), []);
    let second = desk.born("second");
    assert_eq!(births_in(&desk.pass().1)[0].probe_id, second.id());
}

// CTP-05, CTP-24
#[test]
fn no_number_is_given_twice_and_who_finds_none_is_refused_once() {
    let mut desk = Desk::after(u32::MAX - 2, 0);
    let coroutines: Vec<_> = (0..4).map(|_| desk.born("one of the last")).collect();
    let births = births_in(&desk.pass().1);
    let ids: Vec<_> = births.iter().map(|birth| birth.coroutine.0).collect();
    assert_eq!(ids, [u32::MAX - 1, u32::MAX]);
    for coroutine in &coroutines {
        steps(coroutine, 3);
    }
    let events = desk.events();
    assert!(events.iter().all(|event| ids.contains(&event.coroutine.0)));
    assert_eq!(events.len(), 6);
    drop(coroutines);
    assert_eq!(tallies_in(&desk.finish()).len(), 2);
    let totals = desk.totals();
    assert_eq!((totals.coroutines, totals.refused), (2, 2));
}

#[test]
fn a_place_for_which_there_is_no_number_is_unknown() {
    let mut desk = Desk::after(0, u32::MAX - 1);
    let coroutine = desk.born("at several places");
    coroutine.suspend(Wait::user(0));
    coroutine.suspend(Wait::user(1));
    let records = desk.pass().1;
    let is_site = |record: &&Record| matches!(record, Record::Site(_));
    assert_eq!(records.iter().filter(is_site).count(), 1);
    let sites = events_in(&records).into_iter().map(|event| event.site.0);
    assert!(sites.clone().all(|site| [0, u32::MAX].contains(&site)));
    assert!(sites.clone().any(|site| site == 0), "of those that wait");
    assert!(desk.totals().unnamed > 0);
}

proptest! {
    // CTP-11
    #[test]
    fn each_pass_reads_the_last_eight_at_most_and_counts_the_rest(
        bursts in prop::collection::vec((0..3_usize, 0..20_usize, any::<bool>()), 1..60),
    ) {
        let mut desk = Desk::new();
        let coroutines: Vec<_> = (0..3).map(|_| desk.born("one of three")).collect();
        // Of each: events that it had, events that were seen or are gone, events read.
        let mut accounts = [(1_u64, 0_u64, 0_u64); 3];
        for (which, count, is_read) in bursts {
            steps(&coroutines[which], count);
            accounts[which].0 += count as u64;
            if !is_read {
                continue;
            }
            let events = desk.events();
            for (index, (head, next, read)) in accounts.iter_mut().enumerate() {
                let mine = events.iter().filter(|event| event.coroutine.0 as usize == index + 1);
                let ns: Vec<u64> = mine.map(|event| event.n).collect();
                let expected: Vec<u64> = ((*next).max(head.saturating_sub(8))..*head).collect();
                prop_assert_eq!(&ns, &expected);
                *read += ns.len() as u64;
                *next = *head;
            }
        }
        let records = desk.finish();
        let late = events_in(&records).len() as u64;
        let tallies = tallies_in(&records);
        prop_assert_eq!(tallies.len(), 3);
        for (tally, (head, ..)) in tallies.iter().zip(accounts) {
            prop_assert_eq!(tally.attempted, head);
        }
        let recorded: u64 = tallies.iter().map(|tally| tally.recorded).sum();
        let read: u64 = accounts.iter().map(|(_, _, read)| read).sum();
        let attempted: u64 = tallies.iter().map(|tally| tally.attempted).sum();
        prop_assert_eq!(recorded, read + late);
        prop_assert_eq!(desk.totals().events, recorded);
        prop_assert_eq!(desk.totals().lost, attempted - recorded);
    }
}
