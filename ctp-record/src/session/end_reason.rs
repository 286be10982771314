//! [`EndReason`]: why the recording ended, and what that means for the trace and the exit status.

use ctp_trace::record::ExitReason;

/// Why the recording ended.
#[derive(Clone, Copy, Debug)]
pub enum EndReason {
    /// The program ended.
    Ended(ExitReason),
    /// The user ended the recording of programs that go on.
    Requested,
    /// This signal ended the recording: either the second signal that asked for an end, or a signal that concerns the
    /// recorder itself.
    Stopped(i32),
}

impl EndReason {
    /// Whether the recorder has used up its processor time, so that the kernel may kill it soon.
    pub fn is_out_of_time(self) -> bool {
        matches!(self, EndReason::Stopped(libc::SIGXCPU))
    }

    /// The exit reason for the trace.
    pub fn exit_reason(self) -> ExitReason {
        match self {
            EndReason::Ended(exit_reason) => exit_reason,
            EndReason::Requested | EndReason::Stopped(_) => ExitReason::Stopped,
        }
    }

    /// The recorder's exit status: the program's, or 128+n if signal n ended the program or the recording.
    pub fn exit_status(self) -> u8 {
        match self {
            EndReason::Requested => 0,
            EndReason::Ended(ExitReason::Exited(code)) => code as u8,
            EndReason::Ended(ExitReason::Signalled(signal)) | EndReason::Stopped(signal) => {
                128 + signal as u8
            }
            EndReason::Ended(_) => 1,
        }
    }
}
