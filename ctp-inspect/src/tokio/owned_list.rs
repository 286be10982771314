//! Checks tasks by the list that owns them: the neighbours of a task point back to it.
//!
//! The lists change while they are read. Where neighbours disagree, they are read again.

use std::collections::{BTreeMap, HashMap};

use crate::finder::TaskVtable;
use crate::target::Target;
use crate::tokio::header::TaskHeader;

/// How often a task is read again because its neighbours disagree.
const MOST_READS: usize = 3;

/// The tasks by address.
pub type Headers = BTreeMap<u64, TaskHeader>;

/// Reads tasks of the known vtables.
pub struct HeaderReader<'t> {
    /// The memory.
    pub target: &'t dyn Target,
    /// The vtables by their address.
    pub vtables: &'t HashMap<u64, TaskVtable>,
}

/// What became of the candidates.
#[derive(Debug, Default)]
pub struct Checked {
    /// The tasks whose neighbours point back, and those without neighbours.
    pub tasks: Headers,
    /// How many candidates could not be told from remains of tasks.
    pub undecided: usize,
}

impl HeaderReader<'_> {
    /// Reads the task at an address. `None` if there is no task that has not ended.
    pub fn read(&self, address: u64) -> Option<TaskHeader> {
        let vtable = self
            .target
            .word(address.checked_add(super::header::VTABLE_OFFSET)?)?;
        let header = TaskHeader::read(self.target, None, address, self.vtables.get(&vtable)?)?;
        (header.vtable == vtable && header.is_plausible()).then_some(header)
    }
}

/// Keeps the candidates whose neighbours point back, and adds neighbours that are no candidates:
/// they were spawned after their memory was searched.
pub fn check(candidates: Headers, reader: &HeaderReader<'_>) -> Checked {
    let mut checked = Checked {
        tasks: candidates,
        undecided: 0,
    };
    // A list has fewer tasks than this, whatever the memory says: each has an address of its own.
    let mut pending: Vec<u64> = checked.tasks.keys().copied().collect();
    while let Some(address) = pending.pop() {
        let Some(header) = checked.tasks.get(&address).copied() else {
            continue;
        };
        if has_agreement(&header, &checked.tasks) {
            continue;
        }
        checked.tasks.remove(&address);
        match settle(address, reader) {
            Settled::Task(header, neighbours) => {
                checked.tasks.insert(address, header);
                for neighbour in neighbours {
                    let known = checked.tasks.insert(neighbour.address, neighbour);
                    if known.is_none() {
                        pending.push(neighbour.address);
                    }
                }
            }
            Settled::Ended => {}
            Settled::Undecided => checked.undecided += 1,
        }
    }
    checked
}

/// Whether the neighbours of a task, as they are known, point back.
fn has_agreement(header: &TaskHeader, tasks: &Headers) -> bool {
    let [previous, next] = header.neighbours;
    let known = |address| tasks.get(&address);
    (previous == 0 || known(previous).is_some_and(|task| is_before(task, header)))
        && (next == 0 || known(next).is_some_and(|task| is_before(header, task)))
}

fn is_before(first: &TaskHeader, second: &TaskHeader) -> bool {
    first.owner == second.owner
        && first.neighbours[1] == second.address
        && second.neighbours[0] == first.address
}

enum Settled {
    Task(TaskHeader, Vec<TaskHeader>),
    Ended,
    Undecided,
}

/// Reads a task and its neighbours until they agree.
fn settle(address: u64, reader: &HeaderReader<'_>) -> Settled {
    for _ in 0..MOST_READS {
        let Some(header) = reader.read(address) else {
            return Settled::Ended;
        };
        let others = header
            .neighbours
            .into_iter()
            .filter(|neighbour| *neighbour != 0);
        let neighbours: Vec<_> = others
            .filter_map(|neighbour| reader.read(neighbour))
            .collect();
        let tasks = neighbours
            .iter()
            .map(|task| (task.address, *task))
            .collect();
        if has_agreement(&header, &tasks) {
            return Settled::Task(header, neighbours);
        }
    }
    Settled::Undecided
}
