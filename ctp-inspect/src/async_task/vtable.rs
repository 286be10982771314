//! Finds the vtables of async-task in the data of a module, by their shape.
//!
//! From async-task 4.3 on, a vtable is 7 functions and the address of the layout of its tasks. The layout is 5 words:
//! the alignment and the size of a task, and the offsets of the function that schedules the task, of the future and of
//! the result. The result takes the place of the future, so the last two words are equal.

use crate::finder::{RunningFlag, TaskLayout};
use crate::function_runs;
use crate::modules::Module;
use crate::scan::Scan;
use crate::target::Target;

use super::header::{AWAITER_OFFSET, HEADER_BYTES, STATE_OFFSET};
use super::state;

const FUNCTIONS: usize = 7;
/// The index of the function that polls a task.
const RUN: usize = 5;
/// Futures are smaller than this.
const MAX_TASK_BYTES: u64 = 1 << 28;
const MAX_ALIGNMENT: u64 = 1 << 16;

/// What tasks of a type share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskVtable {
    /// Address of the vtable.
    pub address: u64,
    /// Address of the function that polls a task: `async_task::raw::RawTask::run` for the type of the future.
    pub run: u64,
    /// Where the function that schedules the task begins, counted from the header. The function has the address of its
    /// executor.
    pub schedule_offset: u64,
    /// Where the future begins, counted from the header.
    pub future_offset: u64,
    /// Where the future ends, counted from the header.
    pub size_bytes: u64,
}

impl TaskVtable {
    /// What the tasks with this vtable have in common.
    pub fn layout(&self) -> TaskLayout {
        TaskLayout {
            identity: self.address,
            poll: self.run,
            size_bytes: self.size_bytes,
            future_offset: Some(self.future_offset),
            joiner: AWAITER_OFFSET..HEADER_BYTES,
            running: Some(RunningFlag {
                offset: STATE_OFFSET,
                mask: state::RUNNING,
            }),
        }
    }
}

/// The vtables of a module, sorted by address.
pub fn find(target: &dyn Target, scan: &mut Scan, module: &Module) -> Vec<TaskVtable> {
    let mut ends = Vec::new();
    function_runs::each_end(target, scan, module, FUNCTIONS, |start, word| {
        ends.extend(module.is_data(word).then_some((start, word)));
    });
    ends.sort_unstable();
    ends.dedup();
    let vtables = ends
        .iter()
        .filter_map(|(start, layout)| read(target, *start, *layout));
    vtables.collect()
}

/// Reads the vtable at `start` with the layout at another address.
fn read(target: &dyn Target, start: u64, layout: u64) -> Option<TaskVtable> {
    let (mut functions, mut words) = ([0; FUNCTIONS], [0; 5]);
    if !target.words(start, &mut functions) || !target.words(layout, &mut words) {
        return None;
    }
    let [first, second, schedule, future, result] = words;
    // The compiler may put either first. A task is larger than its alignment.
    let (alignment, size) = (first.min(second), first.max(second));
    let is_layout = future == result
        && (8..=MAX_ALIGNMENT).contains(&alignment)
        && alignment.is_power_of_two()
        && (HEADER_BYTES..=future).contains(&schedule)
        && future.is_multiple_of(8)
        && (future..=MAX_TASK_BYTES).contains(&size);
    is_layout.then(|| TaskVtable {
        address: start,
        run: functions[RUN],
        schedule_offset: schedule,
        future_offset: future,
        size_bytes: size,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules::Modules;
    use crate::target::image::MemoryImage;
    use crate::target::mapping::parse;

    const LAYOUT: u64 = 0x2800;

    /// The vtables in a module with code at 0x1000, and with `functions` functions and the address of this layout as
    /// data.
    fn found(functions: u64, layout: [u64; 5]) -> Vec<TaskVtable> {
        let mut image = MemoryImage::default();
        for mapping in parse(b"1000-2000 r-xp 0 8:1 7 /app\n2000-3000 r--p 1000 8:1 7 /app\n") {
            image.add(mapping, vec![0; 0x1000]);
        }
        for index in 0..functions {
            image.set_word(0x2100 + 8 * index, 0x1100 + 16 * index);
        }
        image.set_word(0x2100 + 8 * functions, LAYOUT);
        for (index, word) in (0..).zip(layout) {
            image.set_word(LAYOUT + 8 * index, word);
        }
        let modules = Modules::of(image.mappings());
        let module = modules.iter().next().expect("the module");
        find(&image, &mut Scan::default(), module)
    }

    #[test]
    fn offsets_are_those_of_the_layout() {
        let expected = TaskVtable {
            address: 0x2100,
            run: 0x1150,
            schedule_offset: 40,
            future_offset: 48,
            size_bytes: 456,
        };
        assert_eq!(found(7, [8, 456, 40, 48, 48]), [expected]);
        assert_eq!(found(7, [456, 8, 40, 48, 48]), [expected]);
        // A function of another structure may come directly before.
        let [vtable] = found(8, [8, 456, 40, 48, 48])[..] else {
            panic!("a vtable");
        };
        assert_eq!((vtable.address, vtable.run), (0x2108, 0x1160));
    }

    #[test]
    fn other_structures_are_no_vtables() {
        assert_eq!(found(6, [8, 456, 40, 48, 48]), []);
        for layout in [
            [8, 456, 40, 48, 56],
            [8, 456, 24, 48, 48],
            [8, 456, 56, 48, 48],
            [24, 456, 40, 48, 48],
            [8, 40, 40, 48, 48],
            [8, 1 << 40, 40, 48, 48],
            [0, 0, 0, 0, 0],
        ] {
            assert_eq!(found(7, layout), [], "{layout:?}");
        }
    }
}
