//! Errors of `ctp-record control`.

use std::fmt;
use std::io;

use ctp_trace::escape::escaped;

/// Why a control request failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum ControlError {
    /// No such process exists.
    NoProcess(u32),
    /// This process neither records nor is recorded.
    NoRecording(u32),
    /// This process belongs to another user.
    NotPermitted(u32),
    /// This process belongs to the same user, but the kernel does not show its environment.
    Unreadable(u32),
    /// The listener for this process belongs to this other user and may not be a recorder.
    Foreign(u32, u32),
    /// The recording of this process has ended.
    Ended(u32),
    /// The recorder of this process did not answer.
    Unanswered(u32, io::Error),
    /// The recorder refused, with this sentence.
    Refused(String),
}

impl fmt::Display for ControlError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ControlError::NoProcess(pid) => write!(out, "there is no process {pid}"),
            ControlError::NoRecording(pid) => write!(
                out,
                "process {pid} neither records nor was started by a recorder: start it with \
                 ctp-record -- PROGRAM"
            ),
            ControlError::NotPermitted(pid) => write!(
                out,
                "not permitted: process {pid} is another user's, and so is its recording"
            ),
            ControlError::Unreadable(pid) => write!(
                out,
                "process {pid} is not dumpable (prctl, set-user-id or file capabilities), so that the \
                 kernel does not show which recorder it has: give the process id of its ctp-record"
            ),
            ControlError::Foreign(pid, uid) => write!(
                out,
                "the socket for the recorder of process {pid} belongs to user {uid} and may not be a \
                 recorder's: run ctp-record control as that user"
            ),
            ControlError::Ended(pid) => write!(out, "the recording of process {pid} has ended"),
            ControlError::Unanswered(pid, error) => {
                write!(
                    out,
                    "the recorder of process {pid} does not answer: {error}"
                )?;
                match error.kind() {
                    io::ErrorKind::TimedOut => out.write_str("; is it stopped?"),
                    _ => Ok(()),
                }
            }
            // Escaped, because the other end may have sent more than a sentence.
            ControlError::Refused(sentence) => out.write_str(&escaped(sentence)),
        }
    }
}

impl std::error::Error for ControlError {}
