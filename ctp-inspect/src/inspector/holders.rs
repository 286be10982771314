//! What holds the wakers of tasks, according to the futures that registered the wakers, or to the memory in which the
//! wakers lie.

use std::collections::HashMap;
use std::ops::Range;

use ctp_trace::record::{TaskId, TaskState, WakerHolder};

use crate::awaits::RegisteredWaker;
use crate::finder::FoundTask;
use crate::inspector::resource_holder::holder_of;
use crate::stack_ranges::StackRanges;
use crate::target::{EpollInterest, Target};

/// Size and alignment of tokio's I/O resources, in bytes.
const IO_SLOT_BYTES: u64 = 128;
/// The maximum distance from the start of a waiter's node to the waker in the node.
const MAX_WAITER_BYTES: u64 = 64;

/// The owners of memory in which wakers lie.
pub struct WakerOwners<'t> {
    numbers: &'t HashMap<u64, TaskId>,
    stacks: &'t StackRanges,
    /// The memory of the tasks.
    cells: TaskRanges,
    /// The descriptors of I/O resources, by the address of the resource.
    slots: HashMap<u64, u32>,
    /// The address of each waiting node and the descriptor for which the node waits, sorted.
    waiters: Vec<(u64, u32)>,
}

impl<'t> WakerOwners<'t> {
    /// Reads the waiters of the descriptors.
    pub fn new(
        target: &dyn Target,
        tasks: &[FoundTask],
        numbers: &'t HashMap<u64, TaskId>,
        stacks: &'t StackRanges,
        interests: &[EpollInterest],
    ) -> Self {
        let cells = TaskRanges::of(tasks);
        let slots = slots(target, interests);
        let mut waiters = Vec::new();
        for (address, fd) in &slots {
            let mut words = [0; (IO_SLOT_BYTES / 8) as usize];
            if target.words(*address, &mut words) {
                let nodes = words
                    .iter()
                    .filter(|word| cells.containing(**word).is_some());
                waiters.extend(nodes.map(|node| (*node, *fd)));
            }
        }
        waiters.sort_unstable();
        WakerOwners {
            numbers,
            stacks,
            cells,
            slots,
            waiters,
        }
    }

    /// What holds the wakers of a task: at most as many holders as the task has wakers. Some are known from what the
    /// task awaits, the others from where the wakers lie.
    pub fn of(&self, task: &FoundTask, registered: &[RegisteredWaker]) -> Vec<WakerHolder> {
        let mut candidates = Candidates::default();
        let known = registered
            .iter()
            .filter_map(|waker| Some((waker.at, holder_of(waker)?)));
        let known: Vec<_> = known.collect();
        for waker in &task.waker_addresses {
            let known = known.iter().find(|(at, _)| *at == Some(*waker));
            match known {
                Some((_, holder)) => candidates.proven.push(*holder),
                None => self.add(task, *waker, &mut candidates),
            }
        }
        for (at, holder) in known {
            let is_listed = at.map_or_else(
                || candidates.proven.contains(&holder),
                |at| task.waker_addresses.contains(&at),
            );
            if !is_listed {
                candidates.proven.push(holder);
            }
        }
        candidates.choose(task.wakers.unwrap_or(0) as usize)
    }

    fn add(&self, task: &FoundTask, waker: u64, candidates: &mut Candidates) {
        if let Some(fd) = self.slots.get(&(waker & !(IO_SLOT_BYTES - 1))) {
            candidates.proven.push(WakerHolder::Io(Some(*fd)));
        } else if let Some(stack) = self.stacks.containing(waker) {
            // The waker that a running task is polled with is not counted.
            if task.state != TaskState::Running && stack.is_in_use(waker) {
                candidates.on_stacks.push(WakerHolder::Thread(stack.tid));
            }
        } else if let Some(fd) = self.descriptor_of_waiter(waker) {
            candidates.proven.push(WakerHolder::Io(Some(fd)));
        } else {
            match self.cells.containing(waker) {
                Some(cell) if cell.address != task.address => {
                    let holder = WakerHolder::Task(self.numbers[&cell.address]);
                    candidates.list_of(cell.is_joiner).push(holder);
                }
                _ => candidates.in_memory.push(WakerHolder::Memory(waker)),
            }
        }
    }

    /// The descriptor for which the waiter with this waker waits. The waiter lies in the future that waits.
    fn descriptor_of_waiter(&self, waker: u64) -> Option<u32> {
        let first = waker.saturating_sub(MAX_WAITER_BYTES);
        let from = self.waiters.partition_point(|(node, _)| *node < first);
        let (node, fd) = self.waiters.get(from)?;
        (*node <= waker).then_some(*fd)
    }
}

/// What may hold the wakers of a task. Freed memory and unused parts of stacks contain words of wakers too.
#[derive(Debug, Default)]
struct Candidates {
    proven: Vec<WakerHolder>,
    in_memory: Vec<WakerHolder>,
    on_stacks: Vec<WakerHolder>,
}

