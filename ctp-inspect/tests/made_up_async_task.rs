//! Tasks of async-task in memory that was made up: exactly those that live are found, and hostile memory is survived.

use ctp_inspect::async_task::AsyncTaskFinder;
use ctp_inspect::finder::{Finder as _, FoundTasks};
use ctp_inspect::stack_ranges::StackRanges;
use ctp_inspect::target::mapping;
use ctp_inspect::{MemoryImage, StackPointer, Target as _};
use ctp_trace::record::{TaskKind, TaskState};
use proptest::collection::vec;
use proptest::prelude::*;

const TEXT: u64 = 0x1000;
const VTABLE: u64 = 0x2100;
const LAYOUT: u64 = 0x2180;
const WAKER_VTABLE: u64 = 0x2200;
const HEAP: u64 = 0x10_0000;
const HEAP_BYTES: u64 = 0x8000;
const STACK: u64 = 0x20_0000;
/// The state of an executor, and the list of its tasks.
const EXECUTOR: u64 = HEAP + 0x80;
const LIST: u64 = HEAP + 0x6000;
/// Wakers that are in no list.
const WAKERS: u64 = HEAP + 0x7000;
/// Bytes of a task.
const CELL: u64 = 0x100;
const SCHEDULE: u64 = 40;
const FUTURE: u64 = 48;
const MAPS: &[u8] = b"\
1000-2000 r-xp 0 8:1 7 /app\n2000-3000 r--p 1000 8:1 7 /app\n\
100000-108000 rw-p 0 0:0 0 [heap]\n200000-201000 rw-p 0 0:0 0 [stack]\n";

const COMPLETED: u64 = 4;
const TASK: u64 = 16;
const REFERENCE: u64 = 256;

/// A process with the vtables of a task and of a waker, and nothing in its heap.
fn process() -> MemoryImage {
    let mut image = MemoryImage::default();
    for mapping in mapping::parse(MAPS) {
        let bytes = vec![0; mapping.len() as usize];
        image.add(mapping, bytes);
    }
    for index in 0..7 {
        image.set_word(VTABLE + 8 * index, TEXT + 0x100 + 16 * index);
    }
    image.set_word(VTABLE + 56, LAYOUT);
    for (index, word) in (0..).zip([8, 0x80, SCHEDULE, FUTURE, FUTURE]) {
        image.set_word(LAYOUT + 8 * index, word);
    }
    for index in 0..4 {
        image.set_word(WAKER_VTABLE + 8 * index, TEXT + 0x400 + 16 * index);
    }
    image
}

fn find(image: &MemoryImage) -> FoundTasks {
    let mut stacks = StackRanges::default();
    stacks.refresh(image);
    AsyncTaskFinder::default().find(image, &stacks)
}

/// What is at a place of the heap.
#[derive(Clone, Copy, Debug)]
enum Cell {
    /// A task of an executor that lists its tasks. The task has this many other wakers.
    Listed(u64),
    /// A task with a handle, and this many wakers.
    Unlisted(u64),
    /// A task that has ended, and has a handle.
    Ended,
    /// A task that was freed.
    Freed,
    Nothing,
}

fn cell() -> impl Strategy<Value = Cell> {
    prop_oneof![
        (0..3_u64).prop_map(Cell::Listed),
        (0..3_u64).prop_map(Cell::Unlisted),
        Just(Cell::Ended),
        Just(Cell::Freed),
        Just(Cell::Nothing),
    ]
}

fn address(index: usize) -> u64 {
    HEAP + CELL * (2 + index as u64)
}

fn set_waker(image: &mut MemoryImage, at: u64, task: u64) {
    image.set_word(at, WAKER_VTABLE);
    image.set_word(at + 8, task);
}

