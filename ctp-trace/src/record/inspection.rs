//! Inspections: the tasks and threads of a process as read from its memory at one moment. The process
//! needs no probe, and is not stopped.
//!
//! An inspection is a sequence of records: [`Inspection`], the [`AwaitStack`]s, [`InspectedTask`]s and
//! [`InspectedThread`]s that are new or differ from the inspection before, and [`InspectionEnd`].
//! Inspections during a recording may read threads only.

use crate::record::{CoroutineId, Nanos, ProcessId};

/// Identifies a task within a trace, counted from 1. A task keeps its number in all inspections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(pub u32);

/// Identifies an [`AwaitStack`] within a trace, counted from 1; 0 means that no stack is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AwaitStackId(pub u32);

/// An inspection of a process begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inspection {
    /// The inspected process.
    pub process: ProcessId,
    /// Number of the inspection among those of its process, from 1.
    pub number: u32,
    /// When reading began.
    pub at: Nanos,
    /// Path of the core file that is inspected; empty for a running process. A core file shows a single
    /// moment, whose time is unknown: times are 0, and deadlines are on the clock of the process.
    pub core_file: Vec<u8>,
    /// Only threads are read. Nothing is said about tasks.
    pub only_threads: bool,
}

/// An inspection is complete.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InspectionEnd {
    /// The inspected process.
    pub process: ProcessId,
    /// Number of the inspection among those of its process, from 1.
    pub number: u32,
    /// When reading ended.
    pub at: Nanos,
    /// Tasks of earlier inspections that exist no longer.
    pub ended: Vec<TaskId>,
    /// Threads of earlier inspections that exist no longer, by the kernel's id.
    pub ended_threads: Vec<u32>,
    /// The runtimes found, such as `tokio 1.54.1`; without a number if the version is unknown.
    pub runtimes: Vec<String>,
    /// Sentences about what could not be read or understood. Empty if nothing is missing.
    pub gaps: Vec<String>,
}

/// The functions that await each other in a task, with all branches of a `join!` or a `select!`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct AwaitStack {
    /// Number of the stack in this trace.
    pub id: AwaitStackId,
    /// The functions, each directly followed by what it awaits. The first is the outermost.
    pub frames: Vec<AwaitFrame>,
}

/// A suspended future in an [`AwaitStack`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct AwaitFrame {
    /// How many futures are around this one. Frames of equal depth without one of lesser depth in
    /// between are branches of the same future.
    pub depth: u32,
    /// The function or type, as the user wrote it: `serve`, `tokio::sync::Notified`.
    pub name: String,
    /// Path of the source file as the compiler was given it; empty if unknown.
    pub file: String,
    /// The line of the `.await`, or of the function where that is unknown; 0 if neither is known.
    pub line: u32,
    /// The future is `std::future::Pending`, a `PollFn` or alike: without a waker of its own it may
    /// be meant to wait forever.
    pub may_wait_forever: bool,
    /// The number of the point at which a C++20 coroutine is suspended, from 1 as the compiler counts; 0 if unknown.
    pub suspension: u32,
}

/// A task of a runtime.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InspectedTask {
    /// Number of the task in this trace.
    pub id: TaskId,
    /// The process of the task.
    pub process: ProcessId,
    /// The kind of task.
    pub kind: TaskKind,
    /// Address of the task in memory.
    pub address: u64,
    /// The id that the runtime gave the task; 0 if it gives none.
    pub runtime_id: u64,
    /// The future, as the user wrote it; empty if unknown.
    pub name: String,
    /// Where the task was spawned: file and line, if the runtime recorded that.
    pub spawned_at: Option<(String, u32)>,
    /// What the task is doing.
    pub state: TaskState,
    /// At most this many wakers of the task are left; `None` if unknown.
    pub wakers: Option<u32>,
    /// What holds the wakers that were found. There may be fewer than [`wakers`](Self::wakers).
    pub waker_holders: Vec<WakerHolder>,
    /// The await stack; 0 if unknown.
    pub stack: AwaitStackId,
    /// What the task waits for, one entry for each known innermost future.
    pub waits: Vec<TaskWait>,
    /// The locks that the task holds.
    pub holds: Vec<HeldLock>,
    /// The thread that polls the task, by the kernel's id; 0 if none is known.
    pub polled_by: u32,
    /// The size of the task in memory, from its address to the end of its future; 0 if unknown.
    pub size_bytes: u64,
    /// The coroutine of the trace that is this task; 0 if the task is not recorded.
    pub coroutine: CoroutineId,
    /// The allocator does not say that the memory of the task is in use, so the task may not exist.
    pub may_be_freed: bool,
    /// What holds a boxed future.
    pub owner: TaskOwner,
}

impl InspectedTask {
    /// Whether the task is a recorded coroutine, of which the events say more than an inspection.
    pub fn is_recorded(&self) -> bool {
        self.coroutine != CoroutineId::default()
    }

    /// Whether this address is in the memory of the task.
    pub fn contains(&self, address: u64) -> bool {
        address
            .checked_sub(self.address)
            .is_some_and(|offset| offset < self.size_bytes)
    }
}

/// The kind of an inspected task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TaskKind {
    /// A task of tokio.
    #[default]
    Tokio,
    /// The root future of `block_on`.
    BlockOn,
    /// A closure of tokio's blocking pool.
    Blocking,
    /// A future inside another task that is polled by wakers of its own, as in `FuturesUnordered`.
    Child,
    /// A task of async-task, which smol and async-std use.
    AsyncTask,
    /// A C++20 coroutine, with the coroutines that it awaits.
    Cpp,
    /// A future in a `Box<dyn Future>` that is polled with wakers of its own, by a set of futures or by an executor
    /// that is not known.
    Boxed,
}

