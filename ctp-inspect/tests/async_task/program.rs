//! Builds and runs `tests/programs/smol`, and inspects it.

use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use ctp_inspect::{Inspector, ProcessTarget, TraceIds};
use ctp_trace::record::{
    AwaitFrame, AwaitStackId, InspectedTask, InspectedThread, InspectionEnd, ProcessId, Record,
    TaskKind,
};

use crate::cargo;

/// Builds the program with these arguments of `cargo build`.
pub fn build(args: &[&str], profile: &str) -> PathBuf {
    cargo::build("smol", "on-smol", args, profile).join("on-smol")
}

/// The program, and what it printed. It is killed when this is dropped.
pub struct Program {
    process: Child,
    /// What each task does, by the address of its header.
    pub tasks: BTreeMap<u64, String>,
    pub lines: HashMap<String, u32>,
}

impl Program {
    /// Runs the program with `count` tasks of most kinds, until all of them wait.
    pub fn run(path: &Path, count: usize) -> Self {
        Self::run_with(path, &count.to_string())
    }

    /// Runs the program with this argument, until it is ready.
    pub fn run_with(path: &Path, argument: &str) -> Self {
        let mut command = Command::new(path);
        command.arg(argument).stdout(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let output = BufReader::new(process.stdout.take().unwrap());
        let (mut tasks, mut lines) = (BTreeMap::new(), HashMap::new());
        for line in output.lines() {
            let line = line.unwrap();
            match line.split(' ').collect::<Vec<_>>()[..] {
                ["task", kind, header] => {
                    let before = tasks.insert(header.parse().unwrap(), kind.to_owned());
                    assert_eq!(before, None, "{line}");
                }
                ["line", name, number] => {
                    lines.insert(name.to_owned(), number.parse().unwrap());
                }
                _ => {
                    assert_eq!(line, "ready");
                    break;
                }
            }
        }
        Program {
            process,
            tasks,
            lines,
        }
    }

    /// How many tasks of a kind there are.
    pub fn count(&self, kind: &str) -> usize {
        self.tasks.values().filter(|of| *of == kind).count()
    }

    /// An inspector; `None`, with a message, if this user may not read its children.
    pub fn inspector(&self) -> Option<Inspector> {
        match ProcessTarget::open(self.process.id()) {
            Ok(target) => Some(Inspector::new(Box::new(target), ProcessId(1))),
            Err(error) => {
                eprintln!("SKIPPED: {error}");
                None
            }
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// What an inspection has found.
#[derive(Debug, Default)]
pub struct Inspected {
    pub tasks: BTreeMap<u64, InspectedTask>,
    pub stacks: HashMap<AwaitStackId, Vec<AwaitFrame>>,
    pub threads: BTreeMap<u32, InspectedThread>,
    pub end: InspectionEnd,
}

impl Inspected {
    /// Inspects for the first time.
    pub fn first(inspector: &mut Inspector) -> Self {
        let records = inspector.inspect(&mut TraceIds::default()).unwrap();
        let mut inspected = Self::default();
        for record in records {
            match record {
                Record::InspectedTask(task) => {
                    inspected.tasks.insert(task.address, *task);
                }
                Record::AwaitStack(stack) => {
                    inspected.stacks.insert(stack.id, stack.frames);
                }
                Record::InspectedThread(thread) => {
                    inspected.threads.insert(thread.tid, thread);
                }
                Record::InspectionEnd(end) => inspected.end = end,
                _ => {}
            }
        }
        inspected
    }

    /// The tasks of async-task, by their addresses.
    pub fn of_async_task(&self) -> BTreeMap<u64, &InspectedTask> {
        let tasks = self.tasks.iter();
        let tasks = tasks.filter(|(_, task)| task.kind == TaskKind::AsyncTask);
        tasks.map(|(address, task)| (*address, task)).collect()
    }
}
