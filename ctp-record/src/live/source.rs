//! [`LiveSource`]: a way to read the memory of a running target.

use std::fmt;
use std::io;
use std::time::Duration;

use ctp_nostd::Refused;

use super::gdb::GdbError;

/// A target with memory that can be read while it runs.
pub trait LiveSource {
    /// The target, for messages.
    fn name(&self) -> &str;

    /// The address of the probe's memory. `None` if the target has none yet.
    ///
    /// # Errors
    /// The target cannot be read, or will never have such a memory.
    fn find(&mut self) -> Result<Option<u64>, SourceError>;

    /// Fills the buffer with the bytes at this address.
    ///
    /// # Errors
    /// The target cannot be read.
    fn read(&mut self, address: u64, buffer: &mut [u8]) -> Result<(), SourceError>;

    /// Prepares some reads. Returns true if the target stands still until [`release`](Self::release).
    ///
    /// # Errors
    /// The target cannot be stopped.
    fn hold(&mut self) -> Result<bool, SourceError>;

    /// Lets the target run on.
    ///
    /// # Errors
    /// The target cannot be continued.
    fn release(&mut self) -> Result<(), SourceError>;

    /// The time from one pass to the next.
    fn pause(&self) -> Duration;

    /// What the user should know of the way in which the target is read, after the first reading.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Why a target cannot be read.
#[derive(Debug)]
#[non_exhaustive]
pub enum SourceError {
    /// There is nothing more to read: the end of the target, not a failure.
    Disappeared,
    /// Reading failed.
    Io(io::Error),
    /// The probe's memory is damaged.
    Damaged(Refused),
    /// The GDB server cannot be used.
    Gdb(GdbError),
    /// The probe's memory has the layout of another version of the probe.
    OtherLayout,
}

impl fmt::Display for SourceError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SourceError::Disappeared => out.write_str("the file has disappeared"),
            SourceError::Io(error) => error.fmt(out),
            SourceError::Damaged(refused) => write!(out, "the probe's memory is damaged: {refused}"),
            SourceError::Gdb(error) => error.fmt(out),
            SourceError::OtherLayout => out.write_str(
                "the probe's memory has another layout: build the firmware with the ctp-nostd of this \
                 ctp-record",
            ),
        }
    }
}

impl std::error::Error for SourceError {}

impl From<io::Error> for SourceError {
    fn from(error: io::Error) -> Self {
        SourceError::Io(error)
    }
}

impl From<GdbError> for SourceError {
    fn from(error: GdbError) -> Self {
        SourceError::Gdb(error)
    }
}

/// Calls `read` between [`hold`](LiveSource::hold) and [`release`](LiveSource::release). `read` gets whether the
/// target stands still.
///
/// # Errors
/// The first error.
pub fn while_held<T>(
    source: &mut dyn LiveSource,
    read: impl FnOnce(&mut dyn LiveSource, bool) -> Result<T, SourceError>,
) -> Result<T, SourceError> {
    let stands_still = source.hold()?;
    let result = read(source, stands_still);
    let released = source.release();
    result.and_then(|found| released.map(|()| found))
}
