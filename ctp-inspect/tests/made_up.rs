//! Tasks of tokio in memory that was made up: exactly those that live are found, and hostile memory is
//! survived.

use ctp_inspect::finder::{Finder as _, FoundTasks};
use ctp_inspect::stack_ranges::StackRanges;
use ctp_inspect::target::mapping;
use ctp_inspect::tokio::TokioFinder;
use ctp_inspect::{MemoryImage, StackPointer, Target as _};
use ctp_trace::record::{TaskKind, TaskState};
use proptest::collection::vec;
use proptest::prelude::*;

const TEXT: u64 = 0x1000;
const VTABLE: u64 = 0x2100;
const WAKER_VTABLE: u64 = 0x2200;
const HEAP: u64 = 0x10_0000;
const HEAP_BYTES: u64 = 0x4000;
const STACK: u64 = 0x20_0000;
const SHARD: u64 = HEAP + 0x40;
/// Bytes of a task, with its trailer.
const CELL: u64 = 0x100;
const TRAILER: u64 = 0x80;
const ID: u64 = 40;
const MAPS: &[u8] = b"\
1000-2000 r-xp 0 8:1 7 /app\n2000-3000 r--p 1000 8:1 7 /app\n\
100000-104000 rw-p 0 0:0 0 [heap]\n200000-201000 rw-p 0 0:0 0 [stack]\n";

const COMPLETE: u64 = 2;
const JOIN_INTEREST: u64 = 8;
const REFERENCE: u64 = 64;

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
    for (index, offset) in [TRAILER, 32, ID].into_iter().enumerate() {
        image.set_word(VTABLE + 56 + 8 * index as u64, offset);
    }
    for index in 0..4 {
        image.set_word(WAKER_VTABLE + 8 * index, TEXT + 0x400 + 16 * index);
    }
    image
}

fn find(image: &MemoryImage) -> FoundTasks {
    let mut stacks = StackRanges::default();
    stacks.refresh(image);
    TokioFinder::default().find(image, &stacks)
}

/// What is at a place of the heap.
#[derive(Clone, Copy, Debug)]
enum Cell {
    /// A task that has this many wakers.
    Alive(u64),
    /// A task that has ended, and is still in memory.
    Ended,
    /// A task that was freed: the allocator has overwritten the state.
    Freed,
    Nothing,
}

fn cell() -> impl Strategy<Value = Cell> {
    prop_oneof![
        (0..3_u64).prop_map(Cell::Alive),
        Just(Cell::Ended),
        Just(Cell::Freed),
        Just(Cell::Nothing),
    ]
}

fn address(index: usize) -> u64 {
    HEAP + CELL * (1 + index as u64)
}

/// Writes the cells, with all living tasks in a list. Returns the addresses of the living tasks.
fn place(image: &mut MemoryImage, cells: &[Cell]) -> Vec<u64> {
    let alive: Vec<u64> = cells
        .iter()
        .enumerate()
        .filter(|cell| matches!(cell.1, Cell::Alive(_)))
        .map(|(i, _)| address(i))
        .collect();
    for (index, cell) in cells.iter().enumerate() {
        let state = match cell {
            Cell::Alive(wakers) => (REFERENCE * (2 + wakers)) | JOIN_INTEREST,
            Cell::Ended => REFERENCE | COMPLETE,
            Cell::Freed => 0x5_5555_5557,
            Cell::Nothing => continue,
        };
        let at = address(index);
        image.set_word(at, state);
        image.set_word(at + 16, VTABLE);
        image.set_word(at + 24, 1);
        image.set_word(at + ID, 1 + index as u64);
    }
    for pair in alive.windows(2) {
        image.set_word(pair[0] + TRAILER + 8, pair[1]);
        image.set_word(pair[1] + TRAILER, pair[0]);
    }
    if let (Some(first), Some(last)) = (alive.first(), alive.last()) {
        image.set_word(SHARD, *first);
        image.set_word(SHARD + 8, *last);
    }
    alive
}

