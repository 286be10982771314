//! The memory with the words of known tasks, in few ranges: a few large reads take less time than many small reads.

use std::ops::Range;

use foldhash::HashMap;

use crate::tokio::owned_list::Headers;
use crate::tokio::vtable::TaskVtable;

/// Tasks with a gap of at most this many bytes are read together.
const MAX_GAP: u64 = 2048;
/// Of a larger task, only the header is included.
const MAX_TASK_BYTES: u64 = 4096;
const HEADER_BYTES: u64 = 64;
/// The part of the trailer that is read: two neighbours in the list of tasks.
const TRAILER_BYTES: u64 = 16;

/// The ranges with the words of these tasks, sorted.
pub fn ranges_of(tasks: &Headers, vtables: &HashMap<u64, TaskVtable>) -> Vec<Range<u64>> {
    let mut ranges: Vec<Range<u64>> = Vec::new();
    for (address, task) in tasks {
        let vtable = vtables.get(&task.vtable);
        let trailer = vtable.map_or(u64::MAX, |vtable| vtable.trailer_offset);
        let bytes = if trailer <= MAX_TASK_BYTES {
            trailer + TRAILER_BYTES
        } else {
            HEADER_BYTES
        };
        let end = address.saturating_add(bytes);
        match ranges.last_mut() {
            Some(last) if *address <= last.end.saturating_add(MAX_GAP) => {
                last.end = last.end.max(end);
            }
            _ => ranges.push(*address..end),
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokio::header::TaskHeader;
    use crate::tokio::state::StateWord;

    #[test]
    fn close_tasks_share_a_range() {
        let task = |address, vtable| TaskHeader {
            address,
            state: StateWord(64),
            queue_next: 0,
            vtable,
            owner: 1,
            neighbours: [0, 0],
            id: 0,
        };
        let vtable = |trailer_offset| TaskVtable {
            trailer_offset,
            ..TaskVtable::default()
        };
        let vtables = HashMap::from_iter([(1, vtable(0x100)), (2, vtable(0x10_0000))]);
        let tasks = [
            task(0x1000, 1),
            task(0x1800, 1),
            task(0x8000, 2),
            task(0x1_0000, 1),
        ];
        let tasks = tasks.map(|task| (task.address, task)).into();
        let expected = [0x1000..0x1910, 0x8000..0x8040, 0x1_0000..0x1_0110];
        assert_eq!(ranges_of(&tasks, &vtables), expected);
    }
}
