//! Deadlocks of inspected tasks, and the tasks behind them.

use ctp_trace::record::*;
use ctp_trace::verdict::Verdict;
use ctp_trace::verdict::inspected::InspectedReason as Reason;

use super::program::{Program, found, hold, stack, task, wait};

/// A task that waits for one lock and holds another.
fn between(id: u32, waits_for: Resource, holds: Option<HeldLock>) -> InspectedTask {
    InspectedTask {
        waits: vec![wait(1, waits_for)],
        holds: holds.into_iter().collect(),
        ..task(id, 1)
    }
}

fn locking() -> Record {
    stack(1, &[(0, "transfer"), (1, "Mutex::lock")])
}

fn verdicts(tasks: Vec<InspectedTask>) -> Vec<(Verdict, Reason)> {
    let mut program = Program::default();
    let tasks = tasks.into_iter().map(found);
    let records: Vec<Record> = [locking()].into_iter().chain(tasks).collect();
    program.inspect(&records, &[]);
    let early = program.verdicts();
    assert!(
        early
            .iter()
            .all(|(verdict, _)| *verdict == Verdict::Waiting)
    );
    program.inspect(&[], &[]);
    program.verdicts()
}

const A: Resource = Resource::Mutex(0xa);
const B: Resource = Resource::Mutex(0xb);
const DEADLOCK: (Verdict, Reason) = (Verdict::Deadlock, Reason::Deadlock);

// CT-15
#[test]
fn two_tasks_hold_what_the_other_wants() {
    let found = verdicts(vec![
        between(1, A, Some(hold(B, true))),
        between(2, B, Some(hold(A, true))),
        between(3, A, None),
        between(4, Resource::Task(TaskId(3)), None),
        between(5, Resource::Mutex(0xc), None),
    ]);
    let behind = (Verdict::Stuck, Reason::Behind);
    assert_eq!(found[..4], [DEADLOCK, DEADLOCK, behind, behind]);
    assert_eq!(found[4].0, Verdict::Waiting);
}

#[test]
fn a_task_may_wait_for_its_own_lock() {
    assert_eq!(
        verdicts(vec![between(1, A, Some(hold(A, true)))]),
        [DEADLOCK]
    );
}

#[test]
fn shared_locks_make_a_cycle_likely() {
    let shared = Resource::RwLock(0xb);
    let found = verdicts(vec![
        between(1, A, Some(hold(shared, false))),
        between(2, shared, Some(hold(A, true))),
    ]);
    assert_eq!(found, [(Verdict::MaybeStuck, Reason::Deadlock); 2]);
}

// CT-15
#[test]
fn room_that_only_a_waiting_reader_makes_is_a_likely_cycle() {
    let room = Resource::Room(0xb);
    let found = verdicts(vec![
        between(1, Resource::Task(TaskId(2)), Some(hold(room, false))),
        between(2, room, None),
        between(3, room, None),
        between(
            4,
            Resource::Channel(0xc),
            Some(hold(Resource::Room(0xc), false)),
        ),
    ]);
    let likely = (Verdict::MaybeStuck, Reason::Deadlock);
    assert_eq!(found[..2], [likely; 2]);
    assert_eq!(found[2], (Verdict::MaybeStuck, Reason::Behind));
    // A reader that waits for a message is not in need of room.
    assert_eq!(found[3], (Verdict::Waiting, Reason::Waits));
}

#[test]
fn a_holder_that_continues_ends_no_task() {
    let mut holder = between(1, B, Some(hold(A, true)));
    holder.state = TaskState::Running;
    let found = verdicts(vec![holder, between(2, A, Some(hold(B, true)))]);
    assert_eq!(found[1], (Verdict::Waiting, Reason::Waits));
}

/// The verdicts of two tasks in a cycle, each of which has another branch.
fn with_branch(name: &str, resource: Resource) -> Vec<(Verdict, Reason)> {
    let frames = [(0, "transfer"), (1, "Mutex::lock"), (1, name)];
    let with_branch = |mut task: InspectedTask| {
        task.waits.push(wait(2, resource));
        task.stack = AwaitStackId(2);
        found(task)
    };
    let mut program = Program::default();
    let tasks = [
        stack(2, &frames),
        with_branch(between(1, A, Some(hold(B, true)))),
        with_branch(between(2, B, Some(hold(A, true)))),
    ];
    program.inspect(&tasks, &[]);
    program.inspect(&[], &[]);
    program.verdicts()
}