proptest! {
    #[test]
    fn exactly_the_living_tasks_are_found(cells in vec(cell(), 0..50)) {
        let mut image = process();
        let alive = place(&mut image, &cells);
        let found = find(&image);
        let addresses: Vec<u64> = found.tasks.iter().map(|task| task.address).collect();
        prop_assert_eq!(addresses, alive);
        prop_assert!(found.gaps.is_empty(), "{:?}", found.gaps);
        for task in &found.tasks {
            let Cell::Alive(wakers) = cells[task.runtime_id as usize - 1] else {
                panic!("{task:?} has ended");
            };
            prop_assert_eq!(task.wakers.map(u64::from), Some(wakers));
            prop_assert_eq!((task.kind, task.state), (TaskKind::Tokio, TaskState::Idle));
        }
    }

    // A cycle of neighbours, lengths and offsets at random, tasks that overlap: no panic and an end.
    #[test]
    fn hostile_memory_gives_only_possible_tasks(
        words in vec((0..HEAP_BYTES / 8, word()), 0..400),
        offsets in vec(word(), 3),
    ) {
        let mut image = process();
        for (index, offset) in offsets.into_iter().enumerate() {
            image.set_word(VTABLE + 56 + 8 * index as u64, offset);
        }
        for (index, word) in words {
            image.set_word(HEAP + 8 * index, word);
        }
        let found = find(&image);
        for task in found.tasks {
            prop_assert_eq!(image.word(task.address + 16), Some(VTABLE));
            let state = image.word(task.address).expect("the header is mapped");
            prop_assert!(state & COMPLETE == 0 && REFERENCE <= state, "{state:#x}");
        }
    }
}

/// A word that means something in the wrong place.
fn word() -> impl Strategy<Value = u64> {
    prop_oneof![
        Just(VTABLE),
        Just(WAKER_VTABLE),
        (0..HEAP_BYTES / 8).prop_map(|index| HEAP + 8 * index),
        (0..16_u64).prop_map(|index| 8 * index),
        (1..8_u64).prop_map(|references| (REFERENCE * references) | JOIN_INTEREST),
        any::<u64>(),
    ]
}

#[test]
fn wakers_are_found_in_either_order() {
    for is_vtable_first in [false, true] {
        let mut image = process();
        let alive = place(&mut image, &[Cell::Alive(1), Cell::Alive(1)]);
        let waker = HEAP + 0x3000;
        let [task, vtable] = if is_vtable_first { [8, 0] } else { [0, 8] };
        image.set_word(waker + task, alive[1]);
        image.set_word(waker + vtable, WAKER_VTABLE);
        let found = find(&image);
        assert_eq!(found.tasks[0].waker_addresses, []);
        assert_eq!(found.tasks[1].waker_addresses, [waker + task]);
    }
}

#[test]
fn a_cycle_of_neighbours_ends() {
    let mut image = process();
    let alive = place(&mut image, &[Cell::Alive(0); 3]);
    image.set_word(alive[0] + TRAILER, alive[2]);
    image.set_word(alive[2] + TRAILER + 8, alive[0]);
    assert_eq!(find(&image).tasks.len(), 3);
}

#[test]
fn neighbours_of_a_task_that_is_removed_are_found() {
    let mut image = process();
    let alive = place(&mut image, &[Cell::Alive(0); 3]);
    image.set_word(alive[1], REFERENCE | COMPLETE);
    // The thread that removes the task in the middle has got this far.
    image.set_word(alive[0] + TRAILER + 8, alive[2]);
    let found = find(&image);
    let addresses: Vec<u64> = found.tasks.iter().map(|task| task.address).collect();
    assert_eq!(addresses, [alive[0], alive[2]]);
    assert!(found.gaps.is_empty(), "{:?}", found.gaps);
}

#[test]
fn a_task_that_no_list_has_is_none() {
    let mut image = process();
    place(&mut image, &[Cell::Alive(0)]);
    assert_eq!(find(&image).tasks.len(), 1);
    image.set_word(SHARD, 0);
    image.set_word(SHARD + 8, 0);
    assert_eq!(find(&image).tasks, []);
}

#[test]
fn copies_on_stacks_are_no_tasks() {
    let mut image = process();
    let stack = STACK + 0x800;
    image.stack_pointers = vec![StackPointer {
        tid: 5,
        address: stack,
    }];
    image.set_word(stack, (3 * REFERENCE) | JOIN_INTEREST | 4);
    image.set_word(stack + 16, VTABLE);
    image.set_word(HEAP + 0x800, stack);
    assert_eq!(find(&image).tasks, []);
}

/// A task was built on the stack, and other functions have overwritten parts since.
#[test]
fn remains_on_stacks_are_no_gap() {
    let mut image = process();
    image.stack_pointers = vec![StackPointer {
        tid: 5,
        address: STACK + 0x800,
    }];
    let remains = STACK + 0x400;
    image.set_word(remains, (3 * REFERENCE) | JOIN_INTEREST);
    image.set_word(remains + 16, VTABLE);
    image.set_word(remains + 24, 7);
    image.set_word(remains + TRAILER, HEAP + 0x100);
    let found = find(&image);
    assert_eq!(found.tasks, []);
    assert_eq!(found.gaps, [""; 0]);
}