impl TaskKind {
    /// The word for this kind in dumps and documents.
    pub fn word(self) -> &'static str {
        match self {
            TaskKind::Tokio => "tokio",
            TaskKind::BlockOn => "block_on",
            TaskKind::Blocking => "blocking",
            TaskKind::Child => "child",
            TaskKind::AsyncTask => "async-task",
            TaskKind::Cpp => "c++20",
            TaskKind::Boxed => "boxed",
        }
    }
}

/// What holds a boxed future.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum TaskOwner {
    /// Unknown, or not a boxed future.
    #[default]
    Unknown,
    /// A task, which may be a boxed future too.
    Task(TaskId),
    /// A static variable, by its path.
    Static(String),
    /// The stack or the thread-local memory of a thread, by the kernel's id.
    Thread(u32),
}

/// The state of an inspected task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TaskState {
    /// Suspended, and not woken since.
    #[default]
    Idle,
    /// Polled by a thread.
    Running,
    /// Woken, and in a run queue.
    Notified,
    /// Cancelled, by its owner or by the end of its runtime. It is dropped, and not polled again.
    Cancelled,
    /// Has run to the end, and its memory was not freed.
    Finished,
    /// Was never polled.
    NotStarted,
}

impl TaskState {
    /// The word for this state in dumps and documents.
    pub fn word(self) -> &'static str {
        match self {
            TaskState::Idle => "idle",
            TaskState::Running => "running",
            TaskState::Notified => "notified",
            TaskState::Cancelled => "cancelled",
            TaskState::Finished => "finished",
            TaskState::NotStarted => "not started",
        }
    }
}

/// What holds a waker of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WakerHolder {
    /// One of several places in memory that look like a waker of the task.
    #[default]
    Unknown,
    /// An I/O resource of the runtime; its file descriptor, if known.
    Io(Option<u32>),
    /// A timer of the runtime.
    Timer,
    /// The waiters of a lock, semaphore, `Notify` or channel, by address.
    Sync(u64),
    /// Another task.
    Task(TaskId),
    /// The task itself.
    Own,
    /// A stack of a thread, by the kernel's id.
    Thread(u32),
    /// An object of an unknown type, with the waker at this address.
    Memory(u64),
}

/// What an innermost future waits for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskWait {
    /// Index of the future in the frames of the task's stack.
    pub frame: u32,
    /// The awaited resource.
    pub resource: Resource,
    /// Whether this future has registered a waker of the task; `None` if unknown.
    pub has_waker: Option<bool>,
    /// The type of the future is known to register a waker whenever it waits.
    pub always_registers: bool,
}

/// A resource for which tasks wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Resource {
    /// Unknown.
    #[default]
    Unknown,
    /// A file descriptor to become readable.
    Readable(u32),
    /// A file descriptor to become writable.
    Writable(u32),
    /// A timer with this deadline.
    Timer(Nanos),
    /// A mutex, by its address.
    Mutex(u64),
    /// A reader-writer lock, by its address.
    RwLock(u64),
    /// A semaphore, by its address.
    Semaphore(u64),
    /// A channel, by its address.
    Channel(u64),
    /// Room in a channel, by the channel's address.
    Room(u64),
    /// A `Notify`, by its address.
    Notify(u64),
    /// The end of another task.
    Task(TaskId),
}

/// A lock that a suspended future holds, known by the guard among the future's variables. Or the room in a
/// channel, if the receiver, which alone makes room, is among the variables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeldLock {
    /// The lock.
    pub resource: Resource,
    /// No other task can hold the lock at the same time.
    pub is_exclusive: bool,
    /// Index of the future with the guard in the frames of the task's stack.
    pub frame: u32,
    /// Name of the variable with the guard.
    pub variable: String,
    /// The line that declares the variable; 0 if unknown.
    pub line: u32,
}

/// A thread of an inspected process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InspectedThread {
    /// The process of the thread.
    pub process: ProcessId,
    /// The kernel's id of the thread.
    pub tid: u32,
    /// Name of the thread.
    pub name: String,
    /// The number of the system call in which the thread is blocked; `None` if it runs, or if that is
    /// unknown.
    pub syscall: Option<u32>,
    /// The name of that system call; empty if unknown.
    pub call: String,
    /// How often the thread has blocked so far. If two inspections have the same number, the thread
    /// has not left its call in between.
    pub switches: u64,
    /// What the thread does for a runtime.
    pub role: ThreadRole,
    /// The task that the thread polls, if known.
    pub polls: Option<TaskId>,
    /// The thread's call stack, innermost first: an instruction, then return addresses. Empty if
    /// unknown.
    pub addresses: Vec<u64>,
    /// The call stack reaches the function with which the thread began.
    pub is_whole: bool,
    /// The kernel says that the thread runs, or is ready to run.
    pub is_running: bool,
}

impl InspectedThread {
    /// Whether a signal or a debugger has stopped the thread: it neither runs nor is in a system call, and
    /// its stack is known.
    pub fn is_stopped(&self) -> bool {
        self.syscall.is_none() && !self.is_running && !self.addresses.is_empty()
    }
}

/// What a thread does for a runtime.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ThreadRole {
    /// Unknown, or not a thread of a runtime.
    #[default]
    Other,
    /// A worker that waits for work.
    Parked,
    /// A worker that polls a task.
    Polling,
    /// A worker in neither of the two states, which is thus about to look for work.
    Worker,
    /// A thread of the blocking pool.
    Blocking,
}

impl ThreadRole {
    /// Whether the thread is a worker of a runtime, whatever the worker does.
    pub fn is_worker(self) -> bool {
        matches!(
            self,
            ThreadRole::Parked | ThreadRole::Polling | ThreadRole::Worker
        )
    }
}
