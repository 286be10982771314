//! Opens regular files whose names come from elsewhere: from a trace, or from a file that a trace names.
//!
//! Opening a pipe waits for its other end, opening a device may change its state, and opening a file
//! under a lease waits up to 45 s for the process that holds the lease.

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::{Mode, OFlags};

/// Opens a regular file for reading, without waiting for anything.
///
/// # Errors
///
/// If there is no such file, if the file is not regular, or if another process holds a write lease
/// on it (`WouldBlock`).
pub fn open_regular(path: &Path) -> io::Result<File> {
    // Checked first because even opening a device may have effects. The second check finds a file that has been
    // replaced in the meantime.
    check(&path.metadata()?)?;
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty()).map_err(in_words)?);
    check(&file.metadata()?)?;
    Ok(file)
}

fn check(metadata: &std::fs::Metadata) -> io::Result<()> {
    if metadata.is_file() {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::InvalidInput,
        "not a regular file",
    ))
}

fn in_words(error: rustix::io::Errno) -> io::Error {
    match error {
        rustix::io::Errno::WOULDBLOCK => io::Error::new(
            io::ErrorKind::WouldBlock,
            "in use: another process holds a lease on it",
        ),
        other => other.into(),
    }
}