// CT-15
#[test]
fn another_branch_makes_a_cycle_likely() {
    let likely = (Verdict::MaybeStuck, Reason::Deadlock);
    assert_eq!(with_branch("Notified", Resource::Channel(9)), [likely; 2]);
    assert_eq!(with_branch("Readiness", Resource::Readable(9)), [likely; 2]);
}

#[test]
fn a_timer_beside_a_lock_ends_a_cycle() {
    let timer = Resource::Timer(Nanos(1 << 60));
    assert_eq!(
        with_branch("Sleep", timer),
        [(Verdict::Waiting, Reason::Waits); 2]
    );
}

#[test]
fn only_locks_count_beside_other_branches() {
    let frames = [(0, "supervise"), (1, "JoinHandle"), (1, "Notified")];
    let supervisor = InspectedTask {
        waits: vec![
            wait(1, Resource::Task(TaskId(2))),
            wait(2, Resource::Channel(9)),
        ],
        ..task(1, 2)
    };
    let lost = InspectedTask {
        wakers: Some(0),
        ..between(2, A, None)
    };
    let mut program = Program::default();
    let records = [stack(2, &frames), locking(), found(supervisor), found(lost)];
    program.inspect(&records, &[]);
    program.inspect(&[], &[]);
    assert_eq!(program.verdicts()[0], (Verdict::Waiting, Reason::Waits));
}

#[test]
fn tasks_wait_behind_a_lost_task() {
    let lost = InspectedTask {
        wakers: Some(0),
        ..between(1, Resource::Readable(7), Some(hold(A, true)))
    };
    let found = verdicts(vec![
        lost,
        between(2, A, Some(hold(B, true))),
        between(3, B, None),
    ]);
    let behind = (Verdict::Stuck, Reason::Behind);
    assert_eq!(found, [(Verdict::Stuck, Reason::NoWaker), behind, behind]);
}

/// A boxed future in a set that task 1 polls.
fn boxed(id: u32, waits_for: Resource, holds: Option<HeldLock>) -> InspectedTask {
    InspectedTask {
        kind: TaskKind::Boxed,
        owner: TaskOwner::Task(TaskId(1)),
        ..between(id, waits_for, holds)
    }
}

const MAYBE_DEADLOCK: (Verdict, Reason) = (Verdict::MaybeStuck, Reason::Deadlock);

// CT-15
#[test]
fn boxed_futures_of_a_set_wait_for_each_other() {
    let other = Resource::Timer(Nanos(1 << 60));
    let parent = InspectedTask {
        waits: vec![wait(0, A), wait(1, other)],
        holds: vec![hold(A, true), hold(B, true)],
        ..task(1, 1)
    };
    let found = verdicts(vec![
        parent,
        boxed(2, A, Some(hold(B, true))),
        boxed(3, B, Some(hold(A, true))),
    ]);
    assert_eq!(found[0].0, Verdict::Waiting);
    assert_eq!(found[1..], [MAYBE_DEADLOCK; 2]);
}

#[test]
fn other_tasks_wait_for_the_task_with_the_set() {
    let found = verdicts(vec![
        between(1, A, Some(hold(A, true))),
        boxed(2, A, Some(hold(A, true))),
        between(3, A, None),
    ]);
    assert_eq!(found[0], DEADLOCK);
    assert_eq!(found[2], (Verdict::Stuck, Reason::Behind));
}

#[test]
fn futures_that_may_be_freed_hold_nothing() {
    let freed = InspectedTask {
        may_be_freed: true,
        ..boxed(2, A, Some(hold(B, true)))
    };
    let found = verdicts(vec![between(1, B, Some(hold(A, true))), freed]);
    assert_eq!(found[0].0, Verdict::Waiting);
    assert_eq!(found[1], (Verdict::Waiting, Reason::MayBeFreed));
}
