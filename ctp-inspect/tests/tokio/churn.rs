//! Inspections while tasks come and go.

use std::collections::{BTreeMap, HashSet};

use ctp_inspect::TraceIds;
use ctp_trace::record::{InspectedTask, TaskId, TaskState};

use crate::program::{Entry, Program, inspect, inspector};

const INSPECTIONS: usize = 100;
/// Each has at most one short task.
const SPAWNERS: usize = 20;

#[test]
fn totals_lie_between_counts_in_all_inspections() {
    let mut program = Program::start("churn", SPAWNERS);
    let Some(mut inspector) = inspector(&program) else {
        return;
    };
    let mut ids = TraceIds::default();
    let mut tasks: BTreeMap<TaskId, InspectedTask> = BTreeMap::new();
    for number in 0..INSPECTIONS {
        let before = (program.tasks(), program.counts());
        let inspected = inspect(&mut inspector, &mut ids);
        let after = (program.counts(), program.tasks());
        for task in inspected.spawned() {
            tasks.insert(task.id, task.clone());
        }
        tasks.retain(|id, _| !inspected.end.ended.contains(id));
        let gaps = &inspected.end.gaps;
        assert!(!gaps.iter().any(|gap| gap.contains("memory")), "{gaps:?}");
        let found = tasks
            .values()
            .map(|task| (task.address, task.state))
            .collect();
        check_lives(&found, &before.0, &after.1, number);
        let alive = [before.1, after.0].map(|[spawned, ended]| spawned - ended);
        let least = alive[0].min(alive[1]) - SPAWNERS;
        let most = alive[0].max(alive[1]) + SPAWNERS;
        assert!(
            least <= found.len() && found.len() <= most,
            "inspection {number}: {} of {least} to {most}",
            found.len()
        );
    }
}

/// Every task that lives throughout is found, and none that has ended before.
fn check_lives(
    found: &HashSet<(u64, TaskState)>,
    before: &BTreeMap<u64, Entry>,
    after: &BTreeMap<u64, Entry>,
    number: usize,
) {
    let unchanged = before
        .iter()
        .filter(|(address, entry)| after.get(address) == Some(entry));
    for (address, entry) in unchanged {
        let mut states = found.iter().filter(|(other, _)| other == address);
        let is_found = states.clone().next().is_some();
        // A task that was spawned there meanwhile, and was not polled yet, is in a queue.
        let is_new = states.any(|(_, state)| *state != TaskState::Idle);
        assert!(
            is_found == entry.is_alive || (!entry.is_alive && is_new),
            "inspection {number}: {address:#x} {entry:?}"
        );
    }
}