/// Writes the cells, and everything that leads to them. Returns the number of wakers of each living task.
fn place(image: &mut MemoryImage, cells: &[Cell]) -> Vec<(u64, u32)> {
    let (mut alive, mut listed, mut other) = (Vec::new(), 0, 0);
    for (index, cell) in cells.iter().enumerate() {
        let at = address(index);
        let (state, wakers) = match cell {
            Cell::Listed(wakers) => ((wakers + 1) * REFERENCE, *wakers),
            Cell::Unlisted(wakers) => (wakers * REFERENCE + TASK, *wakers),
            Cell::Ended => (COMPLETED | TASK, 0),
            Cell::Freed => (COMPLETED | 8, 0),
            Cell::Nothing => continue,
        };
        image.set_word(at, VTABLE);
        image.set_word(at + 8, state);
        image.set_word(at + SCHEDULE, EXECUTOR);
        if let Cell::Listed(_) = cell {
            set_waker(image, LIST + 16 * listed, at);
            image.set_word(at + FUTURE + 8, EXECUTOR);
            image.set_word(at + FUTURE + 16, listed);
            listed += 1;
        }
        for _ in 0..wakers {
            set_waker(image, WAKERS + 16 * other, at);
            other += 1;
        }
        // A handle.
        image.set_word(WAKERS + 0x800 + 8 * index as u64, at);
        if matches!(cell, Cell::Listed(_) | Cell::Unlisted(_)) {
            alive.push((at, wakers as u32));
        }
    }
    for (index, word) in (0..).zip([64, LIST, listed, listed, listed]) {
        image.set_word(EXECUTOR + 0x20 + 8 * index, word);
    }
    alive
}

proptest! {
    #[test]
    fn exactly_the_living_tasks_are_found(cells in vec(cell(), 0..40)) {
        let mut image = process();
        let alive = place(&mut image, &cells);
        let found = find(&image);
        let tasks = found.tasks.iter();
        let tasks: Vec<_> = tasks.map(|task| (task.address, task.wakers.unwrap())).collect();
        prop_assert_eq!(tasks, alive);
        prop_assert!(found.gaps.is_empty(), "{:?}", found.gaps);
        for task in &found.tasks {
            prop_assert_eq!((task.kind, task.state), (TaskKind::AsyncTask, TaskState::Idle));
            prop_assert_eq!(task.waker_addresses.len(), task.wakers.unwrap() as usize);
        }
    }

    // Layouts at random, tasks that overlap, lists that lead anywhere: no panic and an end.
    #[test]
    fn hostile_memory_is_survived(
        words in vec((0..HEAP_BYTES / 8, word()), 0..400),
        layout in vec(word(), 5),
    ) {
        let mut image = process();
        for (index, word) in (0..).zip(layout) {
            image.set_word(LAYOUT + 8 * index, word);
        }
        for (index, word) in words {
            image.set_word(HEAP + 8 * index, word);
        }
        let found = find(&image);
        for task in &found.tasks {
            prop_assert_eq!(image.word(task.address), Some(VTABLE));
        }
    }
}

/// Words that lead to interesting places.
fn word() -> impl Strategy<Value = u64> {
    prop_oneof![
        Just(VTABLE),
        Just(WAKER_VTABLE),
        Just(EXECUTOR),
        (0..HEAP_BYTES / 8).prop_map(|index| HEAP + 8 * index),
        (0..64_u64).prop_map(|number| number * 8),
        (0..5_u64).prop_map(|references| references * REFERENCE + TASK),
        any::<u64>(),
    ]
}

/// A waker of the executor's list counts only if the task says at which index it is.
#[test]
fn other_lists_of_wakers_count() {
    let mut image = process();
    let alive = place(&mut image, &[Cell::Listed(0), Cell::Listed(0)]);
    assert_eq!(alive.len(), 2);
    image.set_word(alive[1].0 + FUTURE + 16, 7);
    let found = find(&image);
    assert_eq!(found.tasks[0].wakers, Some(0));
    assert_eq!(found.tasks[1].wakers, Some(1));
}

#[test]
fn copies_of_headers_are_no_tasks() {
    let mut image = process();
    place(&mut image, &[Cell::Unlisted(0)]);
    let address = STACK + 0x800;
    image.stack_pointers = vec![StackPointer { tid: 1, address }];
    for at in [STACK + 0x100, STACK + 0x900, HEAP + 0x4000] {
        image.set_word(at, VTABLE);
        image.set_word(at + 8, REFERENCE | TASK | 1);
    }
    let found = find(&image);
    let addresses: Vec<u64> = found.tasks.iter().map(|task| task.address).collect();
    assert_eq!(addresses, [self::address(0)]);
}
