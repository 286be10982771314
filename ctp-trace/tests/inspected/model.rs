//! What the model derives from the records of inspections.

use ctp_trace::model::innermost;
use ctp_trace::record::*;
use ctp_trace::verdict::Verdict;
use ctp_trace::verdict::inspected::InspectedReason as Reason;

use super::program::{PROCESS, Program, found, stack, task, thread, wait};

/// A task that no waker is left for.
fn lost() -> InspectedTask {
    InspectedTask {
        wakers: Some(0),
        waits: vec![wait(1, Resource::Readable(7))],
        ..task(1, 1)
    }
}

fn reading() -> Record {
    stack(1, &[(0, "serve"), (1, "Readiness")])
}

// CT-14
#[test]
fn unchanged_tasks_need_no_further_record() {
    let mut program = Program::default();
    program.inspect(&[reading(), found(lost())], &[]);
    assert_eq!(program.verdicts(), [(Verdict::Waiting, Reason::SeenOnce)]);
    program.inspect(&[], &[]);
    assert_eq!(program.verdicts(), [(Verdict::Stuck, Reason::NoWaker)]);
    let found_again = InspectedTask {
        wakers: Some(1),
        ..lost()
    };
    program.inspect(&[found(found_again)], &[]);
    assert_eq!(program.verdicts(), [(Verdict::Waiting, Reason::Waits)]);
    program.inspect(&[], &[1]);
    assert_eq!(program.verdicts(), []);
}

// CT-18
#[test]
fn a_core_file_is_enough_unless_a_thread_wakes_the_task() {
    let verdict = |task| {
        let mut program = Program::of_core_file();
        program.inspect(&[reading(), found(task)], &[]);
        program.verdicts()[0]
    };
    assert_eq!(verdict(lost()), (Verdict::Stuck, Reason::NoWaker));
    let mut leaf_lost = InspectedTask {
        wakers: Some(1),
        waker_holders: vec![WakerHolder::Io(Some(7))],
        ..lost()
    };
    leaf_lost.waits[0].has_waker = Some(false);
    let likely = (Verdict::MaybeStuck, Reason::LeafWithoutWaker);
    assert_eq!(verdict(leaf_lost.clone()), likely);
    leaf_lost.waker_holders = vec![WakerHolder::Thread(71)];
    let once = (Verdict::Waiting, Reason::SeenOnce);
    assert_eq!(verdict(leaf_lost), once);
}

#[test]
fn a_core_file_does_not_say_which_timers_were_due() {
    let sleeping = InspectedTask {
        waits: vec![wait(1, Resource::Timer(Nanos(0)))],
        ..task(1, 1)
    };
    let mut program = Program::of_core_file();
    let worker = thread(7, ThreadRole::Parked, Some(202));
    program.inspect(&[reading(), found(sleeping), worker], &[]);
    assert_eq!(program.verdicts(), [(Verdict::Waiting, Reason::Waits)]);
}

#[test]
fn a_core_file_has_busy_threads_in_calls_that_wait() {
    let verdict = |call: &str| {
        let polling = InspectedTask {
            state: TaskState::Running,
            ..task(1, 1)
        };
        let thread = Record::InspectedThread(InspectedThread {
            process: PROCESS,
            tid: 7,
            role: ThreadRole::Polling,
            syscall: Some(1),
            call: call.to_owned(),
            polls: Some(TaskId(1)),
            ..InspectedThread::default()
        });
        let mut program = Program::of_core_file();
        program.inspect(&[found(polling), thread], &[]);
        program.verdicts()[0].0
    };
    assert_eq!(verdict("clock_nanosleep"), Verdict::Busy);
    assert_eq!(verdict("tgkill"), Verdict::Waiting);
}

#[test]
fn an_unfinished_inspection_does_not_count() {
    let mut program = Program::default();
    program.inspect(&[reading(), found(lost())], &[]);
    program.begin(&[found(task(1, 1))]);
    assert_eq!(program.verdicts(), [(Verdict::Waiting, Reason::SeenOnce)]);
    let (id, process) = program.model().inspected().next().expect("a process");
    assert_eq!((id, process.times.len()), (PROCESS, 1));
}

