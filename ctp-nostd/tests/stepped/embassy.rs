//! Tasks of embassy's executor that an interrupt handler spawns after each instruction of the spawn of
//! another task: each task has a station of its own, with all of its events.

use ctp_nostd::dialect::{Dialect, Fetched};
use ctp_nostd::slot::EventKind;
use ctp_nostd::{Embassy, Region};

use super::*;

const EXECUTOR: u32 = 0x2000_0000;
const STATIONS: usize = 2;

/// The handler's task, and tasks that ended before.
const HANDLED: u32 = 3;
const EARLIER: [u32; STATIONS] = [1, 2];

/// How many instructions of a spawn are tried: those before the task moves into its station.
const INSTRUCTIONS: usize = if cfg!(debug_assertions) { 1_500 } else { 100 };

/// Without optimisation, not each of them is tried.
const STEP: usize = if cfg!(debug_assertions) { 17 } else { 1 };

type Tasks = Embassy<Microcontroller, STATIONS>;

static USED: Tasks = Embassy::new();
static UNUSED: [Tasks; INSTRUCTIONS] = [const { Embassy::new() }; INSTRUCTIONS];

thread_local! {
    static MEMORY: Cell<&'static Tasks> = const { Cell::new(&USED) };
    /// The task that the handler spawns.
    static INTERRUPTING: Cell<u32> = const { Cell::new(HANDLED) };
    /// The instruction after which the handler comes, counted down.
    static COUNTDOWN: Cell<u32> = const { Cell::new(0) };
}

struct Microcontroller;

// SAFETY: there is no `Local`.
unsafe impl Platform for Microcontroller {
    fn now_ns() -> u64 {
        static CLOCK: AtomicU64 = AtomicU64::new(1_000);
        CLOCK.fetch_add(10, Relaxed)
    }

    fn thread() -> u64 {
        0
    }

    fn ring() {}

    fn attachment_word() -> &'static AtomicU32 {
        static NUMBER: AtomicU32 = AtomicU32::new(12);
        &NUMBER
    }
}

fn region(memory: &'static Tasks) -> Region<'static> {
    let (base, bytes) = memory.extent();
    // SAFETY: a static is mapped for ever, and all of its words are atomics.
    unsafe { Region::new(base as *mut u8, bytes, u32::MAX) }.expect("a memory is a region")
}

/// The kinds of the events of the latest task in each station.
fn kinds(memory: &'static Tasks) -> Vec<Vec<u8>> {
    let region = region(memory);
    let stations = region.allocated().iter();
    stations
        .map(|station| {
            let identity = station.identity().expect("no coroutine is moving in");
            let events = identity.base_n..station.event_head();
            events
                .map(|n| match Dialect::PerSlot.fetch(station, n) {
                    Fetched::Whole(epoch) => epoch.tail.kind,
                    other => panic!("event {n}: {other:?}"),
                })
                .collect()
        })
        .collect()
}

/// The events of all stations.
fn events(memory: &'static Tasks) -> u64 {
    let stations = region(memory).allocated().iter();
    stations.map(|station| station.event_head()).sum()
}

/// Polls a task, which ends in its second poll.
fn poll_to_its_end(memory: &'static Tasks, task: u32) {
    memory.task_exec_begin(EXECUTOR, task);
    memory.task_exec_end(EXECUTOR, task);
    memory.task_exec_begin(EXECUTOR, task);
    memory.task_end(EXECUTOR, task);
    memory.task_exec_end(EXECUTOR, task);
}

fn spawn_after_countdown() -> bool {
    let left = COUNTDOWN.get();
    COUNTDOWN.set(left.wrapping_sub(1));
    if left == 0 {
        MEMORY.get().task_new(INTERRUPTING.get());
        IS_OVER.set(true);
    }
    true
}

/// Spawns a task, and another in a handler after this many instructions. Then both run to their end.
fn spawn_two(memory: &'static Tasks, task: u32, interrupting: u32, instruction: usize) {
    MEMORY.set(memory);
    INTERRUPTING.set(interrupting);
    COUNTDOWN.set(instruction as u32);
    let before = events(memory);
    assert_at_each_instruction(spawn_after_countdown, &|| memory.task_new(task));
    assert!(IS_OVER.get(), "a spawn has fewer instructions");
    poll_to_its_end(memory, task);
    poll_to_its_end(memory, interrupting);
    let life = [
        EventKind::Birth,
        EventKind::Run,
        EventKind::Suspend,
        EventKind::Run,
        EventKind::Death,
    ];
    let life = life.map(|kind| kind as u8);
    let found = (kinds(memory), events(memory) - before);
    let expected = (
        vec![life.to_vec(); STATIONS],
        (STATIONS * life.len()) as u64,
    );
    assert_eq!(
        found, expected,
        "{task}, and {interrupting} after instruction {instruction}"
    );
    assert_eq!(region(memory).header.counters().refused, 0);
}

/// Runs these tasks at one time, so that each has a station of its own.
fn run_to_their_end(memory: &'static Tasks, tasks: &[u32]) {
    tasks.iter().for_each(|task| memory.task_new(*task));
    tasks.iter().for_each(|task| poll_to_its_end(memory, *task));
}

/// The station of an ended task is taken for the next task with its number, or for another task.
// LT-27
#[test]
fn handler_may_spawn_a_task_during_a_spawn() {
    const TASK: u32 = 4;
    for (task, interrupting) in [(TASK, HANDLED), (HANDLED, TASK)] {
        for instruction in (0..INSTRUCTIONS).step_by(STEP) {
            run_to_their_end(&USED, &EARLIER);
            run_to_their_end(&USED, &[TASK]);
            spawn_two(&USED, task, interrupting, instruction);
        }
    }
}

/// The handler takes the last station that no task has had.
// LT-27
#[test]
fn handler_may_take_the_last_unused_station() {
    for (instruction, memory) in UNUSED.iter().enumerate().step_by(STEP) {
        run_to_their_end(memory, &EARLIER[..1]);
        spawn_two(memory, EARLIER[1], HANDLED, instruction);
    }
}
