//! Where what was asked for goes: to a file, or to standard output if that is named `-`. As a trace
//! to read, that name is standard input.

use std::fs::File;
use std::io::{self, BufWriter, Write};
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
    let file = Some(path).filter(|path| !is_stdout(path));
    write(file, out, |out| out.write_all(bytes))?;
    Ok(file.is_some())
}

/// Writes to the file of this name, or to `out` where there is no name.
///
/// # Errors
/// If that cannot be written.
pub fn write<T>(
    path: Option<&Path>,
    out: &mut dyn Write,
    write: impl FnOnce(&mut dyn Write) -> io::Result<T>,
) -> Result<T> {
    let Some(path) = path else {
        return Ok(write(out)?);
    };
    let to_file = || -> io::Result<T> {
        let mut file = BufWriter::new(create(path)?);
        let written = write(&mut file)?;
        file.flush()?;
        Ok(written)
    };
    to_file().with_context(|| format!("cannot write {}: name another file", path.display()))
}

/// Creates this file, or empties it.
///
/// # Errors
/// Those of the kernel, and `PermissionDenied` where another user may have planted what is there.
fn create(path: &Path) -> io::Result<File> {
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
