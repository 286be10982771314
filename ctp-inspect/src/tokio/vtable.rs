//! Finds the vtables of tokio's tasks in the data of a module, by their shape.
//!
//! From tokio 1.23 on, a vtable is 7 functions and at least 3 offsets: of the trailer, the scheduler and
//! the id. With `tokio_unstable` there is a fourth, of the spawn location. Before 1.23, a vtable is 8
//! functions and the offset of the trailer.

use std::ops::Range;

use crate::finder::{RunningFlag, TaskLayout};
use crate::function_runs;
use crate::modules::Module;
use crate::scan::Scan;
use crate::target::Target;
use crate::tokio::state;

const FUNCTIONS: usize = 7;
const FUNCTIONS_BEFORE_1_23: usize = 8;
/// The header is 4 words, so the scheduler cannot begin earlier.
const HEADER_SIZE: u64 = 32;
/// Schedulers are a pointer or little more.
const MAX_SCHEDULER_BYTES: u64 = 256;
/// Futures are smaller than this.
const MAX_FUTURE_BYTES: u64 = 1 << 28;
/// Words of a vtable, with the fourth offset.
const WORDS: usize = 11;
/// Size of a task's trailer: two neighbours in the list of tasks, and the waker of a task that awaits this task.
const TRAILER_BYTES: u64 = 32;

/// The functions and offsets that tasks of a type share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskVtable {
    /// Address of the vtable.
    pub address: u64,
    /// Address of the function that polls a task: `tokio::runtime::task::raw::poll` for the type of
    /// the future.
    pub poll: u64,
    /// Where the part after the future begins, counted from the header.
    pub trailer_offset: u64,
    /// Where the scheduler begins, counted from the header; `None` in tokio before 1.23.
    pub scheduler_offset: Option<u64>,
    /// Where the id of the task is, counted from the header; `None` in tokio before 1.23.
    pub id_offset: Option<u64>,
    /// Where the address of the spawn location is, counted from the header, if it is recorded.
    pub spawn_location_offset: Option<u64>,
}

impl TaskVtable {
    /// What the tasks with this vtable have in common.
    pub fn layout(&self) -> TaskLayout {
        let trailer = self.trailer_offset;
        TaskLayout {
            identity: self.address,
            poll: self.poll,
            size_bytes: trailer,
            future_offset: None,
            joiner: trailer..trailer.saturating_add(TRAILER_BYTES),
            running: Some(RunningFlag {
                offset: 0,
                mask: state::RUNNING,
            }),
        }
    }
}

/// The vtables of a module, sorted by address.
pub fn find(target: &dyn Target, scan: &mut Scan, module: &Module) -> Vec<TaskVtable> {
    let mut starts = Vec::new();
    function_runs::each_end(target, scan, module, FUNCTIONS, |start, word| {
        starts.extend(is_trailer_offset(word).then_some(start));
    });
    starts.sort_unstable();
    starts.dedup();
    let vtables = starts.iter().filter_map(|start| read(target, *start));
    let vtables: Vec<_> = vtables.collect();
    if !vtables.is_empty() {
        return vtables;
    }
    // Eight functions and a number occur by chance more often than seven functions and three offsets, so they are the
    // second choice.
    let vtables = starts.iter();
    let vtables = vtables.filter_map(|start| read_before_1_23(target, *start, module));
    vtables.collect()
}

/// Reads the vtable in which the trailer offset follows the 7 functions at `start`.
fn read(target: &dyn Target, start: u64) -> Option<TaskVtable> {
    let mut words = [0; WORDS];
    let (functions, offsets) = (FUNCTIONS, WORDS - 1);
    if !target.words(start, &mut words) && !target.words(start, &mut words[..offsets]) {
        return None;
    }
    let [trailer, scheduler, id, spawn] = words[functions..] else {
        return None;
    };
    are_offsets(trailer, scheduler, id).then(|| TaskVtable {
        address: start,
        poll: words[0],
        trailer_offset: trailer,
        scheduler_offset: Some(scheduler),
        id_offset: Some(id),
        spawn_location_offset: (spawn == id + 8 && spawn < trailer).then_some(spawn),
    })
}

