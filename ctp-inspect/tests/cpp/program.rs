//! Runs `tests/programs/cpp/coroutines.cpp`, and inspects the process.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Stdio};

use ctp_inspect::{Inspector, ProcessTarget, TraceIds};
use ctp_trace::record::{
    AwaitStack, AwaitStackId, InspectedTask, InspectionEnd, ProcessId, Record, TaskKind, TaskState,
};

use crate::support::Running;

/// What the program knows of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    pub address: u64,
    /// The frame that awaits this frame; 0 if there is none.
    pub caller: u64,
    pub function: String,
    pub is_finished: bool,
}

/// The program, and the frames that it has not destroyed.
pub struct Program {
    running: Running,
    pub frames: Vec<Frame>,
}

impl Program {
    pub fn start(path: &Path, environment: &[(&str, &str)]) -> Self {
        let mut command = Command::new(path);
        command
            .stdin(Stdio::piped())
            .envs(environment.iter().copied());
        let mut running = Running::start(&mut command);
        let mut frames = Vec::new();
        loop {
            let line = running.line();
            if line == "ready" {
                return Program { running, frames };
            }
            frames.push(Frame::parse(&line));
        }
    }

    /// How many frames of each function have run to their end, or have not.
    pub fn counts(&self, is_finished: bool) -> BTreeMap<String, usize> {
        let frames = self.frames.iter();
        let frames = frames.filter(|frame| frame.is_finished == is_finished);
        counts(frames.map(|frame| &*frame.function))
    }

    pub fn addresses(&self) -> BTreeSet<u64> {
        self.frames.iter().map(|frame| frame.address).collect()
    }

    /// The functions of all chains, outermost first.
    pub fn chains(&self) -> Vec<Vec<String>> {
        let live = self.frames.iter().filter(|frame| !frame.is_finished);
        let mut chains: Vec<_> = live
            .filter(|frame| frame.caller == 0)
            .map(|root| self.chain(root))
            .collect();
        chains.sort();
        chains
    }

    fn chain(&self, root: &Frame) -> Vec<String> {
        let mut chain = vec![root.function.clone()];
        let mut last = root.address;
        while let Some(frame) = self.frames.iter().find(|frame| frame.caller == last) {
            chain.push(frame.function.clone());
            last = frame.address;
        }
        chain
    }

    pub fn inspect(&self) -> Inspected {
        let target = ProcessTarget::open(self.running.pid()).unwrap();
        let mut inspector = Inspector::new(Box::new(target), ProcessId(1));
        let records = inspector.inspect(&mut TraceIds::default());
        Inspected::of(records.unwrap())
    }
}

impl Frame {
    /// Parses `live 0x1000 (nil) leaf(int)`.
    fn parse(line: &str) -> Self {
        let fields: Vec<&str> = line.splitn(4, ' ').collect();
        let [state, address, caller, function] = fields[..] else {
            panic!("{line}");
        };
        let number = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16);
        Frame {
            address: number(address).unwrap(),
            caller: number(caller).unwrap_or(0),
            function: function.to_owned(),
            is_finished: state == "finished",
        }
    }
}

/// What an inspection has found of coroutines.
pub struct Inspected {
    pub tasks: Vec<InspectedTask>,
    pub stacks: BTreeMap<AwaitStackId, AwaitStack>,
    pub end: InspectionEnd,
}

impl Inspected {
    fn of(records: Vec<Record>) -> Self {
        let mut inspected = Inspected {
            tasks: Vec::new(),
            stacks: BTreeMap::new(),
            end: InspectionEnd::default(),
        };
        for record in records {
            match record {
                Record::InspectedTask(task) if task.kind == TaskKind::Cpp => {
                    inspected.tasks.push(*task);
                }
                Record::AwaitStack(stack) => {
                    inspected.stacks.insert(stack.id, stack);
                }
                Record::InspectionEnd(end) => inspected.end = end,
                _ => {}
            }
        }
        inspected
    }

    /// How many frames of each function certainly exist, and have run to their end or have not.
    pub fn counts(&self, is_finished: bool) -> BTreeMap<String, usize> {
        let certain = self.tasks.iter().filter(|task| {
            !task.may_be_freed && (task.state == TaskState::Finished) == is_finished
        });
        counts(certain.flat_map(|task| self.functions(task)))
    }

    /// How many frames may exist.
    pub fn uncertain(&self) -> usize {
        let uncertain = self.tasks.iter().filter(|task| task.may_be_freed);
        uncertain.map(|task| self.functions(task).count()).sum()
    }

    /// The functions of all chains, outermost first.
    pub fn chains(&self) -> Vec<Vec<String>> {
        let live = self
            .tasks
            .iter()
            .filter(|task| !task.may_be_freed && task.state == TaskState::Idle);
        let mut chains: Vec<Vec<String>> = live
            .map(|task| self.functions(task).map(str::to_owned).collect())
            .collect();
        chains.sort();
        chains
    }

    pub fn functions(&self, task: &InspectedTask) -> impl Iterator<Item = &str> {
        let frames = self.stacks[&task.stack].frames.iter();
        frames.map(|frame| &*frame.name)
    }
}

fn counts<'f>(functions: impl Iterator<Item = &'f str>) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for function in functions {
        *counts.entry(function.to_owned()).or_default() += 1;
    }
    counts
}
