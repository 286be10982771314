//! A healthy program under load: each inspection finds all tasks that never end, and none gives a verdict that is certain.

use std::collections::BTreeSet;
use std::thread;
use std::time::Duration;

use ctp_inspect::TraceIds;
use ctp_trace::TraceModel;
use ctp_trace::verdict::{Confidence, THRESHOLD};

use crate::program::{Program, build};

const INSPECTIONS: usize = 20;
const PAUSE: Duration = Duration::from_millis(100);

#[test]
fn no_inspection_of_a_healthy_program_is_certain() {
    let program = Program::run_with(&build(&["--release"], "release"), "load");
    let Some(mut inspector) = program.inspector() else {
        return;
    };
    assert_eq!((program.count("server"), program.count("client")), (4, 16));
    let (mut ids, mut model) = (TraceIds::default(), TraceModel::default());
    for number in 1..=INSPECTIONS {
        for record in inspector.inspect(&mut ids).unwrap() {
            model.consume(&record);
        }
        let judged = model.judge_inspected(THRESHOLD);
        let found: BTreeSet<u64> = judged.iter().map(|member| member.task.address).collect();
        let mut lasting = program.tasks.keys();
        assert!(
            lasting.all(|task| found.contains(task)),
            "inspection {number}"
        );
        for member in judged {
            let is_certain = member.judgement.confidence == Confidence::Certain;
            assert!(!is_certain, "inspection {number}: {member:?}");
        }
        thread::sleep(PAUSE);
    }
}
