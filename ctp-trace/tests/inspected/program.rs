//! Builds the records of an inspected process.

use ctp_trace::TraceModel;
use ctp_trace::record::*;
use ctp_trace::verdict::inspected::InspectedReason;
use ctp_trace::verdict::{THRESHOLD, Verdict};

pub const PROCESS: ProcessId = ProcessId(1);
const SECOND: u64 = 1_000_000_000;

/// The inspections of a process, each a second after the one before.
#[derive(Default)]
pub struct Program {
    model: TraceModel,
    number: u32,
    core_file: Vec<u8>,
}

impl Program {
    /// A process of which there is a core file only.
    pub fn of_core_file() -> Self {
        Program {
            core_file: b"core.700".to_vec(),
            ..Program::default()
        }
    }

    /// Makes an inspection that finds these records, and no longer these tasks.
    pub fn inspect(&mut self, found: &[Record], ended: &[u32]) {
        self.begin(found);
        self.end(ended);
    }

    /// Makes an inspection of threads only.
    pub fn inspect_threads(&mut self, found: &[Record]) {
        self.begin_with(found, true);
        self.end(&[]);
    }

    /// Begins an inspection that finds these records.
    pub fn begin(&mut self, found: &[Record]) {
        self.begin_with(found, false);
    }

    fn begin_with(&mut self, found: &[Record], only_threads: bool) {
        self.number += 1;
        self.model.consume(&Record::Inspection(Inspection {
            process: PROCESS,
            number: self.number,
            at: Nanos(u64::from(self.number) * SECOND),
            core_file: self.core_file.clone(),
            only_threads,
        }));
        for record in found {
            self.model.consume(record);
        }
    }

    fn end(&mut self, ended: &[u32]) {
        let at = Nanos(u64::from(self.number) * SECOND + SECOND / 100);
        self.model.consume(&Record::InspectionEnd(InspectionEnd {
            process: PROCESS,
            number: self.number,
            at,
            ended: ended.iter().copied().map(TaskId).collect(),
            ..InspectionEnd::default()
        }));
    }

    /// The verdicts of the tasks, in the order of their ids.
    pub fn verdicts(&self) -> Vec<(Verdict, InspectedReason)> {
        let judged = self.model.judge_inspected(THRESHOLD);
        let verdicts = judged.iter().map(|member| member.judgement);
        verdicts
            .map(|judged| (judged.verdict, judged.reason))
            .collect()
    }

    pub fn model(&self) -> &TraceModel {
        &self.model
    }
}

/// A task with one waker that waits in a stack.
pub fn task(id: u32, stack: u32) -> InspectedTask {
    InspectedTask {
        id: TaskId(id),
        process: PROCESS,
        wakers: Some(1),
        stack: AwaitStackId(stack),
        ..InspectedTask::default()
    }
}

pub fn found(task: InspectedTask) -> Record {
    Record::InspectedTask(Box::new(task))
}

/// A stack of frames, each given by depth and name.
pub fn stack(id: u32, frames: &[(u32, &str)]) -> Record {
    Record::AwaitStack(AwaitStack {
        id: AwaitStackId(id),
        frames: frames
            .iter()
            .map(|(depth, name)| AwaitFrame {
                depth: *depth,
                name: (*name).to_owned(),
                may_wait_forever: name.ends_with("Pending"),
                ..AwaitFrame::default()
            })
            .collect(),
    })
}

/// A wait of the future in this frame, with a registered waker.
pub fn wait(frame: u32, resource: Resource) -> TaskWait {
    TaskWait {
        frame,
        resource,
        has_waker: Some(true),
        always_registers: true,
    }
}

pub fn hold(resource: Resource, is_exclusive: bool) -> HeldLock {
    HeldLock {
        resource,
        is_exclusive,
        ..HeldLock::default()
    }
}

pub fn thread(tid: u32, role: ThreadRole, syscall: Option<u32>) -> Record {
    Record::InspectedThread(InspectedThread {
        process: PROCESS,
        tid,
        role,
        syscall,
        ..InspectedThread::default()
    })
}
