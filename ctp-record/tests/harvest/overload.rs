//! Lanes that have more than a round takes, or than there is room for.

use std::sync::atomic::Ordering::Relaxed;

use ctp_nostd::create::Plan;
use ctp_nostd::lane::{DeedKind, Payload};
use ctp_nostd::slot::EventKind as StoredKind;
use ctp_nostd::{Platform, Probe, Region, Wait};
use ctp_record::backlog::Backlog;
use ctp_record::harvest::Harvest;
use ctp_record::pace::PassOutcome;
use ctp_trace::record::{Act, CoroutineId, Event, EventKind, Record};

use crate::desk::{Nowhere, Tray, events_in};
use crate::lanes::{LANELESS, NOW, Stage, cycles, enter, memory_of};

const A_MS: u64 = 1_000_000;

/// For three coroutines and as many threads.
fn memory(lane_records: u32) -> Region<'static> {
    memory_of(Plan {
        stations: 3,
        lanes: 3,
        lane_records,
        short_lanes: 0,
    })
}

/// A reader of it, and what that has told.
struct Reading {
    region: Region<'static>,
    harvest: Harvest,
    nowhere: Nowhere,
    tray: Tray,
}

impl Reading {
    fn of(region: Region<'static>, harvest: Harvest) -> Self {
        Reading {
            region,
            harvest,
            nowhere: Nowhere::default(),
            tray: Tray::default(),
        }
    }

    fn pass(&mut self) -> PassOutcome {
        let (nowhere, tray) = (&mut self.nowhere, &mut self.tray);
        self.harvest.pass(&self.region, nowhere, tray)
    }

    fn finish(&mut self) {
        let (nowhere, tray) = (&mut self.nowhere, &mut self.tray);
        self.harvest.finish(&self.region, nowhere, tray);
    }

    fn events_of(&self, coroutine: u32) -> Vec<Event> {
        let is_its = |it: &Event| it.coroutine == CoroutineId(coroutine);
        events_in(&self.tray.0).into_iter().filter(is_its).collect()
    }

    /// Which of a coroutine's events were told.
    fn numbers_of(&self, coroutine: u32) -> Vec<u64> {
        let events = self.events_of(coroutine).into_iter();
        events.map(|event| event.n).collect()
    }
}

// LT-05, LT-07
#[test]
fn nobody_waits_in_vain_for_what_there_was_no_room_to_copy() {
    const TEST: usize = 12;
    let region = memory(8192);
    let probe: Probe<Stage<TEST>> = Probe::new(region, 1);
    let (hot, long, task) = (probe.born("hot"), probe.born("long"), probe.born("task"));
    enter(TEST, 2);
    cycles(&long, 2_000);
    cycles(&task, 10);
    enter(TEST, 3);
    cycles(&task, 10);
    enter(TEST, 1);
    cycles(&hot, 4_000);
    let harvest = Harvest::new(0).within(Backlog::of(1 << 15));
    let mut reading = Reading::of(region, harvest);
    for _ in 0..8 {
        reading.pass();
    }
    reading.finish();
    assert_eq!(reading.numbers_of(3), (0..=40).collect::<Vec<u64>>());
    assert_eq!(reading.harvest.totals().lost, 0);
}

// LT-05, LT-07
#[test]
fn what_is_in_no_lane_holds_up_nobody_while_another_lane_is_flat_out() {
    const TEST: usize = 17;
    let region = memory(1 << 15);
    let probe: Probe<Stage<TEST>> = Probe::new(region, 1);
    let (task, hot) = (probe.born("task"), probe.born("hot"));
    enter(TEST, LANELESS);
    cycles(&task, 10);
    enter(TEST, 1);
    cycles(&task, 3);
    enter(TEST, 2);
    NOW[TEST].store(A_MS, Relaxed);
    cycles(&hot, 12_000);
    let mut reading = Reading::of(region, Harvest::new(0));
    reading.pass();
    let found = reading.pass();
    assert!(found.is_cut_short, "hot has more");
    let of_the_task = reading.numbers_of(1);
    assert_eq!(
        of_the_task[of_the_task.len() - 6..],
        [21, 22, 23, 24, 25, 26]
    );
    reading.finish();
    assert_eq!(reading.numbers_of(1), of_the_task);
    assert_eq!(reading.numbers_of(2), (0..=24_000).collect::<Vec<u64>>());
}

