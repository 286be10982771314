//! Processes without a probe, as `ctp-record -p` finds them.

use ctp_trace::record::*;

use super::SESSION;
use super::builder::{MS, SECOND, Trace, wait as wait_at};

const PROCESS: ProcessId = ProcessId(1);

/// A process during its inspections.
struct Inspected {
    trace: Trace,
    number: u32,
    tasks: u32,
    gaps: Vec<String>,
    /// Empty for a running process.
    core_file: Vec<u8>,
    runtime: &'static str,
    /// The number of the suspension point of the next frames.
    suspension: u32,
}

impl Inspected {
    fn new() -> Self {
        let mut trace = Trace::of("/srv/orders-api --port 80");
        trace.start.capacity = 0;
        trace.end.how = ExitReason::Stopped;
        Inspected {
            trace,
            number: 0,
            tasks: 0,
            gaps: Vec::new(),
            core_file: Vec::new(),
            runtime: "tokio 1.54.1",
            suspension: 0,
        }
    }

    fn begin(&mut self) {
        self.number += 1;
        self.trace.add(Record::Inspection(Inspection {
            process: PROCESS,
            number: self.number,
            at: Nanos(u64::from(self.number) * SECOND),
            core_file: self.core_file.clone(),
            ..Inspection::default()
        }));
    }

    fn end(&mut self) {
        self.trace.add(Record::InspectionEnd(InspectionEnd {
            process: PROCESS,
            number: self.number,
            at: Nanos(u64::from(self.number) * SECOND + 2 * MS),
            runtimes: vec![self.runtime.to_owned()],
            gaps: self.gaps.clone(),
            ..InspectionEnd::default()
        }));
    }

    /// A second inspection that finds nothing new.
    fn inspect_again(&mut self) {
        self.begin();
        self.end();
    }

    fn stack(&mut self, id: u32, frames: &[(u32, &str, u32)]) {
        self.trace.add(Record::AwaitStack(AwaitStack {
            id: AwaitStackId(id),
            frames: frames
                .iter()
                .map(|(depth, name, line)| AwaitFrame {
                    depth: *depth,
                    name: (*name).to_owned(),
                    file: if *line == 0 { "" } else { SESSION }.to_owned(),
                    line: *line,
                    may_wait_forever: name.ends_with("Pending"),
                    suspension: self.suspension,
                })
                .collect(),
        }));
    }

    fn task(
        &mut self,
        name: &str,
        stack: u32,
        wakers: u32,
        change: impl FnOnce(&mut InspectedTask),
    ) {
        self.tasks += 1;
        let mut task = InspectedTask {
            id: TaskId(self.tasks),
            process: PROCESS,
            address: 0x7f00_0000_0000 + u64::from(self.tasks) * 0x100,
            runtime_id: u64::from(self.tasks) + 2,
            name: name.to_owned(),
            spawned_at: Some((SESSION.to_owned(), 2)),
            wakers: Some(wakers),
            stack: AwaitStackId(stack),
            ..InspectedTask::default()
        };
        change(&mut task);
        self.trace.add(Record::InspectedTask(Box::new(task)));
    }

    fn thread(&mut self, tid: u32, role: ThreadRole, call: &str, polls: Option<u32>) {
        self.trace.add(Record::InspectedThread(InspectedThread {
            process: PROCESS,
            tid,
            name: "tokio-rt-worker".to_owned(),
            syscall: (!call.is_empty()).then_some(1),
            call: call.to_owned(),
            switches: 7,
            role,
            polls: polls.map(TaskId),
            addresses: vec![0x1000, 0x2000, 0x3000],
            is_whole: role == ThreadRole::Parked,
            is_running: call.is_empty(),
        }));
    }

    /// A task that reads from a socket, with the interest of its socket as a waker.
    fn reading(&mut self, fd: u32) {
        self.task("app::serve", 1, 1, |task| {
            task.waits = vec![wait(2, Resource::Readable(fd), Some(true))];
            task.waker_holders = vec![WakerHolder::Io(Some(fd))];
        });
    }

    fn finish(self) -> Vec<u8> {
        self.trace.finish()
    }
}

fn wait(frame: u32, resource: Resource, has_waker: Option<bool>) -> TaskWait {
    TaskWait {
        frame,
        resource,
        has_waker,
        always_registers: has_waker == Some(true),
    }
}

fn hold(lock: u64, variable: &str, line: u32) -> HeldLock {
    HeldLock {
        resource: Resource::Mutex(lock),
        is_exclusive: true,
        frame: 0,
        variable: variable.to_owned(),
        line,
    }
}

