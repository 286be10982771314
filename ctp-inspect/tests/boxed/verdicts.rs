//! The verdicts on boxed futures, from two inspections.

use std::thread;
use std::time::Duration;

use ctp_trace::record::{TaskKind, TaskOwner};
use ctp_trace::verdict::inspected::InspectedReason;
use ctp_trace::verdict::{THRESHOLD, Verdict};

use crate::program::{Program, build};

/// More than must be between two inspections.
const PAUSE: Duration = Duration::from_millis(300);
const MAX_INSPECTIONS: usize = 20;

/// Inspects twice, and checks the verdicts on the futures that wait for each other's locks. Returns what holds them.
fn check(argument: &str) -> Option<Vec<TaskOwner>> {
    let program = Program::run(&build(&[], "debug"), argument);
    let mut inspections = program.inspections()?;
    inspections.inspect();
    // The boxed futures of a task that runs meanwhile are left out.
    let mut found_before = 0;
    for _ in 0..MAX_INSPECTIONS {
        let found = inspections.boxes();
        let found = found.keys().filter(|at| program.boxes.contains_key(at));
        let found = found.count();
        if found == 3 && found_before == 3 {
            break;
        }
        found_before = found;
        thread::sleep(PAUSE);
        inspections.inspect();
    }
    let judged = inspections.model.judge_inspected(THRESHOLD);
    let mut owners = Vec::new();
    for member in judged
        .iter()
        .filter(|member| member.task.kind == TaskKind::Boxed)
    {
        let Some(name) = program.boxes.get(&member.task.address) else {
            continue;
        };
        let judgement = member.judgement;
        let reason = match name.as_str() {
            "behind" => InspectedReason::Behind,
            _ => InspectedReason::Deadlock,
        };
        let found = (judgement.verdict, judgement.reason);
        assert_eq!(found, (Verdict::MaybeStuck, reason), "{name} {member:#?}");
        assert_eq!(member.cycle.len(), if name == "behind" { 0 } else { 2 });
        owners.push(member.task.owner.clone());
    }
    assert_eq!(owners.len(), 3, "{judged:#?}");
    let others = judged.iter();
    let mut others = others.filter(|member| member.task.kind != TaskKind::Boxed);
    assert!(others.all(|member| member.judgement.verdict == Verdict::Waiting));
    Some(owners)
}

// CT-15
#[test]
fn futures_of_an_executor_deadlock() {
    let Some(owners) = check("deadlock") else {
        return;
    };
    let owner = TaskOwner::Static("boxed::deadlock::FUTURES".to_owned());
    assert!(owners.iter().all(|found| *found == owner), "{owners:?}");
}

#[test]
fn futures_of_a_set_deadlock_though_their_task_does_not() {
    let Some(owners) = check("set-deadlock") else {
        return;
    };
    let is_task = |owner: &TaskOwner| matches!(owner, TaskOwner::Task(_));
    assert!(owners.iter().all(is_task), "{owners:?}");
}
