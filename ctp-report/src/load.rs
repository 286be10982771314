//! From a file to bytes, and to a reader over them; each failure with a way out.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context as _, Result, anyhow};
use ctp_trace::Reader;

/// All bytes of a trace.
///
/// # Errors
/// If the file cannot be read.
pub fn bytes(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => anyhow!(
            "no {} here: record one with `ctp-record -- ./app`, or name one with -i FILE",
            path.display()
        ),
        ErrorKind::IsADirectory => {
            anyhow!(
                "{} is a directory: name a trace with -i FILE",
                path.display()
            )
        }
        _ => anyhow!(
            "cannot read {}: {error}; name another with -i FILE",
            path.display()
        ),
    })
}

/// A reader over a trace's bytes.
///
/// # Errors
/// If nothing can be read from them.
pub fn reader<'a>(path: &Path, bytes: &'a [u8]) -> Result<Reader<'a>> {
    Reader::new(bytes).with_context(|| path.display().to_string())
}
