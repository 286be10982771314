//! Checks tasks by the list that owns them: the neighbours of a task point back to it.
//!
//! The lists change while they are read. Where neighbours disagree, they are read again.

use std::collections::BTreeMap;
use std::thread;
use std::time::Duration;

use foldhash::HashMap;

use crate::scan::MemoryPiece;
use crate::stack_ranges::StackRanges;
use crate::target::Target;
use crate::tokio::header::TaskHeader;
use crate::tokio::vtable::TaskVtable;

/// How often a task with disagreeing neighbours is read without pauses.
const MAX_READS: u32 = 3;
/// How often the task is then read after a pause.
const MAX_PAUSES: u32 = 6;
/// The thread that changes a list may lose its processor meanwhile. A pause lets the thread go on. Each further
/// pause takes twice as long.
const FIRST_PAUSE: Duration = Duration::from_micros(200);
/// All pauses of an inspection take at most this long.
const MAX_PAUSED: Duration = Duration::from_millis(50);

/// The tasks by address.
pub type Headers = BTreeMap<u64, TaskHeader>;

/// Reads tasks of the known vtables.
pub struct HeaderReader<'t> {
    /// The memory.
    pub target: &'t dyn Target,
    /// The vtables by their address.
    pub vtables: &'t HashMap<u64, TaskVtable>,
}

/// The candidates after the check.
#[derive(Debug, Default)]
pub struct CheckedCandidates {
    /// The tasks with neighbours that point back, and those without neighbours.
    pub tasks: Headers,
    /// How many candidates could not be distinguished from remains of tasks.
    pub undecided: usize,
}

impl HeaderReader<'_> {
    /// Reads the task at an address, which may have ended. `None` if there is none.
    pub fn read(&self, address: u64) -> Option<TaskHeader> {
        self.read_in(None, address)
    }

    /// Like [`read`](Self::read), from the piece as far as the piece has the words.
    pub fn read_in(&self, piece: Option<&MemoryPiece<'_>>, address: u64) -> Option<TaskHeader> {
        let at = address.checked_add(super::header::VTABLE_OFFSET)?;
        let word = piece.and_then(|piece| piece.word(at));
        let vtable = word.or_else(|| self.target.word(at))?;
        let header = TaskHeader::read(self.target, piece, address, self.vtables.get(&vtable)?)?;
        (header.vtable == vtable).then_some(header)
    }
}

/// Keeps the candidates with neighbours that point back. Adds neighbours that are no candidates:
/// they were spawned after their memory was searched.
pub fn check(
    candidates: Headers,
    reader: &HeaderReader<'_>,
    stacks: &StackRanges,
) -> CheckedCandidates {
    let mut checked = CheckedCandidates {
        tasks: candidates,
        undecided: 0,
    };
    let mut pauses_left = MAX_PAUSED;
    // The candidates, and later the neighbours that were added.
    let mut pending: Vec<u64> = checked.tasks.keys().copied().collect();
    while let Some(address) = pending.pop() {
        let Some(header) = checked.tasks.get(&address) else {
            continue;
        };
        if has_agreement(header, &checked.tasks) {
            continue;
        }
        checked.tasks.remove(&address);
        match settle(address, reader, &mut pauses_left) {
            Settled::Task(header, neighbours) => {
                checked.tasks.insert(address, header);
                for neighbour in neighbours {
                    if checked.tasks.insert(neighbour.address, neighbour).is_none() {
                        pending.push(neighbour.address);
                    }
                }
            }
            Settled::Ended => {}
            // Old contents of a stack, half overwritten, may have any owner and any neighbours.
            Settled::Undecided if stacks.containing(address).is_some() => {}
            Settled::Undecided => checked.undecided += 1,
        }
    }
    checked
}

/// Whether the neighbours of a task, as they are known, point back.
fn has_agreement(header: &TaskHeader, tasks: &Headers) -> bool {
    let [previous, next] = header.neighbours;
    let (before, after) = (tasks.get(&previous), tasks.get(&next));
    (previous == 0 || before.is_some_and(|task| is_before(task, header)))
        && (next == 0
            || after.is_some_and(|task| {
                is_before(header, task) || is_removed_between(header, task, tasks)
            }))
}

/// Whether a task between these two is about to leave the list: of the two, only the first has been changed.
fn is_removed_between(first: &TaskHeader, second: &TaskHeader, tasks: &Headers) -> bool {
    let between = tasks.get(&second.neighbours[0]);
    between
        .is_some_and(|between| between.neighbours[0] == first.address && is_before(between, second))
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
fn settle(address: u64, reader: &HeaderReader<'_>, pauses_left: &mut Duration) -> Settled {
    for read in 0..MAX_READS + MAX_PAUSES {
        if MAX_READS <= read && !pause(read - MAX_READS, pauses_left) {
            break;
        }
        let header = reader.read(address);
        let Some(header) = header.filter(TaskHeader::is_plausible) else {
            return Settled::Ended;
        };
        let mut neighbours = neighbours_of(&header, reader);
        if has_agreement(&header, &neighbours) {
            neighbours.retain(|_, task| task.is_plausible());
            return Settled::Task(header, neighbours.into_values().collect());
        }
    }
    Settled::Undecided
}

/// Pauses. `earlier` is the number of earlier pauses for the same task. Returns false, without a pause, if too little
/// time is left.
fn pause(earlier: u32, left: &mut Duration) -> bool {
    let time = FIRST_PAUSE * 2_u32.pow(earlier);
    let Some(rest) = left.checked_sub(time) else {
        return false;
    };
    *left = rest;
    thread::sleep(time);
    true
}

/// The neighbours of a task, and the previous neighbour of its next neighbour. A task that has ended stays in the list
/// for some time.
fn neighbours_of(header: &TaskHeader, reader: &HeaderReader<'_>) -> Headers {
    let [previous, next] = header.neighbours;
    let next = (next != 0).then(|| reader.read(next)).flatten();
    let between = next.map_or(0, |next| next.neighbours[0]);
    let others = [previous, between].into_iter();
    let others = others.filter(|other| ![0, header.address].contains(other));
    let others = others.filter_map(|other| reader.read(other));
    others
        .chain(next)
        .map(|task| (task.address, task))
        .collect()
}