impl Candidates {
    fn list_of(&mut self, is_proven: bool) -> &mut Vec<WakerHolder> {
        if is_proven {
            &mut self.proven
        } else {
            &mut self.in_memory
        }
    }

    /// The holders of this many wakers: first the proven holders. If more candidates than wakers are left, the holders
    /// of the other wakers are unknown.
    fn choose(self, wakers: usize) -> Vec<WakerHolder> {
        let mut holders = self.proven;
        holders.truncate(wakers);
        let missing = wakers - holders.len();
        let mut others = self.in_memory;
        if others.len() < missing {
            others.extend(self.on_stacks);
        }
        if missing < others.len() {
            others = vec![WakerHolder::Unknown; missing];
        }
        holders.extend(others);
        holders
    }
}

/// The descriptors of I/O resources, by the address of the resource, which tokio registers with the descriptor.
fn slots(target: &dyn Target, interests: &[EpollInterest]) -> HashMap<u64, u32> {
    let slots = interests.iter().filter(|interest| {
        let mapping = target.mapping_at(interest.data);
        interest.data.is_multiple_of(IO_SLOT_BYTES)
            && mapping.is_some_and(|mapping| mapping.is_writable)
    });
    slots.map(|slot| (slot.data, slot.fd)).collect()
}

/// The memory of tasks. Where ranges are nested, an address belongs to the innermost task.
#[derive(Debug, Default)]
struct TaskRanges {
    /// Sorted by start.
    ranges: Vec<CellRange>,
}

/// The memory of a task.
#[derive(Debug)]
struct CellRange {
    /// From the header to the end of the future, or of the waker of another task that awaits this task.
    range: Range<u64>,
    /// The greatest end of this range and of those before.
    greatest: u64,
    /// The waker of another task that awaits this task.
    joiner: Range<u64>,
}

impl TaskRanges {
    fn of(tasks: &[FoundTask]) -> Self {
        let ranges = tasks.iter().map(|task| {
            let (memory, joiner) = (task.memory(), task.joiner());
            CellRange {
                range: memory.start..memory.end.max(joiner.end),
                greatest: 0,
                joiner,
            }
        });
        let mut ranges: Vec<_> = ranges.collect();
        ranges.sort_unstable_by_key(|cell| cell.range.start);
        let mut greatest = 0;
        for cell in &mut ranges {
            greatest = cell.range.end.max(greatest);
            cell.greatest = greatest;
        }
        TaskRanges { ranges }
    }

    /// The innermost range that contains an address.
    fn containing(&self, address: u64) -> Option<TaskRange> {
        let after = self
            .ranges
            .partition_point(|cell| cell.range.start <= address);
        for cell in self.ranges[..after].iter().rev() {
            if address < cell.range.end {
                return Some(TaskRange {
                    address: cell.range.start,
                    is_joiner: cell.joiner.contains(&address),
                });
            }
            if cell.greatest <= address {
                return None;
            }
        }
        None
    }
}

/// A task, as the owner of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TaskRange {
    address: u64,
    /// The address is where the waker of another task is that awaits this task. A waker there is certainly in use.
    is_joiner: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finder::TaskLayout;

    fn task(address: u64, bytes: u64) -> FoundTask {
        FoundTask {
            address,
            layout: TaskLayout {
                size_bytes: bytes,
                joiner: bytes..bytes + 0x20,
                ..TaskLayout::default()
            },
            ..FoundTask::default()
        }
    }

    #[test]
    fn inner_memory_belongs_to_the_inner_task() {
        let cells = TaskRanges::of(&[task(0x1000, 0x1000), task(0x1800, 0x80), task(0x1900, 0x80)]);
        let owners = [0x1000, 0x1800, 0x189f, 0x18a0, 0x19a0, 0x201f];
        let owners = owners.map(|address| cells.containing(address).map(|cell| cell.address));
        let expected = [0x1000, 0x1800, 0x1800, 0x1000, 0x1000, 0x1000];
        assert_eq!(owners, expected.map(Some));
        assert_eq!(cells.containing(0x2020), None);
        assert_eq!(cells.containing(0xfff), None);
    }

    #[test]
    fn ambiguous_holders_are_unknown() {
        let (io, task, thread) = (
            WakerHolder::Io(Some(3)),
            WakerHolder::Task(TaskId(1)),
            WakerHolder::Thread(9),
        );
        let choose = |proven: &[_], in_memory: &[_], on_stacks: &[_], wakers| {
            let candidates = Candidates {
                proven: proven.to_vec(),
                in_memory: in_memory.to_vec(),
                on_stacks: on_stacks.to_vec(),
            };
            candidates.choose(wakers)
        };
        assert_eq!(choose(&[io], &[task], &[thread], 1), [io]);
        assert_eq!(choose(&[], &[task], &[thread], 1), [task]);
        assert_eq!(choose(&[], &[], &[thread], 1), [thread]);
        assert_eq!(choose(&[], &[task, task], &[], 1), [WakerHolder::Unknown]);
        assert_eq!(choose(&[io], &[task], &[], 3), [io, task]);
        assert_eq!(choose(&[io], &[task], &[thread], 0), []);
    }
}
