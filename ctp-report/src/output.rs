//! Where what was asked for goes: to a file, or to standard output if that is named `-`. As a trace
//! to read, that name is standard input.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context as _, Result};
use ctp_trace::output::{Earlier, Found, resolve};

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
        .with_context(|| cannot_write(path))?;
    Ok(true)
}

/// What is wrong with a file that cannot be written.
pub fn cannot_write(path: &Path) -> String {
    format!("cannot write {}: name another file", path.display())
}

/// Creates this file, or empties it.
///
/// # Errors
/// Those of the kernel, and `PermissionDenied` where another user may have planted what is there.
pub fn create(path: &Path) -> io::Result<File> {
    match resolve(path, Earlier::Overwritten)? {
        Found::File(name) => name.create(),
        Found::Existing(existing) => {
            let file = existing.open()?;
            if existing.is_file()? {
                file.set_len(0)?;
            }
            Ok(file)
        }
    }
}
