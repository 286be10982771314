//! Inspects a program with tasks that await in many ways, and compares with what the program prints.

#![expect(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

#[path = "../programs/cargo.rs"]
mod cargo;

mod expected;
mod hostile;
mod program;

use std::collections::HashMap;

use ctp_inspect::awaits::{AwaitReader, StoredTask, TaskAwaits, TaskFuture};

use ctp_inspect::{Inspector, ProcessTarget, Target, TraceIds};
use ctp_trace::record::{AwaitStackId, InspectedTask, ProcessId, Record, Resource, TaskId};
use expected::{EXPECTED, Expected};
use program::{Program, build};
use symbolize::SearchPaths;

/// The program with everything that was found in its tasks.
struct Inspected {
    program: Program,
    tasks: HashMap<String, TaskAwaits>,
    gaps: Vec<String>,
}

fn inspect(args: &[&str], profile: &str) -> Inspected {
    let program = Program::run(&build(args, profile));
    let target = ProcessTarget::open(program.process.id()).unwrap();
    let awaits = AwaitReader::new(SearchPaths::recorded());
    awaits.begin(&target);
    let tasks = program.headers.iter().map(|(name, &header)| {
        let poll = target.word(target.word(header + 16).unwrap()).unwrap();
        let future = TaskFuture {
            header,
            poll,
            memory: StoredTask::Tokio,
        };
        let found = awaits.read_task(future, &target, &|header| Some(TaskId(header as u32)));
        (name.clone(), found)
    });
    let tasks = tasks.collect();
    Inspected {
        program,
        tasks,
        gaps: awaits.gaps(),
    }
}

impl Inspected {
    fn assert_all(&self) {
        assert_eq!(self.gaps, Vec::<String>::new());
        for expected in EXPECTED {
            self.assert_functions(expected);
            self.assert_ends(expected);
        }
        self.assert_branches();
        self.assert_guards();
        self.assert_enclosed_guards();
        self.assert_streams();
        self.assert_permits();
    }

    fn assert_functions(&self, expected: &Expected) {
        let found = &self.tasks[expected.task];
        assert_eq!(found.gaps, Vec::<String>::new(), "{}", expected.task);
        let own = found
            .frames
            .iter()
            .filter(|frame| is_of_program(&frame.file) && !frame.name.ends_with("::spawn"));
        let own: Vec<_> = own
            .map(|frame| (frame.name.rsplit("::").next().unwrap(), frame.line))
            .collect();
        let lines = expected.functions.iter();
        let lines: Vec<_> = lines
            .map(|(name, line)| (*name, self.program.lines[*line]))
            .collect();
        assert_eq!(own, lines, "{}: {found:#?}", expected.task);
        let depths = found
            .frames
            .windows(2)
            .all(|pair| pair[1].depth <= pair[0].depth + 1);
        assert!(depths && found.frames[0].depth == 0, "{found:#?}");
    }

    fn assert_ends(&self, expected: &Expected) {
        let found = &self.tasks[expected.task];
        assert_eq!(found.waits.len(), expected.ends.len(), "{found:#?}");
        for (wait, (name, kind)) in found.waits.iter().zip(expected.ends) {
            let frame = &found.frames[wait.frame as usize];
            assert!(frame.name.ends_with(name), "{name}: {found:#?}");
            assert!(
                format!("{:?}", wait.resource).starts_with(kind),
                "{kind}: {found:#?}"
            );
            let may_have_none = matches!(*kind, "Unknown");
            assert_eq!(
                wait.has_waker,
                if may_have_none { None } else { Some(true) },
                "{found:#?}"
            );
            assert_eq!(frame.may_wait_forever, may_have_none, "{found:#?}");
            // Nothing is known about when `Connection` polls what it contains, nor a set its futures.
            let is_known =
                !["serving", "in_set", "concurrently", "in_join_set"].contains(&expected.task);
            let is_proven =
                !may_have_none && !name.starts_with("Read") && !name.starts_with("Write");
            let is_proven = is_proven && is_known || *name == "Readiness";
            assert_eq!(wait.always_registers, is_proven, "{found:#?}");
        }
        if let Some(&descriptor) = self.program.lines.get(&format!("{}.fd", expected.task)) {
            let resource = found.waits[0].resource;
            let is_same = [
                Resource::Readable(descriptor),
                Resource::Writable(descriptor),
            ]
            .contains(&resource);
            assert!(is_same, "{found:#?}");
        }
    }

    /// `select!` and `join!` have a frame of their own, and a branch for each future.
    fn assert_branches(&self) {
        let kinds = |task: &str| {
            let waits = self.tasks[task].waits.iter();
            let kinds = waits.map(|wait| {
                format!("{:?}", wait.resource)
                    .split('(')
                    .next()
                    .unwrap()
                    .to_owned()
            });
            kinds.collect::<Vec<_>>()
        };
        assert_eq!(kinds("selecting"), ["Notify", "Channel", "Timer"]);
        assert_eq!(kinds("joining"), ["Semaphore", "RwLock"]);
        for (task, name) in [
            ("selecting", "tokio::select!"),
            ("joining", "tokio::join!"),
            ("futures_select", "futures::select!"),
            ("futures_join", "futures::join!"),
            ("trying", "tokio::try_join!"),
        ] {
            let found = &self.tasks[task];
            let expansion = found
                .frames
                .iter()
                .position(|frame| frame.name == name)
                .unwrap();
            let depth = found.frames[expansion].depth;
            let within = found.frames[expansion + 1..].iter();
            let branches = within.filter(|frame| frame.depth == depth + 1).count();
            assert_eq!(branches, found.waits.len(), "{found:#?}");
        }
    }