// CT-15, LT-05
#[test]
fn a_wake_is_told_before_the_end_of_whom_it_woke_also_where_something_is_in_no_lane() {
    const TEST: usize = 19;
    let region = memory(128);
    let probe: Probe<Stage<TEST>> = Probe::new(region, 1);
    let (other, task) = (probe.born("other"), probe.born("task"));
    enter(TEST, LANELESS);
    cycles(&other, 10);
    enter(TEST, 1);
    cycles(&other, 1);
    let wake = Payload {
        kind: DeedKind::Wake as u8,
        station: 1,
        uses: 1,
        n: 1,
        ..Payload::default()
    };
    let ring = region.ring(0).expect("thread 1 has it");
    let (at_ns, place) = ring.reserve(Stage::<TEST>::now_ns);
    place.expect("there is room").commit(at_ns, wake);
    enter(TEST, 2);
    NOW[TEST].store(A_MS, Relaxed);
    drop(task);
    let mut reading = Reading::of(region, Harvest::new(0));
    for _ in 0..3 {
        reading.pass();
    }
    let place = |is_it: fn(&Record) -> bool| reading.tray.0.iter().position(is_it);
    let wake = place(|it| matches!(it, Record::Deed(it) if matches!(it.act, Act::Wake(_))));
    let death = place(|it| matches!(it, Record::Event(it) if it.kind == EventKind::Death));
    assert!(wake.is_some() && wake < death, "{wake:?} {death:?}");
}

// CTP-08, LT-05
#[test]
fn what_comes_into_another_lane_after_that_was_looked_at_is_waited_for() {
    const TEST: usize = 20;
    let region = memory(128);
    let probe: Probe<Stage<TEST>> = Probe::new(region, 1);
    let (_task, other) = (probe.born("task"), probe.born("other"));
    enter(TEST, 2);
    cycles(&other, 1);
    let event = |n: u64| Payload {
        kind: StoredKind::Run as u8,
        uses: 1,
        n,
        ..Payload::default()
    };
    let [first, second] = [0, 1].map(|lane| {
        let ring = region.ring(lane).expect("both have one");
        let (at_ns, place) = ring.reserve(Stage::<TEST>::now_ns);
        (at_ns, place.expect("there is room"))
    });
    let mut reading = Reading::of(region, Harvest::new(0));
    second.1.commit(second.0, event(2));
    reading.pass();
    first.1.commit(first.0, event(1));
    reading.pass();
    assert_eq!(reading.numbers_of(1), [0, 1, 2]);
}

// CTP-08, LT-05
#[test]
fn of_two_events_at_one_time_the_earlier_one_is_told_first() {
    const TEST: usize = 18;
    let region = memory(1 << 14);
    let probe: Probe<Stage<TEST>> = Probe::new(region, 1);
    let (task, hot) = (probe.born("task"), probe.born("hot"));
    enter(TEST, 2);
    cycles(&hot, 1);
    enter(TEST, 1);
    // So much that what comes behind it waits for the next round.
    cycles(&hot, 5_000);
    let at_one_time = |thread: usize| {
        enter(TEST, thread);
        NOW[TEST].store(A_MS, Relaxed);
    };
    at_one_time(2);
    task.run();
    at_one_time(1);
    task.suspend(Wait::unknown());
    cycles(&task, 10);
    let mut reading = Reading::of(region, Harvest::new(0));
    reading.pass();
    reading.finish();
    assert_eq!(reading.numbers_of(1), (0..=22).collect::<Vec<u64>>());
    let its = reading.events_of(1);
    assert_eq!(its[1].at, its[2].at);
    assert_eq!(reading.harvest.totals().lost, 0);
}