#[test]
fn workers_are_no_tasks_of_the_blocking_pool() {
    let closure = |id, tid| {
        found(InspectedTask {
            kind: TaskKind::Blocking,
            state: TaskState::Running,
            polled_by: tid,
            ..task(id, 0)
        })
    };
    let parked = thread(71, ThreadRole::Parked, Some(202));
    let blocking = thread(72, ThreadRole::Blocking, Some(0));
    let mut program = Program::default();
    program.inspect(&[closure(1, 71), closure(2, 72), parked, blocking], &[]);
    let (_, process) = program.model().inspected().next().expect("a process");
    assert_eq!(process.tasks.keys().collect::<Vec<_>>(), [&TaskId(2)]);
}

#[test]
fn branches_end_in_innermost_frames() {
    let frames = [(0, "serve"), (1, "select"), (2, "a"), (2, "b"), (3, "c")];
    let Record::AwaitStack(stack) = stack(1, &frames) else {
        panic!("a stack")
    };
    assert_eq!(innermost(&stack), [2, 4]);
}

#[test]
fn the_timer_of_a_timeout_is_no_leaf() {
    let frames = [
        (0, "serve"),
        (1, "tokio::time::Timeout"),
        (2, "recv"),
        (2, "Sleep"),
    ];
    let mut lost = InspectedTask {
        waits: vec![
            wait(2, Resource::Channel(9)),
            wait(3, Resource::Timer(Nanos(1 << 60))),
        ],
        ..task(1, 1)
    };
    lost.waits[0].has_waker = Some(false);
    let mut program = Program::default();
    program.inspect(&[stack(1, &frames), found(lost.clone())], &[]);
    program.inspect(&[], &[]);
    let likely = (Verdict::MaybeStuck, Reason::LeafWithoutWaker);
    assert_eq!(program.verdicts(), [likely]);
    let frames = [(0, "serve"), (1, "select"), (2, "recv"), (2, "Sleep")];
    program.inspect(
        &[
            stack(2, &frames),
            found(InspectedTask {
                stack: AwaitStackId(2),
                ..lost
            }),
        ],
        &[],
    );
    program.inspect(&[], &[]);
    assert_eq!(program.verdicts(), [(Verdict::Waiting, Reason::Waits)]);
}

/// The verdict on a `select!` of a future of an unknown type and another branch.
fn with_branch(has_waker: Option<bool>, name: &str, resource: Resource) -> (Verdict, Reason) {
    let mut task = InspectedTask {
        wakers: Some(2),
        waits: vec![wait(2, Resource::Unknown), wait(3, resource)],
        ..task(1, 1)
    };
    task.waits[0].has_waker = has_waker;
    task.waits[0].always_registers = false;
    let frames = [(0, "serve"), (1, "select"), (2, "GetPermit"), (2, name)];
    let mut program = Program::default();
    program.inspect(&[stack(1, &frames), found(task)], &[]);
    program.inspect(&[], &[]);
    program.verdicts()[0]
}

// CT-14
#[test]
fn a_leaf_without_waker_counts_beside_others() {
    let channel = Resource::Channel(9);
    let likely = (Verdict::MaybeStuck, Reason::LeafWithoutWaker);
    assert_eq!(with_branch(Some(false), "Notified", channel), likely);
    let waits = (Verdict::Waiting, Reason::Waits);
    assert_eq!(with_branch(Some(true), "Notified", channel), waits);
    let timer = Resource::Timer(Nanos(1 << 60));
    assert_eq!(with_branch(Some(false), "Sleep", timer), waits);
}

#[test]
fn an_unsettled_leaf_is_a_gap() {
    let verdict = with_branch(None, "Notified", Resource::Channel(9));
    assert_eq!(verdict, (Verdict::Waiting, Reason::LeafUnknown));
    assert!(verdict.1.is_gap());
}

#[test]
fn a_leaf_that_waits_forever_needs_no_waker() {
    let mut ticking = InspectedTask {
        waits: vec![wait(2, Resource::Unknown), wait(3, Resource::Channel(9))],
        ..task(1, 1)
    };
    ticking.waits[0].has_waker = Some(false);
    let frames = [(0, "serve"), (1, "select"), (2, "Pending"), (2, "Notified")];
    let mut program = Program::default();
    program.inspect(&[stack(1, &frames), found(ticking)], &[]);
    program.inspect(&[], &[]);
    assert_eq!(program.verdicts(), [(Verdict::Waiting, Reason::Waits)]);
}

