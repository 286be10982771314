//! The contents of a trace: a sequence of [`Record`]s, each stating one fact, in the order in which the
//! recorder learnt them.

mod aggregate;
mod coroutine_stack;
mod end;
mod event;
mod flight;
mod inspection;
mod leaf;
mod look;
mod site;
mod thread_event;
mod threads;

pub use aggregate::{Aggregate, Bins, Durations};
pub use coroutine_stack::CoroutineStack;
pub use end::{End, ExitReason, ProcessEnd, ProcessExit};
pub use event::{Event, EventKind, PollWakers, WaitKind, WaitMarks, Wake, Waker};
pub use flight::{Earlier, EndedSums, Window};
pub use inspection::{
    AwaitFrame, AwaitStack, AwaitStackId, HeldLock, InspectedTask, InspectedThread, Inspection,
    InspectionEnd, Resource, TaskId, TaskKind, TaskOwner, TaskState, TaskWait, ThreadRole,
    WakerHolder,
};
pub use leaf::{Leaf, LeafKind, Sockets};
pub use look::{Look, Seen, Thing};
pub use site::{Branches, Chain, Place, Site};
pub use thread_event::{Act, Close, Hold, ThreadEvent, WakeCall};
pub use threads::Threads;

/// Nanoseconds since the start of the recording, on the target's monotonic clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(pub u64);

/// Identifies a coroutine within a trace: counted from 1 in the order of discovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CoroutineId(pub u32);

/// Identifies a process within a trace: counted from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProcessId(pub u32);

/// Identifies a [`Site`] within a trace: counted from 1; 0 means that no site is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SiteId(pub u32);

/// One fact. A record follows the records that it refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Record {
    /// The first record of every trace.
    Start(Start),
    /// A process attached.
    Process(Process),
    /// A file is mapped into a process.
    Module(Module),
    /// A place in the program where coroutines are spawned or suspended.
    Site(Site),
    /// The call stack of the waits at a site.
    Chain(Chain),
    /// The branches of a wait at a site.
    Branches(Branches),
    /// A coroutine was discovered.
    Birth(Birth),
    /// A coroutine changed its state.
    Event(Event),
    /// The latest wake of a coroutine, as seen when its station was read.
    Wake(Wake),
    /// A thread did something that is not a coroutine's change of state.
    ThreadEvent(ThreadEvent),
    /// Final account of a coroutine's events, written once it is dead or the recording ends.
    EventCounts(EventCounts),
    /// A process ended; all of its records come before.
    ProcessEnd(ProcessEnd),
    /// Totals that the program kept for a coroutine; replaces the coroutine's earlier aggregate.
    Aggregate(Box<Aggregate>),
    /// From here on, a different filter decides which events are kept.
    Control(Control),
    /// The trace comes from a flight recorder.
    Window(Window),
    /// How many events of a coroutine precede its first event in a flight recorder's trace.
    Earlier(Earlier),
    /// Totals of coroutines that ended before a flight recorder's window.
    EndedSums(Box<EndedSums>),
    /// What the recorder observed, from outside the program, of the resource that a coroutine waits for.
    Look(Look),
    /// What the recorder observed, from outside the program, of the threads of a process.
    Threads(Threads),
    /// What the recorder observed, from outside the program, of the sockets of a process.
    Sockets(Sockets),
    /// What the leaf future of the waits at a site waits for.
    Leaf(Leaf),
    /// The call stack of a coroutine that waits on a stack of its own.
    CoroutineStack(CoroutineStack),
    /// An inspection of a process begins.
    Inspection(Inspection),
    /// The functions that await each other in tasks of an inspection.
    AwaitStack(AwaitStack),
    /// A task, as an inspection found it; replaces what earlier inspections found.
    InspectedTask(Box<InspectedTask>),
    /// A thread, as an inspection found it; replaces what earlier inspections found.
    InspectedThread(InspectedThread),
    /// An inspection is complete.
    InspectionEnd(InspectionEnd),
    /// Everything that happened and was published until this time is in the trace, except for what is
    /// counted as lost. Written while nothing happens, so that a trace can be read while it is recorded.
    Watermark(Nanos),
    /// The last record of a complete trace.
    End(End),
}

/// Where and when the recording began.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Start {
    /// Random; distinguishes any two recordings.
    pub trace_id: [u8; 16],
    /// Version of the recorder that wrote this trace.
    pub recorder: String,
    /// Name of the machine.
    pub host: String,
    /// Program and arguments, byte for byte. Empty for a memory image.
    pub argv: Vec<Vec<u8>>,
    /// Wall clock at the start, nanoseconds since 1970.
    pub started_unix_ns: u64,
    /// CLOCK_MONOTONIC at the start; every [`Nanos`] counts from here.
    pub started_monotonic_ns: u64,
    /// How many coroutines the shared memory can hold.
    pub capacity: u32,
    /// The probe was asked for an await chain of every wait, also where a leaf future kept its waker.
    pub precise_chains: bool,
}

