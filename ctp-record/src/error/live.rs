//! Errors of recording a running target from outside.

use std::fmt;

use crate::live::SourceError;

/// Why a running target was not recorded.
#[derive(Debug)]
#[non_exhaustive]
pub enum LiveError {
    /// The target of this name cannot be read.
    Source(String, SourceError),
    /// No coroutine was born in the target of this name before a signal ended the wait.
    Nothing(String),
}

impl fmt::Display for LiveError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LiveError::Source(name, error) => write!(out, "cannot record {name}: {error}"),
            LiveError::Nothing(name) => write!(
                out,
                "no coroutine of a probe was born in {name} so far; does the firmware have a \
                 ctp_nostd::Memory, and has it started?"
            ),
        }
    }
}

impl std::error::Error for LiveError {}