#[test]
fn wakers_must_all_be_found_to_be_its_own() {
    let verdict = |wakers, holders: &[WakerHolder]| {
        let mut program = Program::default();
        let own = InspectedTask {
            wakers: Some(wakers),
            waker_holders: holders.to_vec(),
            ..lost()
        };
        program.inspect(&[reading(), found(own)], &[]);
        program.inspect(&[], &[]);
        program.verdicts()[0].1
    };
    let own = WakerHolder::Own;
    assert_eq!(verdict(1, &[own]), Reason::OwnWaker);
    assert_eq!(verdict(2, &[own]), Reason::Waits);
    assert_eq!(verdict(2, &[own, WakerHolder::Unknown]), Reason::Waits);
}

#[test]
fn a_late_timer_was_due_at_both_inspections() {
    let verdict = |deadline| {
        let sleeping = InspectedTask {
            waits: vec![wait(0, Resource::Timer(Nanos(deadline)))],
            ..task(1, 1)
        };
        let mut program = Program::default();
        let worker = thread(7, ThreadRole::Parked, Some(202));
        program.inspect(&[stack(1, &[(0, "Sleep")]), found(sleeping), worker], &[]);
        program.inspect(&[], &[]);
        program.verdicts()[0].1
    };
    assert_eq!(verdict(1_000_000_000), Reason::Overdue);
    assert_eq!(verdict(1_000_000_001), Reason::Waits);
}

#[test]
fn a_late_timer_in_a_polled_branch_counts() {
    let verdict = |is_polled| {
        let timer = TaskWait {
            always_registers: is_polled,
            ..wait(2, Resource::Timer(Nanos(1)))
        };
        let waiting = InspectedTask {
            waits: vec![wait(1, Resource::Notify(8)), timer],
            ..task(1, 1)
        };
        let frames = [(0, "tokio::select!"), (1, "Notified"), (1, "Sleep")];
        let mut program = Program::default();
        let worker = thread(7, ThreadRole::Parked, Some(202));
        program.inspect(&[stack(1, &frames), found(waiting), worker], &[]);
        program.inspect(&[], &[]);
        program.verdicts()[0].1
    };
    assert_eq!(verdict(true), Reason::Overdue);
    assert_eq!(verdict(false), Reason::Waits);
}

#[test]
fn parked_workers_of_tokio_run_no_other_tasks() {
    let queued = |id, kind| InspectedTask {
        kind,
        state: TaskState::Notified,
        ..task(id, 0)
    };
    let mut program = Program::default();
    let worker = thread(7, ThreadRole::Parked, Some(202));
    let tasks = [
        found(queued(1, TaskKind::Tokio)),
        found(queued(2, TaskKind::AsyncTask)),
        worker,
    ];
    program.inspect(&tasks, &[]);
    program.inspect(&[], &[]);
    let reasons = program.verdicts().into_iter().map(|(_, reason)| reason);
    let reasons: Vec<_> = reasons.collect();
    assert_eq!(reasons, [Reason::NotRun, Reason::QueuedUnseen]);
}

#[test]
fn a_thread_in_the_same_call_keeps_its_task() {
    let polled = InspectedTask {
        state: TaskState::Running,
        polled_by: 7,
        ..task(1, 0)
    };
    let worker = InspectedTask {
        kind: TaskKind::Blocking,
        ..InspectedTask {
            id: TaskId(3),
            ..polled.clone()
        }
    };
    let queued = InspectedTask {
        state: TaskState::Notified,
        ..task(2, 0)
    };
    let mut program = Program::default();
    let polling = thread(7, ThreadRole::Polling, Some(230));
    let tasks = [found(polled), found(queued), found(worker), polling];
    program.inspect(&tasks, &[]);
    assert_eq!(program.verdicts()[0].1, Reason::Runs);
    program.inspect(&[], &[]);
    let behind = (Verdict::Waiting, Reason::BehindBusy);
    let busy = (Verdict::Busy, Reason::InCall);
    assert_eq!(program.verdicts(), [busy, behind]);
    program.inspect(&[thread(7, ThreadRole::Polling, Some(1))], &[]);
    assert_eq!(program.verdicts()[0].1, Reason::Runs);
}
