//! A coroutine that waits for the end of a task.

use ctp_trace::record::*;

use super::builder::{MS, SECOND, Trace, wait};

const MAIN: &str = "src/main.rs";
const TID: u64 = 4126;

/// Two jobs wait, and so does the coroutine that spawned these and a third, which has ended. None of them
/// announced its wait. The kinds of the leaf futures are known.
pub fn joiner() -> Vec<u8> {
    let mut t = Trace::of("./joiner");
    t.thread_event(MS, TID, Act::Begin);
    let spawn = t.source(MAIN, 7);
    let join = t.source(MAIN, 12);
    let job = t.source(MAIN, 20);
    for (site, kind) in [(join, LeafKind::Task), (job, LeafKind::Message)] {
        t.add(Record::Leaf(Leaf {
            site,
            kind,
            ..Leaf::default()
        }));
    }
    let parent = t.born("batch", spawn, MS);
    t.run(parent, 2 * MS, TID);
    let jobs: Vec<_> = (3..6).map(|at| t.born("job", spawn, at * MS)).collect();
    t.suspend(parent, 7 * MS, TID, wait(join, WaitKind::Unknown, 0));
    for (at, &child) in (10..).zip(&jobs) {
        t.run(child, at * MS, TID);
        t.suspend(child, at * MS + 1, TID, wait(job, WaitKind::Unknown, 0));
    }
    t.run(jobs[1], SECOND, TID);
    t.death(jobs[1], SECOND + MS);
    for coroutine in [parent, jobs[0], jobs[2]] {
        t.event_counts(coroutine, None, false);
    }
    t.finish()
}
