//! What the inspections found so far, for the closing lines.

use std::collections::BTreeMap;

use ctp_trace::TraceModel;
use ctp_trace::record::{Nanos, Record};
use ctp_trace::verdict::{THRESHOLD, Verdict};

/// What the inspections found so far.
#[derive(Debug, Default)]
pub struct Account {
    model: TraceModel,
}

/// Numbers of the last inspections.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// The runtimes, with the number of each.
    pub runtimes: BTreeMap<String, usize>,
    /// Tasks.
    pub tasks: usize,
    /// Threads.
    pub threads: usize,
    /// How long each inspection took, by process.
    pub took: Vec<Nanos>,
    /// Tasks that look stuck.
    pub stuck: usize,
    /// Threads that are blocked while they poll a task.
    pub blocked: usize,
    /// Tasks of which the inspections cannot show whether they hang.
    pub unclear: usize,
    /// A core file was read.
    pub is_core_file: bool,
    /// What could not be read.
    pub gaps: Vec<String>,
}

impl Account {
    /// Takes the next record.
    pub fn take(&mut self, record: &Record) {
        self.model.consume(record);
    }

    /// Counts the verdicts, by the same rule as the report.
    pub fn summary(&self) -> Summary {
        let mut summary = Summary::default();
        for (_, process) in self.model.inspected() {
            for runtime in &process.runtimes {
                *summary.runtimes.entry(runtime.clone()).or_default() += 1;
            }
            summary.tasks += process.tasks.len();
            summary.threads += process.threads.len();
            summary.is_core_file |= process.is_core_file();
            let took = process
                .times
                .iter()
                .map(|time| time.began.until(time.ended));
            summary.took.extend(took);
            let threads = process.threads.values();
            summary.blocked += threads
                .filter(|known| process.is_blocked_poll(known))
                .count();
            summary.gaps.extend(process.gaps.iter().cloned());
        }
        let judged = self.model.judge_inspected(THRESHOLD).into_iter();
        for member in judged.filter(|member| !member.task.is_recorded()) {
            let is_stuck = member.judgement.verdict.is_stuck();
            let is_waiting = member.judgement.verdict == Verdict::Waiting;
            summary.stuck += usize::from(is_stuck);
            summary.unclear += usize::from(is_waiting && member.judgement.reason.is_gap());
        }
        summary
    }
}
