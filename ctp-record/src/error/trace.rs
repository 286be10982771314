//! Errors of writing a trace or a snapshot.

use std::fmt;
use std::io;
use std::path::PathBuf;

use super::limits::{is_no_thread_left, no_thread, remedy};
use crate::cli::words::shown;

/// Why a trace is missing or incomplete.
#[derive(Debug)]
#[non_exhaustive]
pub enum TraceError {
    /// The output cannot be created.
    Output(PathBuf, io::Error),
    /// A snapshot could not be written, and nothing of it is kept.
    Write(PathBuf, io::Error),
    /// This number of snapshots was requested, and none could be written.
    NoSnapshot(u32),
    /// The output could not be completed.
    CutShort(PathBuf, io::Error),
    /// Writing failed, while the recording goes on.
    Full(PathBuf, io::Error),
    /// The output is complete but could not be renamed: the wanted path, the actual path, and the reason.
    Misplaced(PathBuf, PathBuf, io::Error),
    /// The output is no longer at its path.
    Removed(PathBuf),
}

const ANOTHER_PLACE: &str = "choose another place with -o FILE";
const ROOM_OR_ANOTHER_PLACE: &str =
    "free space and record again, or choose another place with -o FILE";

impl fmt::Display for TraceError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TraceError::Output(_, error) if is_no_thread_left(error) => {
                out.write_str(&no_thread(error))
            }
            TraceError::Output(path, error) => {
                let (path, remedy) = (shown(path), remedy(error, ANOTHER_PLACE));
                write!(out, "cannot create {path}: {error}; {remedy}")
            }
            TraceError::Write(path, error) => {
                let (path, remedy) = (shown(path), remedy(error, ANOTHER_PLACE));
                write!(out, "cannot write {path}: {error}; {remedy}")
            }
            TraceError::NoSnapshot(1) => {
                out.write_str("the snapshot that was asked for could not be written")
            }
            TraceError::NoSnapshot(requested) => write!(
                out,
                "none of the {requested} snapshots that were asked for could be written"
            ),
            TraceError::CutShort(path, error) => {
                let path = shown(path);
                write!(
                    out,
                    "cannot write {path}: {error}; it can be read up to here"
                )
            }
            TraceError::Full(path, error) => {
                let (path, remedy) = (shown(path), remedy(error, ROOM_OR_ANOTHER_PLACE));
                write!(
                    out,
                    "nothing more can be written to {path}: {error}; {remedy}"
                )
            }
            TraceError::Misplaced(path, draft, error) => {
                let (path, draft) = (shown(path), shown(draft));
                write!(
                    out,
                    "cannot put the trace in place as {path}: {error}; it is in {draft}"
                )
            }
            TraceError::Removed(path) => write!(
                out,
                "{} was written, but has been moved, removed, truncated or replaced since",
                shown(path)
            ),
        }
    }
}

impl std::error::Error for TraceError {}
