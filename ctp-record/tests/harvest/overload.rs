//! Lanes that have more than a round takes, or than there is room for.

use std::sync::atomic::Ordering::Relaxed;

use ctp_nostd::create::Plan;
use ctp_nostd::{Probe, Wait};
use ctp_record::backlog::Backlog;
use ctp_record::harvest::Harvest;
use ctp_trace::record::{CoroutineId, Event};

use crate::desk::{Nowhere, Tray, events_in};
use crate::lanes::{LANELESS, NOW, Stage, cycles, enter, memory_of};

const A_MS: u64 = 1_000_000;

/// Which of a coroutine's events were told.
fn numbers_of(coroutine: u32, tray: &Tray) -> Vec<u64> {
    let is_its = |it: &Event| it.coroutine == CoroutineId(coroutine);
    let events = events_in(&tray.0).into_iter();
    events.filter(is_its).map(|event| event.n).collect()
}

// LT-05, LT-07
#[test]
fn nobody_waits_in_vain_for_what_there_was_no_room_to_copy() {
    const TEST: usize = 12;
    let region = memory_of(Plan {
        stations: 3,
        lanes: 3,
        lane_records: 8192,
        short_lanes: 0,
    });
    let probe: Probe<Stage<TEST>> = Probe::new(region, 1);
    let (hot, long, task) = (probe.born("hot"), probe.born("long"), probe.born("task"));
    enter(TEST, 2);
    cycles(&long, 2_000);
    cycles(&task, 10);
    enter(TEST, 3);
    cycles(&task, 10);
    enter(TEST, 1);
    cycles(&hot, 4_000);
    let (mut nowhere, mut tray) = (Nowhere::default(), Tray::default());
    let mut harvest = Harvest::new(0).within(Backlog::of(1 << 15));
    for _ in 0..8 {
        harvest.pass(&region, &mut nowhere, &mut tray);
    }
    harvest.finish(&region, &mut nowhere, &mut tray);
    assert_eq!(numbers_of(3, &tray), (0..=40).collect::<Vec<u64>>());
    assert_eq!(harvest.totals().lost, 0);
}

// LT-05, LT-07
#[test]
fn what_is_in_no_lane_holds_up_nobody_while_another_lane_is_flat_out() {
    const TEST: usize = 17;
    let region = memory_of(Plan {
        stations: 2,
        lanes: 2,
        lane_records: 1 << 15,
        short_lanes: 0,
    });
    let probe: Probe<Stage<TEST>> = Probe::new(region, 1);
    let (task, hot) = (probe.born("task"), probe.born("hot"));
    enter(TEST, LANELESS);
    cycles(&task, 10);
    enter(TEST, 1);
    cycles(&task, 3);
    enter(TEST, 2);
    NOW[TEST].store(A_MS, Relaxed);
    cycles(&hot, 12_000);
    let (mut nowhere, mut tray) = (Nowhere::default(), Tray::default());
    let mut harvest = Harvest::new(0);
    let found = [(); 2].map(|()| harvest.pass(&region, &mut nowhere, &mut tray));
    assert!(found.iter().all(|found| found.is_cut_short), "hot has more");
    let of_the_task = numbers_of(1, &tray);
    assert_eq!(
        of_the_task[of_the_task.len() - 6..],
        [21, 22, 23, 24, 25, 26]
    );
    harvest.finish(&region, &mut nowhere, &mut tray);
    assert_eq!(numbers_of(1, &tray), of_the_task);
    assert_eq!(numbers_of(2, &tray), (0..=24_000).collect::<Vec<u64>>());
}

// CTP-08, LT-05
#[test]
fn the_clocks_of_two_processors_may_be_apart_by_a_little() {
    const TEST: usize = 18;
    let region = memory_of(Plan {
        stations: 2,
        lanes: 3,
        lane_records: 1 << 14,
        short_lanes: 0,
    });
    let probe: Probe<Stage<TEST>> = Probe::new(region, 1);
    let (task, hot) = (probe.born("task"), probe.born("hot"));
    // So much that the rest waits for the round after the next one.
    cycles(&hot, 5_000);
    let then = NOW[TEST].load(Relaxed);
    let step = |thread: usize, later: u64| {
        enter(TEST, thread);
        NOW[TEST].store(then + later, Relaxed);
    };
    step(1, 1_000);
    task.run();
    step(2, 500);
    task.suspend(Wait::unknown());
    step(1, 2_000);
    cycles(&task, 10);
    let (mut nowhere, mut tray) = (Nowhere::default(), Tray::default());
    let mut harvest = Harvest::new(0);
    harvest.pass(&region, &mut nowhere, &mut tray);
    harvest.finish(&region, &mut nowhere, &mut tray);
    assert_eq!(numbers_of(1, &tray), (0..=22).collect::<Vec<u64>>());
    assert_eq!(harvest.totals().lost, 0);
}