/// The kernel merges mappings that adjoin, as those of a stack and of an allocator.
#[test]
fn tasks_in_memory_that_adjoins_a_stack_are_found() {
    let mut image = process();
    let alive = place(&mut image, &[Cell::Alive(0), Cell::Alive(0)]);
    image.stack_pointers = vec![StackPointer {
        tid: 5,
        address: HEAP + 8,
    }];
    let found = find(&image);
    let addresses: Vec<u64> = found.tasks.iter().map(|task| task.address).collect();
    assert_eq!(addresses, alive);
}

#[test]
fn stacks_with_the_address_of_a_task_are_named() {
    let mut image = process();
    let alive = place(&mut image, &[Cell::Alive(0), Cell::Alive(0)]);
    image.stack_pointers = vec![StackPointer {
        tid: 5,
        address: STACK + 0x800,
    }];
    image.set_word(STACK + 0x808, alive[0]);
    image.set_word(STACK + 0x7f8, alive[1]);
    let found = find(&image);
    assert_eq!(found.tasks[0].stacks, [5]);
    assert_eq!(found.tasks[1].stacks, [0; 0]);
}

/// More words than are collected in a pass. The wakers are then found in a second pass.
#[test]
fn a_waker_behind_too_many_others_is_found() {
    let mut image = process();
    let alive = place(&mut image, &[Cell::Alive(1), Cell::Alive(0)]);
    let others = [WAKER_VTABLE, HEAP + 0x3000].map(u64::to_le_bytes).concat();
    let waker = [WAKER_VTABLE, alive[0]].map(u64::to_le_bytes).concat();
    let maps = b"1000000-2001000 rw-p 0 0:0 0\n3000000-3001000 rw-p 0 0:0 0\n";
    for (mapping, bytes) in mapping::parse(maps).into_iter().zip([others, waker]) {
        image.add(mapping.clone(), bytes.repeat(mapping.len() as usize / 16));
    }
    let found = find(&image);
    let wakers = &found.tasks[0].waker_addresses;
    assert_eq!(wakers.first(), Some(&0x300_0008));
    assert_eq!(found.tasks[1].waker_addresses, []);
}

/// A worker thread of tokio polls a task without an owner, and runs all the time: its stack pointer is unknown.
#[test]
fn tasks_on_stacks_of_running_threads_are_found() {
    let mut image = process();
    image.set_word(HEAP + 0x400, REFERENCE | 1);
    image.set_word(HEAP + 0x410, VTABLE);
    assert_eq!(find(&image).tasks, []);
    for mapping in mapping::parse(b"300000-301000 ---p 0 0:0 0\n301000-302000 rw-p 0 0:0 0\n") {
        image.add(mapping, vec![0; 0x1000]);
    }
    image.set_word(0x30_1800, HEAP + 0x400);
    let found = find(&image);
    assert_eq!(found.tasks.len(), 1);
    assert_eq!(found.tasks[0].kind, TaskKind::Blocking);
}

/// A program and a library that was built with another tokio: each has vtables of its own shape.
#[test]
fn tasks_of_two_versions_in_a_process_are_found() {
    const OLD_TEXT: u64 = 0x4000;
    const OLD_VTABLE: u64 = 0x5100;
    let mut image = process();
    let alive = place(&mut image, &[Cell::Alive(0), Cell::Alive(0)]);
    let maps = b"4000-5000 r-xp 0 8:1 8 /lib.so\n5000-6000 r--p 1000 8:1 8 /lib.so\n";
    for mapping in mapping::parse(maps) {
        image.add(mapping, vec![0; 0x1000]);
    }
    for index in 0..8 {
        image.set_word(OLD_VTABLE + 8 * index, OLD_TEXT + 16 * index);
    }
    image.set_word(OLD_VTABLE + 64, TRAILER);
    write(&mut image, VTABLE + 0x200, b"/tokio-1.54.1/src/task.rs");
    write(&mut image, OLD_VTABLE + 0x200, b"/tokio-1.21.2/src/task.rs");
    let old = [address(8), address(9)];
    for task in old {
        image.set_word(task, (2 * REFERENCE) | JOIN_INTEREST);
        image.set_word(task + 16, OLD_VTABLE);
        image.set_word(task + 24, 7);
    }
    image.set_word(old[0] + TRAILER + 8, old[1]);
    image.set_word(old[1] + TRAILER, old[0]);
    let found = find(&image);
    let addresses: Vec<u64> = found.tasks.iter().map(|task| task.address).collect();
    assert_eq!(addresses, [alive, old.to_vec()].concat());
    assert_eq!(found.runtimes, ["tokio 1.21.2", "tokio 1.54.1"]);
}

fn write(image: &mut MemoryImage, at: u64, text: &[u8]) {
    for (index, part) in text.chunks(8).enumerate() {
        let mut word = [0; 8];
        word[..part.len()].copy_from_slice(part);
        image.set_word(at + 8 * index as u64, u64::from_le_bytes(word));
    }
}