/// Every verdict: lost wakers of known and unknown types, a future without a waker, a deadlock with a
/// task behind it, a blocked worker, and healthy tasks.
pub fn with_faults() -> Vec<u8> {
    let mut p = Inspected::new();
    p.begin();
    add_stacks(&mut p);
    add_tasks_without_wakers(&mut p);
    add_deadlock(&mut p);
    p.task("app::export", 0, 0, |task| {
        task.state = TaskState::Running;
        task.polled_by = 4131;
        task.wakers = None;
    });
    p.task("app::queued", 0, 1, |task| task.state = TaskState::Notified);
    p.task("app::idle", 5, 0, |_| {});
    add_leases(&mut p);
    (50..60).for_each(|fd| p.reading(fd));
    p.thread(4130, ThreadRole::Parked, "epoll_wait", None);
    p.thread(4131, ThreadRole::Polling, "clock_nanosleep", Some(66));
    p.thread(4132, ThreadRole::Parked, "futex", None);
    p.thread(4133, ThreadRole::Parked, "futex", None);
    p.end();
    p.inspect_again();
    p.finish()
}

fn add_stacks(p: &mut Inspected) {
    let stacks: [&[(u32, &str, u32)]; 6] = [
        &[
            (0, "app::serve", 12),
            (1, "app::read_frame", 17),
            (2, "tokio::io::Readiness", 0),
        ],
        &[
            (0, "app::serve", 12),
            (1, "app::read_frame", 18),
            (2, "app::Framed", 0),
        ],
        &[
            (0, "app::order", 9),
            (1, "app::get_permit", 10),
            (2, "tokio::sync::Acquire", 0),
        ],
        &[(0, "app::transfer", 22), (1, "tokio::sync::Mutex::lock", 0)],
        &[(0, "app::idle", 4), (1, "std::future::Pending", 0)],
        &[
            (0, "app::lease", 6),
            (1, "tokio::time::Timeout", 0),
            (2, "app::renew", 7),
            (2, "tokio::time::Sleep", 0),
        ],
    ];
    for (id, frames) in (1..).zip(stacks) {
        p.stack(id, frames);
    }
}

fn add_tasks_without_wakers(p: &mut Inspected) {
    for fd in 17..20 {
        p.task("app::serve", 1, 0, |task| {
            task.waits = vec![wait(2, Resource::Readable(fd), Some(true))];
        });
    }
    for _ in 0..47 {
        p.task("app::serve", 2, 0, |_| {});
    }
    for fd in 31..43 {
        p.task("app::order", 3, 1, |task| {
            task.waits = vec![wait(2, Resource::Semaphore(0x5000), Some(false))];
            task.waker_holders = vec![WakerHolder::Io(Some(fd))];
        });
    }
}

/// Two tasks that wait for each other's lock, and a task behind them.
fn add_deadlock(p: &mut Inspected) {
    for (wants, has, line) in [(0xa000, 0xb000, 20), (0xb000, 0xa000, 21)] {
        p.task("app::transfer", 4, 1, |task| {
            task.waits = vec![wait(1, Resource::Mutex(wants), Some(true))];
            task.holds = vec![hold(has, "to", line)];
        });
    }
    p.task("app::transfer", 4, 1, |task| {
        task.waits = vec![wait(1, Resource::Mutex(0xa000), Some(true))];
    });
}

/// Tasks that wait for a channel or a timer.
fn add_leases(p: &mut Inspected) {
    for lease in 1..4 {
        p.task("app::lease", 6, 2, |task| {
            task.waits = vec![
                wait(2, Resource::Channel(0xc000 + lease), Some(true)),
                wait(3, Resource::Timer(Nanos((12 + lease) * SECOND)), Some(true)),
            ];
        });
    }
}

/// Tasks that read, all of which can be woken.
pub fn healthy() -> Vec<u8> {
    let mut p = Inspected::new();
    p.begin();
    p.stack(
        1,
        &[
            (0, "app::serve", 12),
            (1, "app::read_frame", 17),
            (2, "tokio::io::Readiness", 0),
        ],
    );
    (50..60).for_each(|fd| p.reading(fd));
    p.thread(4130, ThreadRole::Parked, "epoll_wait", None);
    p.end();
    p.inspect_again();
    p.finish()
}

/// A core file with a lost waker, a thread in a call that waits, and a timer.
pub fn core_file() -> Vec<u8> {
    let mut p = Inspected::new();
    p.core_file = b"/var/crash/core.4127".to_vec();
    p.gaps = vec!["The core file is cut: it has 4096 of 8192 bytes.".to_owned()];
    p.begin();
    p.stack(1, &[(0, "app::serve", 12), (1, "tokio::io::Readiness", 0)]);
    p.stack(2, &[(0, "app::lease", 6), (1, "tokio::time::Sleep", 0)]);
    p.task("app::serve", 1, 0, |task| {
        task.waits = vec![wait(1, Resource::Readable(7), Some(true))];
    });
    p.task("app::export", 0, 0, |task| {
        task.state = TaskState::Running;
        task.wakers = None;
    });
    p.task("app::lease", 2, 1, |task| {
        task.waits = vec![wait(1, Resource::Timer(Nanos(12 * SECOND)), Some(true))];
    });
    p.thread(4131, ThreadRole::Polling, "clock_nanosleep", Some(2));
    p.end();
    p.finish()
}

