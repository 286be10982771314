//! The verdicts on the tasks, from two inspections.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;
use std::time::Duration;

use ctp_inspect::TraceIds;
use ctp_trace::TraceModel;
use ctp_trace::record::TaskKind;
use ctp_trace::verdict::inspected::InspectedReason;
use ctp_trace::verdict::{THRESHOLD, Verdict};

use crate::program::{Program, build};

/// More than must be between two inspections.
const PAUSE: Duration = Duration::from_millis(300);

/// The verdict on the tasks of a kind. `None` for those that are not stuck.
fn expected(kind: &str) -> Option<(Verdict, InspectedReason)> {
    match kind {
        "crossing" => Some((Verdict::Deadlock, InspectedReason::Deadlock)),
        "blocked" => Some((Verdict::Busy, InspectedReason::InCall)),
        _ if kind.ends_with("forgetting") => Some((Verdict::MaybeStuck, InspectedReason::NoWaker)),
        _ => None,
    }
}

/// The verdicts on each kind of tasks.
fn judged(program: &Program) -> Option<BTreeMap<&str, BTreeSet<(Verdict, InspectedReason)>>> {
    let mut inspector = program.inspector()?;
    let (mut ids, mut model) = (TraceIds::default(), TraceModel::default());
    for _ in 0..2 {
        for record in inspector.inspect(&mut ids).unwrap() {
            model.consume(&record);
        }
        thread::sleep(PAUSE);
    }
    let mut verdicts: BTreeMap<&str, BTreeSet<_>> = BTreeMap::new();
    for member in model.judge_inspected(THRESHOLD) {
        if member.task.kind == TaskKind::AsyncTask {
            let kind = program.tasks.get(&member.task.address);
            let kind = kind.map_or("of smol", String::as_str);
            let judgement = member.judgement;
            let verdict = (judgement.verdict, judgement.reason);
            verdicts.entry(kind).or_default().insert(verdict);
        }
    }
    Some(verdicts)
}

fn check(args: &[&str], profile: &str) {
    let program = Program::run(&build(args, profile), 2);
    let Some(verdicts) = judged(&program) else {
        return;
    };
    assert!(20 < verdicts.len(), "{verdicts:#?}");
    for (kind, found) in verdicts {
        let found: Vec<_> = found.into_iter().collect();
        match expected(kind) {
            Some(verdict) => assert_eq!(found, [verdict], "{kind}"),
            None => {
                let mut verdicts = found.iter().map(|(verdict, _)| verdict);
                assert!(
                    verdicts.all(|of| *of == Verdict::Waiting),
                    "{kind}: {found:?}"
                );
            }
        }
    }
}

#[test]
fn tasks_of_debug_program_are_judged() {
    check(&[], "debug");
}

#[test]
fn tasks_of_release_program_are_judged() {
    check(&["--release"], "release");
}
