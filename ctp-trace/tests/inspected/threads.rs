//! What threads did from a time on, and inspections of threads only.

use ctp_trace::model::{ThreadActivity, ThreadFacts};
use ctp_trace::record::*;
use ctp_trace::verdict::Verdict;
use ctp_trace::verdict::inspected::InspectedReason;

use crate::program::{Program, found, stack, task, thread, wait};

const SECOND: u64 = 1_000_000_000;

/// A thread in a system call, or running without any.
fn moved(syscall: Option<u32>, switches: u64) -> Record {
    Record::InspectedThread(InspectedThread {
        process: ProcessId(1),
        tid: 7,
        syscall,
        switches,
        is_running: syscall.is_none(),
        ..InspectedThread::default()
    })
}

/// What the thread did from this second on.
fn facts(program: &Program, since: u64) -> Option<ThreadFacts<'_>> {
    let mut all = program.model().inspected_threads();
    let (_, threads) = all.next()?;
    threads.facts(7, Nanos(since * SECOND))
}

fn activity(program: &Program, since: u64) -> Option<(ThreadActivity, usize)> {
    facts(program, since).map(|facts| (facts.activity, facts.inspections))
}

// STB-21
#[test]
fn thread_in_same_call_without_a_switch_is_blocked() {
    let mut program = Program::default();
    program.inspect_threads(&[moved(Some(1), 4)]);
    assert_eq!(activity(&program, 0), Some((ThreadActivity::InCall, 1)));
    program.inspect_threads(&[]);
    program.inspect_threads(&[]);
    assert_eq!(activity(&program, 0), Some((ThreadActivity::Blocked, 3)));
    let found = facts(&program, 2).expect("two inspections");
    assert_eq!(found.first, Nanos(2 * SECOND));
    assert_eq!(found.last, Nanos(3 * SECOND));
}

#[test]
fn inspections_before_the_time_do_not_count() {
    let mut program = Program::default();
    program.inspect_threads(&[moved(Some(1), 4)]);
    program.inspect_threads(&[]);
    assert_eq!(activity(&program, 2), Some((ThreadActivity::InCall, 1)));
    assert_eq!(activity(&program, 3), None);
}

#[test]
fn thread_that_was_switched_is_not_blocked() {
    let mut program = Program::default();
    program.inspect_threads(&[moved(Some(1), 4)]);
    program.inspect_threads(&[moved(Some(1), 5)]);
    assert_eq!(activity(&program, 0), Some((ThreadActivity::InCall, 2)));
    program.inspect_threads(&[moved(Some(2), 6)]);
    assert_eq!(activity(&program, 0), Some((ThreadActivity::InCall, 1)));
}

#[test]
fn thread_that_runs_at_each_inspection_computes() {
    let mut program = Program::default();
    program.inspect_threads(&[moved(Some(1), 4)]);
    program.inspect_threads(&[moved(None, 5)]);
    program.inspect_threads(&[moved(None, 9)]);
    assert_eq!(activity(&program, 0), Some((ThreadActivity::Running, 2)));
}

#[test]
fn state_that_the_kernel_does_not_say_is_unknown() {
    let mut program = Program::default();
    program.inspect_threads(&[thread(7, ThreadRole::Other, None)]);
    program.inspect_threads(&[]);
    assert_eq!(activity(&program, 0), Some((ThreadActivity::Unknown, 2)));
}

// A task may have run between the inspections of tasks, whatever those of threads show.
#[test]
fn inspections_of_threads_prove_nothing_about_tasks() {
    let mut program = Program::default();
    let mut waiting = task(1, 1);
    waiting.wakers = Some(0);
    waiting.waits = vec![wait(0, Resource::Notify(9))];
    program.inspect(&[stack(1, &[(0, "Notified")]), found(waiting)], &[]);
    for _ in 0..3 {
        program.inspect_threads(&[]);
    }
    let seen_once = (Verdict::Waiting, InspectedReason::SeenOnce);
    assert_eq!(program.verdicts(), [seen_once]);
    program.inspect(&[], &[]);
    assert_eq!(program.verdicts()[0].0, Verdict::Stuck);
}

#[test]
fn processes_with_inspected_threads_have_no_inspected_tasks() {
    let mut program = Program::default();
    program.inspect_threads(&[moved(None, 1)]);
    assert_eq!(program.model().inspected().count(), 0);
    assert_eq!(program.model().inspected_threads().count(), 1);
}
