//! Builds and runs `tests/programs/boxed`, and inspects it.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::process::Command;

use ctp_inspect::{CoreFile, Inspector, ProcessTarget, Target, TraceIds};
use ctp_trace::TraceModel;
use ctp_trace::record::{
    AwaitFrame, AwaitStackId, InspectedTask, InspectionEnd, ProcessId, Record, TaskId, TaskKind,
};

use crate::cargo;
use crate::support::Running;

/// Builds the program with these arguments of `cargo build`.
pub fn build(args: &[&str], profile: &str) -> PathBuf {
    build_in("boxed", args, profile)
}

/// Builds the program in a folder of its own, so that builds with other features do not replace each other.
pub fn build_in(folder: &str, args: &[&str], profile: &str) -> PathBuf {
    cargo::build("boxed", folder, args, profile).join("boxed")
}

/// The program, and what it printed.
pub struct Program {
    running: Running,
    /// The types of the boxed futures, by address.
    pub boxes: BTreeMap<u64, String>,
    /// What the tasks of tokio do, by the address of the task.
    pub tasks: BTreeMap<u64, String>,
    /// Numbers by name: the line at which a function awaits, and others.
    pub numbers: HashMap<String, u32>,
}

impl Program {
    /// Runs the program with this argument, until it is ready.
    pub fn run(path: &Path, argument: &str) -> Self {
        let mut program = Program {
            running: Running::start(Command::new(path).arg(argument)),
            boxes: BTreeMap::new(),
            tasks: BTreeMap::new(),
            numbers: HashMap::new(),
        };
        loop {
            let line = program.running.line();
            match line.split(' ').collect::<Vec<_>>()[..] {
                ["ready"] => return program,
                ["box", kind, address] => {
                    let address = address.parse().unwrap();
                    let before = program.boxes.insert(address, kind.to_owned());
                    assert_eq!(before, None, "{line}");
                }
                ["task", kind, address] => {
                    let address = address.parse().unwrap();
                    program.tasks.insert(address, kind.to_owned());
                }
                ["line", name, number] | [name, number] => {
                    let number = number.parse().unwrap();
                    program.numbers.insert(name.to_owned(), number);
                }
                _ => {}
            }
        }
    }

    pub fn pid(&self) -> u32 {
        self.running.pid()
    }

    /// Inspects repeatedly. `None`, with a message, if this user may not read its children.
    pub fn inspections(&self) -> Option<Inspections> {
        match ProcessTarget::open(self.pid()) {
            Ok(target) => Some(Inspections::of(Box::new(target))),
            Err(error) => {
                eprintln!("SKIPPED: {error}");
                None
            }
        }
    }
}

/// What the inspections of a process have found so far.
pub struct Inspections {
    inspector: Inspector,
    ids: TraceIds,
    pub model: TraceModel,
    pub tasks: BTreeMap<TaskId, InspectedTask>,
    pub stacks: HashMap<AwaitStackId, Vec<AwaitFrame>>,
    pub end: InspectionEnd,
}

impl Inspections {
    fn of(target: Box<dyn Target>) -> Self {
        Inspections {
            inspector: Inspector::new(target, ProcessId(1)),
            ids: TraceIds::default(),
            model: TraceModel::default(),
            tasks: BTreeMap::new(),
            stacks: HashMap::new(),
            end: InspectionEnd::default(),
        }
    }

    pub fn of_core_file(path: &Path) -> Self {
        Self::of(Box::new(CoreFile::open(path, None).unwrap()))
    }

    pub fn inspect(&mut self) {
        for record in self.inspector.inspect(&mut self.ids).unwrap() {
            self.model.consume(&record);
            match record {
                Record::InspectedTask(task) => _ = self.tasks.insert(task.id, *task),
                Record::AwaitStack(stack) => _ = self.stacks.insert(stack.id, stack.frames),
                Record::InspectionEnd(end) => self.end = end,
                _ => {}
            }
        }
        let ended = &self.end.ended;
        self.tasks.retain(|id, _| !ended.contains(id));
    }

    /// The boxed futures, by address.
    pub fn boxes(&self) -> BTreeMap<u64, &InspectedTask> {
        let tasks = self.tasks.values();
        let boxes = tasks.filter(|task| task.kind == TaskKind::Boxed);
        boxes.map(|task| (task.address, task)).collect()
    }

    /// The functions of a task that await each other, without their paths, and the line of each.
    pub fn chain(&self, task: &InspectedTask) -> Vec<(&str, u32)> {
        let frames = self.stacks.get(&task.stack).into_iter().flatten();
        let functions = frames.filter(|frame| frame.line != 0);
        functions
            .map(|frame| (function(&frame.name), frame.line))
            .collect()
    }
}

/// The last part of a path.
pub fn function(path: &str) -> &str {
    path.rsplit("::").next().unwrap_or_default()
}

/// How often a program is inspected that changes all the time.
pub fn inspections_under_load() -> usize {
    let count = std::env::var("CTP_INSPECTIONS").ok();
    count.map_or(20, |count| count.parse().unwrap())
}
