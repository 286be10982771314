//! The contents of a trace: a sequence of [`Record`]s, each stating one fact, in the order in which the
//! recorder learnt them.

mod aggregate;
mod flight;
mod inspection;
mod look;
mod thread_event;

pub use aggregate::{Aggregate, Bins, Durations};
pub use flight::{Earlier, EndedSums, Window};
pub use inspection::{
    AwaitFrame, AwaitStack, AwaitStackId, HeldLock, InspectedTask, InspectedThread, Inspection,
    InspectionEnd, Resource, TaskId, TaskKind, TaskState, TaskWait, ThreadRole, WakerHolder,
};
pub use look::{Look, Seen, Thing};
pub use thread_event::{Act, Close, Hold, ThreadEvent, WakeCall};

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
    /// When the recorder first saw it.
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

/// A place where coroutines are spawned or suspended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Site {
    /// Number of the site in this trace.
    pub id: SiteId,
    /// The process that executes this code.
    pub process: ProcessId,
    /// What is known of the site.
    pub place: Place,
}

/// What is known of a site.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Place {
    /// Source position that the program recorded itself; needs no debug information.
    Source {
        /// Path as the compiler was given it, often relative.
        file: String,
        /// Line, from 1.
        line: u32,
        /// Column, from 1; 0 where unknown.
        column: u32,
    },
    /// A function, by its first instruction.
    Function {
        /// Runtime address.
        address: u64,
        /// Name that the program recorded itself (the type name of a future); empty if none.
        name: String,
    },
    /// An address within a function, to be symbolized exactly.
    Address(u64),
    /// A return address: the call is the instruction before.
    ReturnAddress(u64),
}

impl Default for Place {
    fn default() -> Self {
        Place::Address(0)
    }
}

/// An await chain: the stack when a coroutine began to wait. The innermost function is the probe's,
/// called by a leaf future; the outermost polled the coroutine. Waits with different chains have
/// different sites, and the place of a site is what is known without its chain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chain {
    /// The site of the waits with this chain.
    pub site: SiteId,
    /// The last address is in the function that polled the coroutine; otherwise the outermost functions
    /// are missing.
    pub is_whole: bool,
    /// Runtime addresses as found by following frame pointers: first an address in the innermost
    /// function, then the return addresses. They are not verified: a function compiled without frame
    /// pointers makes all addresses behind it meaningless. [`is_of_the_call`](Chain::is_of_the_call) is
    /// the exception.
    pub addresses: Vec<u64>,
}

impl Chain {
    /// Whether the chain holds only the call of the innermost function, which recorded its own return
    /// address. That needs no frame pointers.
    pub fn is_of_the_call(&self) -> bool {
        !self.is_whole && self.addresses.len() == 2
    }
}

/// The branches of a wait for several leaf futures, as in a `select!`. Each is known by its chain, at a
/// site of its own. The argument of an event at `site` whose wait is [`WaitKind::Unknown`] has a bit for
/// each branch, in this order: since the previous suspend, that branch has waited and no waker of it was
/// called.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Branches {
    /// The site of the waits with these branches.
    pub site: SiteId,
    /// The sites of the branches, that of the branch that was polled last first.
    pub sites: Vec<SiteId>,
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
}

/// The kind of an event. A coroutine is running after every event except a suspend (and after its birth,
/// until the first run).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum EventKind {
    /// The coroutine exists and has not run yet.
    Birth,
    /// The coroutine runs from now on.
    #[default]
    Run,
    /// The coroutine waits from now on.
    Suspend,
    /// The coroutine ended, was cancelled or panicked.
    Death,
}

/// What a suspended coroutine waits for, as recorded; the event's `arg` identifies the resource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum WaitKind {
    /// Not recorded.
    #[default]
    Unknown,
    /// A file descriptor to become readable; `arg` is the descriptor.
    Readable,
    /// A file descriptor to become writable; `arg` is the descriptor.
    Writable,
    /// A timer; `arg` is the deadline on the clock of [`Start::started_monotonic_ns`], or 0.
    Timer,
    /// A lock; `arg` is its address.
    Lock,
    /// A channel; `arg` is its address.
    Channel,
    /// Another coroutine; `arg` is its probe id.
    Coroutine,
    /// Something that the program defines; the meaning of `arg` is the program's.
    User,
    /// Nothing: the coroutine yielded and is ready to run.
    Yield,
}

/// Further properties of a wait, as recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WaitMarks {
    /// The wait is meant to be long.
    pub idle: bool,
    /// The coroutine waits for several things; only the last is recorded.
    pub one_of_several: bool,
    /// Which wakers the poll left that ended in this wait; only for waits of an unknown kind.
    pub wakers: PollWakers,
}

