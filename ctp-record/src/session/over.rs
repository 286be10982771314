//! Why it is over, for the trace and for who started the recorder.

use ctp_trace::record::ExitReason;

/// Why the loop goes no further.
#[derive(Clone, Copy, Debug)]
pub enum Over {
    /// The program ended.
    Ended(ExitReason),
    /// A signal, this one: a second one that asks for an end, or one that is about the recorder.
    Stopped(i32),
}

impl Over {
    /// Whether the recorder has used its processor time, so that the kernel may kill it soon.
    pub fn is_out_of_time(self) -> bool {
        matches!(self, Over::Stopped(libc::SIGXCPU))
    }

    /// For the trace.
    pub fn exit_reason(self) -> ExitReason {
        match self {
            Over::Ended(exit_reason) => exit_reason,
            Over::Stopped(_) => ExitReason::Stopped,
        }
    }

    /// The recorder's exit status: the program's, 128+n if signal n ended it or the wait for it.
    pub fn status(self) -> u8 {
        match self {
            Over::Ended(ExitReason::Exited(code)) => code as u8,
            Over::Ended(ExitReason::Signalled(signal)) | Over::Stopped(signal) => {
                128 + signal as u8
            }
            Over::Ended(_) => 1,
        }
    }
}
