//! A recorder that was not controlled.

use std::fmt;
use std::io;

use ctp_trace::escape::escaped;

/// Why a recorder was not controlled.
#[derive(Debug)]
#[non_exhaustive]
pub enum ControlError {
    /// There is no such process to control.
    NoProcess(u32),
    /// This process neither records nor is recorded.
    NoRecording(u32),
    /// This process is another user's.
    NotPermitted(u32),
    /// This process is of the same user, but the kernel does not show its environment.
    Unreadable(u32),
    /// What listens for this process is of this other user, and may be no recorder.
    Foreign(u32, u32),
    /// The recording of this process is over.
    Ended(u32),
    /// The recorder of this process said nothing.
    Unanswered(u32, io::Error),
    /// The recorder will not, for this reason.
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
                "what listens where the recorder of process {pid} would is not asked: it may be no \
                 recorder, and belongs to user {uid}; ask as that user"
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
            // The other end may have made more than a sentence of it.
            ControlError::Refused(sentence) => out.write_str(&escaped(sentence)),
        }
    }
}

impl std::error::Error for ControlError {}
