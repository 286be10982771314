//! What a trace says: one [`Record`] per fact, in the order in which the recorder learnt it.

mod aggregate;
mod flight;
mod look;
mod thread_event;

pub use aggregate::{Aggregate, Bins, Durations};
pub use flight::{Earlier, EndedSums, Window};
pub use look::{Look, Seen, Thing};
pub use thread_event::{Act, Close, Hold, ThreadEvent, WakeCall};

/// Nanoseconds since the start of the recording, on the target's monotonic clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(pub u64);

/// A coroutine of this trace: a small number, from 1, in the order of discovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CoroutineId(pub u32);

/// A process of this trace: a small number, from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProcessId(pub u32);

/// A [`Site`] of this trace: a small number, from 1; 0 says that no site is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SiteId(pub u32);

/// One fact. A record comes after the records that it refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Record {
    /// First record of every trace.
    Start(Start),
    /// A process attached.
    Process(Process),
    /// A file mapped into a process.
    Module(Module),
    /// A place in the program.
    Site(Site),
    /// Who awaits whom at a site.
    Chain(Chain),
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
    /// A process is no more; everything of it comes before.
    ProcessEnd(ProcessEnd),
    /// What the program summed up of a coroutine, in place of what it had before.
    Aggregate(Box<Aggregate>),
    /// From here on other events are kept.
    Control(Control),
    /// This is the trace of a flight recorder.
    Window(Window),
    /// How much of a coroutine came before its first event in the trace of a flight recorder.
    Earlier(Earlier),
    /// What those come to that ended before the window of a flight recorder.
    EndedSums(Box<EndedSums>),
    /// What was seen from outside of what a coroutine waits for.
    Look(Look),
    /// All that happened until then, and was published, is told, but for what is counted as lost. It is
    /// written while nothing happens, so that a trace can be read while it is recorded.
    Watermark(Nanos),
    /// Last record of a whole trace.
    End(End),
}

/// Where and when the recording began.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Start {
    /// Random, so that two recordings never look the same.
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
    /// Each wait was to have its await chain, also where a leaf future kept its waker.
    pub precise_chains: bool,
}

/// A process that wrote into the shared memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Process {
    /// Its number in this trace.
    pub id: ProcessId,
    /// The kernel's process id, 0 for a memory image.
    pub pid: u32,
    /// When the recorder first saw it.
    pub attached: Nanos,
}

/// One executable mapping of a file, as in `/proc/<pid>/maps`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Module {
    /// Whose address space.
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
    /// Its number in this trace.
    pub id: SiteId,
    /// The process whose program this is.
    pub process: ProcessId,
    /// What is known of it.
    pub place: Place,
}

/// What is known of a site.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Place {
    /// Source position that the program itself recorded; true without debug information.
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
        /// Name that the program itself recorded (a type's name for a future), empty if none.
        name: String,
    },
    /// An address within a function, to be looked up exactly.
    Address(u64),
    /// The address that a call returns to: the call is in the instruction before.
    ReturnAddress(u64),
}

impl Default for Place {
    fn default() -> Self {
        Place::Address(0)
    }
}

/// An await chain: which functions were on the stack when a coroutine began to wait, from the probe's
/// own, that a leaf future called, to the one that polled the coroutine. Waits that began with
/// another chain have another site, so that its place is what is known without the chain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chain {
    /// The site of those waits.
    pub site: SiteId,
    /// The last address is in the function that polled; else what is outermost is missing.
    pub is_whole: bool,
    /// Runtime addresses as they were found, by frame pointers: an address in the innermost function,
    /// then where each call returns to. That they are so is to be checked: a function that was
    /// compiled without frame pointers makes those behind it meaningless. But see
    /// [`is_of_the_call`](Chain::is_of_the_call).
    pub addresses: Vec<u64>,
}

impl Chain {
    /// Whether it is but the call of the innermost function, which told itself where it returns to:
    /// no frame pointer is needed for that.
    pub fn is_of_the_call(&self) -> bool {
        !self.is_whole && self.addresses.len() == 2
    }
}

/// Who writes the events of a coroutine, which decides what can be known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Dialect {
    /// Our probe: sites, waits, exact counts.
    #[default]
    Extended,
    /// cTP v1 as the published SDKs write it (sequence per slot, odd while writing).
    V1PerSlot,
    /// cTP v1 as the published text says (sequence per station).
    V1PerStation,
}

/// What sort of coroutine it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CoroutineKind {
    /// Not told.
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

/// A coroutine and what is known of it from its birth.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Birth {
    /// Its number in this trace.
    pub coroutine: CoroutineId,
    /// The process it belongs to.
    pub process: ProcessId,
    /// Index of its station in the shared memory.
    pub station: u32,
    /// How often that station was used before, times two.
    pub generation: u32,
    /// The id that the probe gave it.
    pub probe_id: u64,
    /// When it was born.
    pub at: Nanos,
    /// Who writes its events.
    pub dialect: Dialect,
    /// What sort of coroutine.
    pub kind: CoroutineKind,
    /// Name given by the program (or the type of its future), empty if none.
    pub name: String,
    /// Where it was spawned.
    pub spawn_site: SiteId,
}

/// What an event says. Only after a suspend is a coroutine not running.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum EventKind {
    /// It exists, and never ran.
    Birth,
    /// It runs from now on.
    #[default]
    Run,
    /// It waits from now on.
    Suspend,
    /// It ended, was cancelled or panicked.
    Death,
}

