//! Where what was asked for goes: to a file, or to standard output if that is named `-`. As a trace
//! to read, that name is standard input.

mod create;

use std::io::Write;
use std::path::Path;

use anyhow::{Context as _, Result};

pub use create::create;

/// Whether this name stands for standard output.
pub fn is_stdout(path: &Path) -> bool {
    path == Path::new(STANDARD)
}

/// Whether this name stands for standard input.
pub fn is_stdin(path: &Path) -> bool {
    path == Path::new(STANDARD)
}

const STANDARD: &str = "-";

/// Writes the bytes to the file of this name, or to `out` if it stands for that. Returns whether
/// it is a file, of which there is something to say.
///
/// # Errors
/// If they cannot be written.
pub fn save(path: &Path, bytes: &[u8], out: &mut dyn Write) -> Result<bool> {
    if is_stdout(path) {
        out.write_all(bytes)?;
        return Ok(false);
    }
    create(path)
        .and_then(|mut file| file.write_all(bytes))
        .with_context(|| format!("cannot write {}: name another file", path.display()))?;
    Ok(true)
}