/// Boxed futures with each kind of holder, and in each state.
pub fn boxed() -> Vec<u8> {
    let mut p = Inspected::new();
    p.begin();
    p.stack(1, &[(0, "serve", 12), (1, "receive", 17)]);
    p.stack(2, &[(0, "job", 30)]);
    let boxed = |owner: TaskOwner| {
        move |task: &mut InspectedTask| {
            task.kind = TaskKind::Boxed;
            task.runtime_id = 0;
            task.spawned_at = None;
            task.wakers = None;
            task.owner = owner.clone();
        }
    };
    p.task("serve", 1, 1, |_| {});
    for owner in [
        TaskOwner::Task(TaskId(1)),
        TaskOwner::Static("app::QUEUE".to_owned()),
        TaskOwner::Thread(71),
        TaskOwner::Unknown,
    ] {
        p.task("job", 2, 0, boxed(owner));
    }
    let states = [TaskState::NotStarted, TaskState::Finished];
    for state in states {
        p.task("job", 0, 0, |task| {
            boxed(TaskOwner::Static("app::QUEUE".to_owned()))(task);
            task.state = state;
        });
    }
    p.task("job", 2, 0, |task| {
        boxed(TaskOwner::Unknown)(task);
        task.may_be_freed = true;
    });
    p.end();
    p.finish()
}

/// C++20 coroutines: chains, with and without lines, frames that were not destroyed, and frames that may be freed.
pub fn cpp() -> Vec<u8> {
    let mut p = Inspected::new();
    p.runtime = "C++20 coroutines";
    p.gaps = vec![
        "2 frames of C++20 coroutines are not at the start of memory that the allocator says is in use: some may be \
         freed"
            .to_owned(),
    ];
    p.begin();
    p.suspension = 2;
    p.stack(1, &[(0, "serve(net::Session&)", 12), (1, "read(int)", 17)]);
    p.suspension = 0;
    p.stack(2, &[(0, "log::write()", 0)]);
    p.stack(3, &[(0, "session(int)", 22)]);
    let cpp = |task: &mut InspectedTask| {
        task.kind = TaskKind::Cpp;
        task.runtime_id = 0;
        task.spawned_at = None;
        task.wakers = None;
    };
    for _ in 0..12 {
        p.task("serve(net::Session&)", 1, 0, cpp);
    }
    p.task("log::write()", 2, 0, cpp);
    for _ in 0..7 {
        p.task("session(int)", 3, 0, |task| {
            cpp(task);
            task.state = TaskState::Finished;
        });
    }
    for stack in [2, 3] {
        p.task("log::write()", stack, 0, |task| {
            cpp(task);
            task.may_be_freed = true;
        });
    }
    p.end();
    p.inspect_again();
    p.finish()
}

/// A lost waker, and a single inspection.
pub fn once() -> Vec<u8> {
    let mut p = Inspected::new();
    p.begin();
    p.stack(1, &[(0, "app::serve", 12), (1, "tokio::io::Readiness", 0)]);
    p.task("app::serve", 1, 0, |task| {
        task.waits = vec![wait(1, Resource::Readable(7), Some(true))];
    });
    p.end();
    p.finish()
}

/// A program to which the recorder attached: a recorded task, and two that never ran again.
pub fn attached() -> Vec<u8> {
    let mut p = Inspected::new();
    p.trace.start.capacity = 64;
    let site = p.trace.source(SESSION, 12);
    let idle = wait_at(site, WaitKind::Readable, 7);
    let recorded = p.trace.born("app::serve", site, 2 * MS);
    for at in [3 * MS, 6 * SECOND, 12 * SECOND] {
        p.trace.run(recorded, at, 4131);
        p.trace.suspend(recorded, at + MS, 4131, idle);
    }
    p.begin();
    p.stack(1, &[(0, "app::serve", 12), (1, "tokio::io::Readiness", 0)]);
    for (fd, wakers) in [(7, 1), (8, 0), (9, 1)] {
        p.task("app::serve", 1, wakers, |task| {
            task.size_bytes = 0x80;
            task.coroutine = CoroutineId(u32::from(fd == 7));
            task.waits = vec![wait(1, Resource::Readable(fd), Some(wakers != 0))];
        });
    }
    p.end();
    p.inspect_again();
    p.finish()
}

/// A program without symbols and debug information.
pub fn stripped() -> Vec<u8> {
    let mut p = Inspected::new();
    p.gaps =
        vec!["/srv/orders-api has no debug information: what tasks wait for is unknown".to_owned()];
    p.begin();
    for wakers in [0, 0, 1, 1, 1] {
        p.task("", 0, wakers, |task| task.spawned_at = None);
    }
    p.thread(4130, ThreadRole::Other, "epoll_wait", None);
    p.end();
    p.inspect_again();
    p.finish()
}
