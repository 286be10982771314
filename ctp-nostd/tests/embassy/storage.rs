//! Tasks that end, and the storage of a task that is used again.

use ctp_nostd::Embassy;

use super::{BIRTH, DEATH, EXECUTOR, RUN, SUSPEND, board, dump, events_from, kinds, name_of};

/// An executor in an interrupt handler.
const INTERRUPT: u32 = 0x2000_0020;

/// Spawns a task, which ends in its first poll.
fn run_once<P: ctp_nostd::Platform, const STATIONS: usize>(
    memory: &'static Embassy<P, STATIONS>,
    task: u32,
) {
    memory.task_new(task);
    memory.task_exec_begin(EXECUTOR, task);
    memory.task_end(EXECUTOR, task);
    memory.task_exec_end(EXECUTOR, task);
}

board!(Pool, 11);
static POOL: Embassy<Pool, 2> = Embassy::new();

// CTP-24, LT-27
#[test]
fn reused_storage_keeps_the_station() {
    let region = dump(&POOL);
    POOL.name(7, "session");
    for uses in 1..5 {
        run_once(&POOL, 7);
        let station = &region.stations[0];
        let identity = station.identity().expect("no coroutine is moving in");
        assert_eq!(identity.generation, 2 * uses);
        assert_eq!(kinds(station), [BIRTH, RUN, DEATH]);
        let (name, _) = name_of(&region, station).expect("it has a name");
        assert_eq!(name.as_str(), "session");
    }
    assert_eq!(region.allocated().len(), 1);
    // Wakes and polls of a task that has ended are no events.
    POOL.task_ready_begin(7);
    POOL.task_exec_begin(EXECUTOR, 7);
    POOL.task_exec_end(EXECUTOR, 7);
    assert_eq!(kinds(&region.stations[0]), [BIRTH, RUN, DEATH]);
}

board!(Few, 12);
static FEW: Embassy<Few, 2> = Embassy::new();

// CTP-05, LT-27
#[test]
fn ended_tasks_give_way_and_living_tasks_do_not() {
    let region = dump(&FEW);
    FEW.task_new(1);
    (2..9).for_each(|task| run_once(&FEW, task));
    assert_eq!(region.header.counters().refused, 0);
    assert_eq!(kinds(&region.stations[0]), [BIRTH]);
    FEW.task_new(9);
    run_once(&FEW, 10);
    assert_eq!(region.header.counters().refused, 1);
    FEW.task_exec_begin(EXECUTOR, 9);
    assert_eq!(kinds(&region.stations[1]), [BIRTH, RUN]);
}

board!(Early, 13);
static EARLY: Embassy<Early, 2> = Embassy::new();

// LT-27
#[test]
fn next_task_may_begin_before_the_end_is_reported() {
    let region = dump(&EARLY);
    EARLY.task_new(7);
    EARLY.task_exec_begin(EXECUTOR, 7);
    let station = &region.stations[0];
    let head = station.event_head();
    // The storage is free. An interrupt handler spawns the next task in it, and polls it.
    EARLY.task_new(7);
    let ends: Vec<u8> = events_from(station, head)
        .iter()
        .map(|epoch| epoch.tail.kind)
        .collect();
    assert_eq!(ends, [DEATH, BIRTH]);
    EARLY.task_ready_begin(7);
    EARLY.task_exec_begin(INTERRUPT, 7);
    EARLY.task_exec_end(INTERRUPT, 7);
    // The previous task's executor goes on.
    EARLY.task_end(EXECUTOR, 7);
    EARLY.task_exec_end(EXECUTOR, 7);
    assert_eq!(kinds(station), [BIRTH, RUN, SUSPEND]);
    // The same executor may poll the new task now.
    EARLY.task_exec_begin(EXECUTOR, 7);
    EARLY.task_end(EXECUTOR, 7);
    EARLY.task_exec_end(EXECUTOR, 7);
    assert_eq!(kinds(station), [BIRTH, RUN, SUSPEND, RUN, DEATH]);
}

board!(Endless, 14);
static ENDLESS: Embassy<Endless, 2> = Embassy::new();

// LT-27
#[test]
fn end_without_a_hook_is_recorded_with_the_next_task() {
    let region = dump(&ENDLESS);
    // The hooks of embassy-executor 0.7 have no end of a task.
    ENDLESS.task_new(7);
    ENDLESS.task_exec_begin(EXECUTOR, 7);
    ENDLESS.task_exec_end(EXECUTOR, 7);
    let head = region.stations[0].event_head();
    ENDLESS.task_new(7);
    ENDLESS.task_exec_begin(EXECUTOR, 7);
    ENDLESS.task_exec_end(EXECUTOR, 7);
    let found = events_from(&region.stations[0], head);
    let found: Vec<u8> = found.iter().map(|epoch| epoch.tail.kind).collect();
    assert_eq!(found, [DEATH, BIRTH, RUN, SUSPEND]);
}