/// Reads the vtable of 8 functions, the second of which is at `second`.
fn read_before_1_23(target: &dyn Target, second: u64, module: &Module) -> Option<TaskVtable> {
    let start = second.checked_sub(8)?;
    let mut words = [0; FUNCTIONS_BEFORE_1_23 + 1];
    let is_vtable = target.words(start, &mut words)
        && words[..FUNCTIONS_BEFORE_1_23]
            .iter()
            .all(|word| module.is_text(*word));
    is_vtable.then(|| TaskVtable {
        address: start,
        poll: words[0],
        trailer_offset: words[FUNCTIONS_BEFORE_1_23],
        ..TaskVtable::default()
    })
}

fn is_trailer_offset(word: u64) -> bool {
    HEADER_SIZE < word && word < MAX_FUTURE_BYTES && word.is_multiple_of(8)
}

fn are_offsets(trailer: u64, scheduler: u64, id: u64) -> bool {
    let are_words = scheduler.is_multiple_of(8) && id.is_multiple_of(8);
    let are_in_order = HEADER_SIZE <= scheduler && scheduler <= id && id + 8 <= trailer;
    are_words && are_in_order && id - scheduler <= MAX_SCHEDULER_BYTES
}

/// The smallest range that contains all vtables.
pub fn range_of(vtables: &[TaskVtable]) -> Range<u64> {
    let first = vtables.first().map_or(0, |vtable| vtable.address);
    let last = vtables.last().map_or(0, |vtable| vtable.address + 1);
    first..last
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::image::MemoryImage;
    use crate::target::mapping::parse;

    const DATA: u64 = 0x2000;

    /// A module with code at 0x1000 and these words as data.
    fn found(words: &[u64]) -> Vec<TaskVtable> {
        let mut image = MemoryImage::default();
        let mappings = parse(b"1000-2000 r-xp 0 8:1 7 /app\n2000-3000 r--p 1000 8:1 7 /app\n");
        let mut data: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        data.resize(0x1000, 0);
        for mapping in mappings {
            image.add(mapping, data.clone());
        }
        let modules = crate::modules::Modules::of(image.mappings());
        let module = modules.iter().next().expect("the module");
        find(&image, &mut Scan::default(), module)
    }

    fn functions(count: u64) -> Vec<u64> {
        (0..count).map(|index| 0x1100 + index * 16).collect()
    }

    #[test]
    fn offsets_are_those_behind_seven_functions() {
        let words = [vec![0x1ff0, 5], functions(7), vec![104, 32, 40, 48]].concat();
        let expected = TaskVtable {
            address: DATA + 16,
            poll: 0x1100,
            trailer_offset: 104,
            scheduler_offset: Some(32),
            id_offset: Some(40),
            spawn_location_offset: Some(48),
        };
        assert_eq!(found(&words), [expected]);
        // A function of another structure may come directly before.
        assert_eq!(found(&words[2..])[0].poll, 0x1100);
        assert_eq!(
            found(&[functions(8), vec![104, 32, 40, 0]].concat())[0].poll,
            0x1110
        );
    }

    #[test]
    fn eight_functions_and_an_offset_are_an_old_vtable() {
        let vtables = found(&[functions(8), vec![104, 0x1100]].concat());
        assert_eq!(vtables.len(), 1);
        assert_eq!((vtables[0].address, vtables[0].id_offset), (DATA, None));
    }

    #[test]
    fn other_structures_are_no_vtables() {
        for words in [
            [functions(6), vec![104, 32, 40]].concat(),
            [functions(7), vec![104, 40, 32]].concat(),
            [functions(7), vec![104, 32, 104]].concat(),
            [functions(7), vec![1, 32, 40]].concat(),
            [functions(7), vec![100, 32, 40]].concat(),
            [functions(7), vec![1 << 40, 32, 40]].concat(),
        ] {
            assert_eq!(found(&words), [], "{words:x?}");
        }
    }
}