/// What a suspended coroutine says it waits for; the event's `arg` says which.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum WaitKind {
    /// Not told.
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
    /// Something of the program's own; `arg` is the program's.
    User,
    /// Nothing: it gave way to others and is ready to run.
    Yield,
}

/// What a suspended coroutine says of its wait besides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WaitMarks {
    /// It is meant to be long.
    pub idle: bool,
    /// It is one of several things that the coroutine waits for, of which the last is told.
    pub one_of_several: bool,
}

/// A change of state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// The coroutine whose event it is.
    pub coroutine: CoroutineId,
    /// Index among this coroutine's events, from 0. A jump is a loss of what lies between. Events
    /// that a filter kept out, as many as lie together, have one index.
    pub n: u64,
    /// When it happened.
    pub at: Nanos,
    /// On which thread (the kernel's id on Linux).
    pub tid: u64,
    /// What happened.
    pub kind: EventKind,
    /// Where it suspended.
    pub site: SiteId,
    /// What sort of thing it waits for.
    pub wait: WaitKind,
    /// Which of those; of a death, see [`gives_out`](Event::gives_out).
    pub arg: u64,
    /// What is said of that wait besides.
    pub marks: WaitMarks,
    /// Low 16 bits of the wake count that the coroutine knew when its last run began. Of a run, that
    /// is this one; older recorders told 0 of each run.
    pub wake_seen: u16,
    /// Between its event before and this one, others were kept out by a filter.
    pub after_filtered: bool,
}

impl Event {
    /// It is the death of one that gave out something in which a lock may be that it held.
    pub fn gives_out(&self) -> bool {
        self.kind == EventKind::Death && self.arg != 0
    }
}

/// Who called `wake()`, or took a lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Waker {
    /// Not known.
    #[default]
    Foreign,
    /// A thread that ran no coroutine, by its id.
    Thread(u32),
    /// A coroutine of this trace.
    Coroutine(CoroutineId),
}

/// State of a coroutine's wake word. A first one with count 0 says that its runtime tells of
/// wakes at all; without any, "never woken" cannot be known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wake {
    /// Who was woken.
    pub coroutine: CoroutineId,
    /// Wakes so far, modulo 2^20.
    pub count: u32,
    /// Who woke last.
    pub waker: Waker,
    /// When it was last woken.
    pub at: Nanos,
}

/// How many events a coroutine had, whether or not they were recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventCounts {
    /// The coroutine whose account it is.
    pub coroutine: CoroutineId,
    /// Events that it had, without those that a filter kept out. What was not recorded of them is
    /// lost.
    pub attempted: u64,
    /// Events of it in this trace.
    pub recorded: u64,
    /// Index of an event whose writer died in the middle of it: reported, never decoded.
    pub torn: Option<u64>,
    /// The counts cannot be trusted (a sequence went back, or two processes wrote).
    pub inexact: bool,
    /// Events that a filter kept out.
    pub filtered: u64,
    /// What its latest event was, if a filter kept that out.
    pub hidden: Option<EventKind>,
    /// How many wakers of it are alive, if that is known: clones of one may count as one. Without any,
    /// nobody can wake it.
    pub wakers: Option<u32>,
}

/// What is kept from now on, as the user asked while the program ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Control {
    /// When it was in force: no event is later that it keeps out.
    pub at: Nanos,
    /// Counts these changes, from 1.
    pub generation: u32,
    /// Of the process with this id only (the kernel's); 0: of all.
    pub pid: u32,
    /// No event is kept.
    pub stopped: bool,
    /// No run is kept.
    pub without_runs: bool,
    /// No suspend is kept.
    pub without_suspends: bool,
    /// The only thread whose runs and suspends are kept; 0: all are.
    pub only_thread: u32,
    /// The only process whose events are kept (the kernel's id); 0: all are.
    pub only_process: u32,
}

impl Control {
    /// Is anything kept out?
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
    /// When it ended, as [`End::at`].
    pub at: Nanos,
    /// How it ended.
    pub how: ProcessExit,
}

/// How a process ended. Only a parent is told what its child's status was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProcessExit {
    /// It exited with this status.
    Exited(i32),
    /// It was ended by this signal.
    Signalled(i32),
    /// It executed another image, which is another process of this trace.
    Exec,
    /// It is gone; how is not known.
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
    /// Whether it was ended by a signal that programs bring upon themselves.
    pub fn is_crash(self) -> bool {
        matches!(self, ExitReason::Signalled(signal) if FAULTS.contains(&signal))
    }
}

/// The closing account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct End {
    /// When. If the program ended, but the recorder was kept from seeing that, when it last saw it alive,
    /// or its latest event was.
    pub at: Nanos,
    /// How the recording ended.
    pub how: ExitReason,
    /// Events in this trace.
    pub events: u64,
    /// Events that the program had but this trace has not.
    pub lost: u64,
    /// Coroutines that found no station and were not recorded.
    pub refused: u64,
    /// Coroutines in this trace.
    pub coroutines: u64,
    /// Sites and names that found no room in their table.
    pub unnamed: u64,
    /// Records that were left out because they made no sense.
    pub quarantined: u64,
    /// The thread at which a fatal signal arrived (the kernel's id); 0 if none did, or if the
    /// kernel did not tell.
    pub faulting_tid: u64,
    /// Processes of the program of which the recorder knows that they are not in this trace, or not all
    /// of them.
    pub unrecorded: u64,
    /// Records between the start and this one; 0 where the recorder did not count them. A trace with
    /// fewer is not whole.
    pub records: u64,
}
