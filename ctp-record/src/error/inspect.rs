//! Errors of looking into a running process.

use std::fmt;

use ctp_inspect::TargetError;

/// Why a process cannot be looked into.
#[derive(Debug)]
#[non_exhaustive]
pub enum InspectError {
    /// The process with this id cannot be opened.
    Target(u32, TargetError),
    /// The process with this id ended before the first inspection was complete.
    Ended(u32),
}

impl fmt::Display for InspectError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InspectError::Target(pid, error) => write!(out, "cannot look into {pid}: {error}"),
            InspectError::Ended(pid) => {
                write!(
                    out,
                    "process {pid} ended before the first look was complete"
                )
            }
        }
    }
}

impl std::error::Error for InspectError {}
