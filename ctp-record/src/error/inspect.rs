//! Errors of the inspection of a running process, or of a core file.

use std::fmt;
use std::path::PathBuf;

use ctp_inspect::TargetError;

use crate::cli::words::shown;

/// Why a process or a core file cannot be inspected.
#[derive(Debug)]
#[non_exhaustive]
pub enum InspectError {
    /// The process with this id cannot be opened.
    Target(u32, TargetError),
    /// This core file cannot be read.
    Core(PathBuf, TargetError),
    /// The process with this id ended before the first inspection was complete.
    Ended(u32),
}

impl fmt::Display for InspectError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InspectError::Target(pid, error) => write!(out, "cannot inspect {pid}: {error}"),
            InspectError::Core(path, error) => {
                write!(out, "cannot inspect {}: {error}", shown(path))
            }
            InspectError::Ended(pid) => {
                write!(
                    out,
                    "process {pid} ended before the first inspection was complete"
                )
            }
        }
    }
}

impl std::error::Error for InspectError {}