/// A process that wrote into the shared memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Process {
    /// Number of the process in this trace.
    pub id: ProcessId,
    /// The kernel's process id, 0 for a memory image.
    pub pid: u32,
    /// When the recorder first saw the process.
    pub attached: Nanos,
}

/// One executable mapping of a file, as in `/proc/<pid>/maps`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Module {
    /// The process with this mapping.
    pub process: ProcessId,
    /// First address of the mapping.
    pub start: u64,
    /// First address after the mapping.
    pub end: u64,
    /// Offset in the file of the byte at `start`.
    pub file_offset: u64,
    /// Path as the kernel prints it, byte for byte.
    pub path: Vec<u8>,
    /// GNU build id, empty where the file has none.
    pub build_id: Vec<u8>,
}

/// The writer of a coroutine's events, which decides what can be known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Dialect {
    /// The probe of this project: sites, waits, exact counts.
    #[default]
    Extended,
    /// cTP v1 as the published SDKs write it (sequence per slot, odd while writing).
    V1PerSlot,
    /// cTP v1 as the published specification says (sequence per station).
    V1PerStation,
}

/// The kind of a coroutine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CoroutineKind {
    /// Not recorded.
    #[default]
    Unknown,
    /// A future that an executor polls.
    Future,
    /// A coroutine with a stack of its own.
    Stackful,
    /// A plain thread.
    Thread,
    /// A task on bare metal.
    Bare,
}

impl CoroutineKind {
    /// The word for this kind in dumps and tables.
    pub fn word(self) -> &'static str {
        match self {
            CoroutineKind::Future => "future",
            CoroutineKind::Stackful => "stackful",
            CoroutineKind::Thread => "thread",
            CoroutineKind::Bare => "bare",
            CoroutineKind::Unknown => "unknown",
        }
    }
}

/// A coroutine and the facts that are known from its birth.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Birth {
    /// Number of the coroutine in this trace.
    pub coroutine: CoroutineId,
    /// The process of the coroutine.
    pub process: ProcessId,
    /// Index of its station in the shared memory.
    pub station: u32,
    /// How often the station was used before, times two.
    pub generation: u32,
    /// The id that the probe assigned.
    pub probe_id: u64,
    /// Time of the birth.
    pub at: Nanos,
    /// The writer of the coroutine's events.
    pub dialect: Dialect,
    /// The kind of coroutine.
    pub kind: CoroutineKind,
    /// Name given by the program (or the type of its future), empty if none.
    pub name: String,
    /// The spawn site.
    pub spawn_site: SiteId,
    /// The coroutine lived before the recorder attached to its program. Then `at` is not when it was born.
    pub lived_before: bool,
}

/// How many events a coroutine had, recorded or not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventCounts {
    /// The coroutine with these counts.
    pub coroutine: CoroutineId,
    /// All events of the coroutine except filtered events. Those not recorded are lost.
    pub attempted: u64,
    /// Events of the coroutine in this trace.
    pub recorded: u64,
    /// Index of an event that is incomplete because its writer died: reported, never decoded.
    pub torn: Option<u64>,
    /// The counts cannot be trusted (a sequence went back, or two processes wrote).
    pub inexact: bool,
    /// Events that a filter kept out.
    pub filtered: u64,
    /// Kind of the coroutine's latest event, if a filter kept that event out.
    pub hidden: Option<EventKind>,
    /// How many of the coroutine's wakers are alive, if known; clones may share a count. At 0,
    /// nothing can wake the coroutine.
    pub wakers: Option<u32>,
}

/// The filter from now on, as the user set it while the program ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Control {
    /// When the filter took effect: no event that the filter keeps out is later than this.
    pub at: Nanos,
    /// Number of the change, from 1.
    pub generation: u32,
    /// Kernel's id of the process to which this filter applies; 0: all processes.
    pub pid: u32,
    /// No event is kept.
    pub stopped: bool,
    /// No run is kept.
    pub without_runs: bool,
    /// No suspend is kept.
    pub without_suspends: bool,
    /// Runs and suspends are kept of this thread only; 0: of all threads.
    pub only_thread: u32,
    /// Events are kept of this process only (the kernel's id); 0: of all processes.
    pub only_process: u32,
}

impl Control {
    /// Whether the filter keeps anything out.
    pub fn is_in_force(&self) -> bool {
        let of_some = self.only_thread | self.only_process;
        self.stopped || self.without_runs || self.without_suspends || of_some != 0
    }
}
