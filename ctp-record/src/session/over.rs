//! The reason for the end of the recording, for the trace and the exit status.

use ctp_trace::record::ExitReason;

/// Why the loop has ended.
#[derive(Clone, Copy, Debug)]
pub enum Over {
    /// The program ended.
    Ended(ExitReason),
    /// The user ended the recording of programs that go on.
    Requested,
    /// This signal ended the recording: the second that asked for an end, or a signal that concerns the recorder.
    Stopped(i32),
}

impl Over {
    /// Whether the recorder has used up its processor time, so that the kernel may kill it soon.
    pub fn is_out_of_time(self) -> bool {
        matches!(self, Over::Stopped(libc::SIGXCPU))
    }

    /// The exit reason for the trace.
    pub fn exit_reason(self) -> ExitReason {
        match self {
            Over::Ended(exit_reason) => exit_reason,
            Over::Requested | Over::Stopped(_) => ExitReason::Stopped,
        }
    }

    /// The recorder's exit status: the program's, or 128+n if signal n ended the program or the recording.
    pub fn status(self) -> u8 {
        match self {
            Over::Requested => 0,
            Over::Ended(ExitReason::Exited(code)) => code as u8,
            Over::Ended(ExitReason::Signalled(signal)) | Over::Stopped(signal) => {
                128 + signal as u8
            }
            Over::Ended(_) => 1,
        }
    }
}