/// The wakers with which a poll left a coroutine, as far as they are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum PollWakers {
    /// A waker that the poll took, or the wakers are not counted.
    #[default]
    Taken,
    /// The poll took no waker, but a waker of an earlier poll was left.
    Earlier,
    /// The poll took no waker, and none was left.
    Unregistered,
}

/// A change of a coroutine's state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// The coroutine of this event.
    pub coroutine: CoroutineId,
    /// Index among this coroutine's events, from 0. A gap means that the events in between are lost. A
    /// run of consecutive filtered events takes a single index.
    pub n: u64,
    /// Time of the event.
    pub at: Nanos,
    /// On which thread (the kernel's id on Linux).
    pub tid: u64,
    /// What happened.
    pub kind: EventKind,
    /// The site of the suspend.
    pub site: SiteId,
    /// What the coroutine waits for.
    pub wait: WaitKind,
    /// Identifies the awaited resource; for a death, see [`gives_out`](Event::gives_out).
    pub arg: u64,
    /// Further properties of the wait.
    pub marks: WaitMarks,
    /// Low 16 bits of the wake count that the coroutine knew when its last run began; for a run event,
    /// that run itself. Older recorders wrote 0 for every run.
    pub wake_seen: u16,
    /// A filter kept out events between the coroutine's previous event and this event.
    pub after_filtered: bool,
}

impl Event {
    /// Whether this is the death of a coroutine that returned a value which may contain a lock guard.
    pub fn gives_out(&self) -> bool {
        self.kind == EventKind::Death && self.arg != 0
    }
}

/// The caller of `wake()`, or the taker of a lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Waker {
    /// Not known.
    #[default]
    Foreign,
    /// A thread that was running no coroutine, by its id.
    Thread(u32),
    /// A coroutine of this trace.
    Coroutine(CoroutineId),
}

/// State of a coroutine's wake word. A first record with count 0 means that the runtime records wakes;
/// without any record, "never woken" cannot be known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wake {
    /// The coroutine that was woken.
    pub coroutine: CoroutineId,
    /// Wakes so far, modulo 2^20.
    pub count: u32,
    /// The latest caller of `wake()`.
    pub waker: Waker,
    /// When the coroutine was last woken.
    pub at: Nanos,
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
    /// When the filter took effect: no later event exists that it keeps out.
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

/// When and how a process ended before the recording did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessEnd {
    /// The process that ended.
    pub process: ProcessId,
    /// Time of the end, as [`End::at`].
    pub at: Nanos,
    /// How the process ended.
    pub how: ProcessExit,
}

/// How a process ended. Only the parent of a process learns its exit status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProcessExit {
    /// The process exited with this status.
    Exited(i32),
    /// A signal ended the process.
    Signalled(i32),
    /// The process executed another image, which is another process of this trace.
    Exec,
    /// The process is gone, for an unknown reason.
    #[default]
    Disappeared,
}

/// How the recording ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExitReason {
    /// The program exited with this status.
    Exited(i32),
    /// The program was ended by this signal.
    Signalled(i32),
    /// The recorder stopped while the program went on.
    #[default]
    Stopped,
    /// There was no program: a memory image was read.
    Image,
}

/// SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV and SIGSYS, as Linux numbers them.
const FAULTS: [i32; 7] = [4, 5, 6, 7, 8, 11, 31];

impl ExitReason {
    /// Whether the program was ended by a signal that programs cause themselves, such as SIGSEGV.
    pub fn is_crash(self) -> bool {
        matches!(self, ExitReason::Signalled(signal) if FAULTS.contains(&signal))
    }
}

/// The final totals of the recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct End {
    /// When the recording ended. If the program ended unobserved: when the recorder last saw the program
    /// alive, or the time of its latest event.
    pub at: Nanos,
    /// How the recording ended.
    pub how: ExitReason,
    /// Events in this trace.
    pub events: u64,
    /// Events that the program had and that are missing in this trace.
    pub lost: u64,
    /// Coroutines that found no free station and were not recorded.
    pub refused: u64,
    /// Coroutines in this trace.
    pub coroutines: u64,
    /// Sites and names for which their table had no room.
    pub unnamed: u64,
    /// Records that were left out because they were invalid.
    pub quarantined: u64,
    /// The thread that received a fatal signal (the kernel's id); 0 if there was none or the kernel did
    /// not say.
    pub faulting_tid: u64,
    /// Processes of the program that are known to be missing in this trace, entirely or in part.
    pub unrecorded: u64,
    /// Number of records between the start and this record; 0 if the recorder did not count them. A
    /// trace with fewer records is incomplete.
    pub records: u64,
}
