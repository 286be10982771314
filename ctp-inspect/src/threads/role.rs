//! [`RuntimeActivity`]: what a thread does for a runtime, by the functions on its stack.

use std::ops::Range;

use ctp_trace::record::ThreadRole;

use crate::threads::mark::RuntimeMark;

/// What a thread does for a runtime.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuntimeActivity {
    /// The role of the thread.
    pub role: ThreadRole,
    /// The frames of the innermost functions that poll a task; empty if there are none.
    pub poll: Range<usize>,
    /// The loop of a runtime is on the stack.
    pub has_loop: bool,
}

impl RuntimeActivity {
    /// What a thread with these marks on its frames does, innermost frame first. A frame has several marks if
    /// functions were inlined into its function.
    pub fn of(frames: &[Vec<RuntimeMark>]) -> Self {
        let mut polls: Vec<Range<usize>> = Vec::new();
        let mut is_parked = false;
        let mut gave_worker_away = false;
        let mut outermost = None;
        for (frame, mark) in flat(frames) {
            match mark {
                RuntimeMark::Poll => add(&mut polls, frame),
                RuntimeMark::Park => is_parked |= polls.is_empty(),
                RuntimeMark::BlockInPlace => gave_worker_away = true,
                RuntimeMark::Worker | RuntimeMark::SingleThread | RuntimeMark::BlockingPool => {
                    outermost = Some(mark);
                    break;
                }
            }
        }
        if outermost == Some(RuntimeMark::BlockingPool) {
            // A thread of the pool polls its closure like a task.
            polls.pop();
        }
        let poll = polls.first().cloned().unwrap_or_default();
        let role = match outermost {
            Some(RuntimeMark::BlockingPool) if poll.is_empty() => ThreadRole::Blocking,
            None if poll.is_empty() => ThreadRole::Other,
            Some(RuntimeMark::Worker) if gave_worker_away => ThreadRole::Blocking,
            _ if !poll.is_empty() => ThreadRole::Polling,
            _ if is_parked => ThreadRole::Parked,
            // Neither parked nor in a task: in the future that was given to `block_on`.
            Some(RuntimeMark::SingleThread) => ThreadRole::Polling,
            _ => ThreadRole::Worker,
        };
        RuntimeActivity {
            role,
            poll,
            has_loop: matches!(
                outermost,
                Some(RuntimeMark::Worker | RuntimeMark::SingleThread)
            ),
        }
    }
}

fn flat(frames: &[Vec<RuntimeMark>]) -> impl Iterator<Item = (usize, RuntimeMark)> {
    let frames = frames.iter().enumerate();
    frames.flat_map(|(frame, marks)| marks.iter().map(move |mark| (frame, *mark)))
}

/// Adds a frame that polls. Functions that call each other directly poll the same task.
fn add(polls: &mut Vec<Range<usize>>, frame: usize) {
    match polls.last_mut() {
        Some(last) if frame <= last.end => last.end = frame + 1,
        _ => polls.push(frame..frame + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn activity(marks: &[&[RuntimeMark]]) -> (ThreadRole, Range<usize>) {
        let frames: Vec<Vec<RuntimeMark>> = marks.iter().map(|marks| marks.to_vec()).collect();
        let RuntimeActivity { role, poll, .. } = RuntimeActivity::of(&frames);
        (role, poll)
    }

    const NONE: &[RuntimeMark] = &[];
    const POLL: &[RuntimeMark] = &[RuntimeMark::Poll];
    const PARK: &[RuntimeMark] = &[RuntimeMark::Park];
    const POOL: &[RuntimeMark] = &[RuntimeMark::BlockingPool];

    #[test]
    fn loop_of_worker_is_not_a_poll() {
        let worker: &[RuntimeMark] = &[RuntimeMark::Worker, RuntimeMark::Poll];
        let idle = activity(&[NONE, PARK, worker, POOL]);
        assert_eq!(idle, (ThreadRole::Parked, 0..0));
        let searching = activity(&[NONE, worker, POOL]);
        assert_eq!(searching, (ThreadRole::Worker, 0..0));
        let polling = activity(&[NONE, POLL, POLL, NONE, worker, POOL]);
        assert_eq!(polling, (ThreadRole::Polling, 1..3));
    }

    #[test]
    fn innermost_task_is_polled() {
        let nested = activity(&[NONE, POLL, NONE, POLL, &[RuntimeMark::SingleThread]]);
        assert_eq!(nested, (ThreadRole::Polling, 1..2));
        let local = activity(&[NONE, POLL, NONE]);
        assert_eq!(local, (ThreadRole::Polling, 1..2));
    }

    #[test]
    fn block_in_place_gives_the_worker_away() {
        let worker: &[RuntimeMark] = &[RuntimeMark::Worker];
        let in_place = activity(&[PARK, &[RuntimeMark::BlockInPlace], POLL, worker]);
        assert_eq!(in_place, (ThreadRole::Blocking, 2..3));
    }

    #[test]
    fn pool_polls_its_closures() {
        assert_eq!(activity(&[NONE, POLL, POOL]), (ThreadRole::Blocking, 0..0));
        assert_eq!(activity(&[NONE, POOL]), (ThreadRole::Blocking, 0..0));
        let local = activity(&[NONE, POLL, NONE, POLL, POOL]);
        assert_eq!(local, (ThreadRole::Polling, 1..2));
    }

    #[test]
    fn single_thread_runs_its_future() {
        let single: &[RuntimeMark] = &[RuntimeMark::SingleThread];
        assert_eq!(activity(&[NONE, single]), (ThreadRole::Polling, 0..0));
        assert_eq!(activity(&[PARK, single]), (ThreadRole::Parked, 0..0));
        assert_eq!(activity(&[PARK]), (ThreadRole::Other, 0..0));
        assert_eq!(activity(&[]), (ThreadRole::Other, 0..0));
    }
}
