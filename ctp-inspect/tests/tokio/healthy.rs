//! A healthy program under load: no inspection of it gives a verdict that is certain.

use std::collections::BTreeMap;
use std::thread;
use std::time::Duration;

use ctp_inspect::TraceIds;
use ctp_trace::TraceModel;
use ctp_trace::verdict::{Confidence, THRESHOLD};

use crate::program::{Program, inspector};

/// Inspections, unless `CTP_INSPECTIONS` says otherwise.
const INSPECTIONS: usize = 20;
const CLIENTS: usize = 16;
const PAUSE: Duration = Duration::from_millis(100);

#[test]
fn no_inspection_of_a_healthy_program_is_certain() {
    let program = Program::start("load", CLIENTS);
    let Some(mut inspector) = inspector(&program) else {
        return;
    };
    let inspections = std::env::var("CTP_INSPECTIONS").ok();
    let inspections = inspections.map_or(INSPECTIONS, |text| text.parse().expect("a number"));
    let (mut ids, mut model) = (TraceIds::default(), TraceModel::default());
    let mut verdicts: BTreeMap<String, usize> = BTreeMap::new();
    for number in 1..=inspections {
        let records = inspector.inspect(&mut ids).expect("the program lives");
        for record in &records {
            model.consume(record);
        }
        let judged = model.judge_inspected(THRESHOLD);
        assert!(
            CLIENTS < judged.len(),
            "inspection {number} finds the tasks"
        );
        for member in judged {
            let judgement = member.judgement;
            let is_certain = judgement.confidence == Confidence::Certain;
            assert!(!is_certain, "inspection {number}: {member:?}");
            let words = format!("{:?} {:?}", judgement.verdict, judgement.reason);
            *verdicts.entry(words).or_default() += 1;
        }
        thread::sleep(PAUSE);
    }
    println!("{inspections} inspections: {verdicts:#?}");
}