    /// A future that the program implements itself, in a connection and beside another branch.
    fn assert_permits(&self) {
        for (task, has_waker) in [
            ("permit.kept", Some(true)),
            ("permit.lost", Some(false)),
            ("permit.elsewhere", None),
        ] {
            let found = &self.tasks[task];
            let waits = found.waits.iter().map(|wait| {
                let name = &found.frames[wait.frame as usize].name;
                (name.rsplit("::").next().unwrap(), wait.has_waker)
            });
            let expected = [("GetPermit", has_waker), ("Notified", Some(true))];
            assert_eq!(waits.collect::<Vec<_>>(), expected, "{task}: {found:#?}");
        }
    }

    /// Streams that wait for something other than the operation says have wakers, and no wrong resource.
    fn assert_streams(&self) {
        for (task, has_waker) in [("throttled", None), ("rekeying", Some(true))] {
            let waits = &self.tasks[task].waits[..];
            let [wait] = waits else {
                panic!("{waits:#?}");
            };
            assert_eq!(wait.resource, Resource::Unknown, "{task}");
            let is_known = wait.has_waker == Some(true) || wait.has_waker == has_waker;
            assert!(is_known, "{task}: {waits:#?}");
        }
    }

    /// Guards inside structs, enums and boxes.
    fn assert_enclosed_guards(&self) {
        for (task, variable, expected) in [
            (
                "session",
                "session",
                [("Mutex", true), ("Semaphore", false)],
            ),
            ("enclosed", "part", [("Mutex", true), ("RwLock", true)]),
        ] {
            let held = &self.tasks[task].holds;
            let mut found: Vec<_> = held
                .iter()
                .map(|held| {
                    assert_eq!(held.variable, variable, "{held:?}");
                    (kind(held.resource), held.is_exclusive)
                })
                .collect();
            found.sort();
            assert_eq!(
                found,
                expected.map(|(kind, is)| (kind.to_owned(), is)),
                "{held:#?}"
            );
        }
    }

    /// Each of two tasks holds the lock that the other waits for; a guard that was dropped holds nothing.
    fn assert_guards(&self) {
        let (first, second) = (&self.tasks["transfer"], &self.tasks["transfer.back"]);
        for (holder, waiter) in [(first, second), (second, first)] {
            let [held] = &holder.holds[..] else {
                panic!("{holder:#?}");
            };
            assert_eq!(held.resource, waiter.waits[0].resource);
            assert!(held.is_exclusive);
            assert_eq!(held.variable, "from");
            assert_eq!(held.line, self.program.lines["from"]);
            assert!(
                holder.frames[held.frame as usize]
                    .name
                    .ends_with("::transfer")
            );
        }
        for (task, expected) in [
            ("dropped_guard", None),
            ("moved", None),
            ("temporary", Some(("(temporary)", true, "Mutex"))),
            ("optional", Some(("present", true, "RwLock"))),
            ("permitted", Some(("permit", false, "Semaphore"))),
            ("kept_read", Some(("guard", false, "RwLock"))),
            ("given_up", None),
        ] {
            let found = &self.tasks[task];
            let held = found.holds.iter().map(|held| {
                let kind = format!("{:?}", held.resource);
                (
                    held.variable.as_str(),
                    held.is_exclusive,
                    kind.split('(').next().unwrap().to_owned(),
                )
            });
            let expected =
                expected.map(|(name, is_exclusive, kind)| (name, is_exclusive, kind.to_owned()));
            assert_eq!(
                held.collect::<Vec<_>>(),
                Vec::from_iter(expected),
                "{found:#?}"
            );
        }
    }
}

/// The kind of a resource.
fn kind(resource: Resource) -> String {
    let resource = format!("{resource:?}");
    resource.split('(').next().unwrap().to_owned()
}

/// Whether a file is one of the program itself, and not of a library.
fn is_of_program(file: &str) -> bool {
    !file.is_empty() && !file.contains("/registry/") && !file.contains("/rustc/")
}

#[test]
fn await_stacks_of_a_debug_build() {
    inspect(&[], "debug").assert_all();
}

#[test]
fn await_stacks_of_a_release_build() {
    inspect(&["--release"], "release").assert_all();
}

/// The records of an inspection name stacks and tasks by their numbers.
#[test]
fn inspections_have_stacks_and_awaited_tasks() {
    let program = Program::run(&build(&[], "debug"));
    let target = ProcessTarget::open(program.process.id()).unwrap();
    let mut inspector = Inspector::new(Box::new(target), ProcessId(1));
    let records = inspector.inspect(&mut TraceIds::default()).unwrap();
    let tasks = records.iter().filter_map(|record| match record {
        Record::InspectedTask(task) => Some((task.address, &**task)),
        _ => None,
    });
    let tasks: HashMap<u64, &InspectedTask> = tasks.collect();
    let stacks = records.iter().filter_map(|record| match record {
        Record::AwaitStack(stack) => Some((stack.id, &stack.frames)),
        _ => None,
    });
    let stacks: HashMap<AwaitStackId, _> = stacks.collect();
    let task = |name: &str| tasks[&program.headers[name]];
    let lasts = |name: &str| stacks[&task(name).stack].last().unwrap().name.clone();
    assert!(lasts("middle").ends_with("oneshot::Receiver"));
    assert_eq!(
        task("joined").waits[0].resource,
        Resource::Task(task("forever").id)
    );
    assert_eq!(task("transfer").stack, task("transfer.back").stack);
    assert_eq!(
        task("transfer").holds[0].resource,
        task("transfer.back").waits[0].resource
    );
}
