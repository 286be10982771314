//! How processes and the recording ended.

use crate::record::{Nanos, ProcessId};

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
