//! Writes output to a file or to standard output.
//!
//! `-` names standard output, and for the trace standard input.

pub mod dataset;
pub mod gzip;
pub mod protobuf;

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use ctp_trace::output::{ResolvedPath, WhenExisting, resolve};

use crate::terminal;

/// Whether the name means standard output.
pub fn is_stdout(path: &Path) -> bool {
    path == Path::new(STANDARD)
}

/// Whether the name means standard input.
pub fn is_stdin(path: &Path) -> bool {
    path == Path::new(STANDARD)
}

const STANDARD: &str = "-";

/// Rejects a binary format without an output file on a terminal.
///
/// # Errors
/// If the bytes would be printed on a terminal.
pub fn refuse_terminal(path: Option<&Path>, format: &str) -> Result<()> {
    if path.is_none() && terminal::is_stdout() {
        bail!("{format} is a binary format, not for a terminal: name a file with -o");
    }
    Ok(())
}

/// Rejects an output that would overwrite a trace that is read, also by another name of the file or from standard input.
///
/// # Errors
/// If an output is an input.
pub fn refuse_inputs(outputs: &[&Path], inputs: &[&Path]) -> Result<()> {
    for output in outputs.iter().filter(|output| !is_stdout(output)) {
        let is_output = |input: &&&Path| is_same_file(output, input);
        if inputs.iter().any(|input| is_output(&input)) {
            bail!(
                "{} is the trace to read: name another file for the output",
                output.display()
            );
        }
    }
    Ok(())
}

/// Whether an output leads to the regular file that an input leads to.
fn is_same_file(output: &Path, input: &Path) -> bool {
    let identity = |path: &Path| {
        let metadata = fs::metadata(path).ok()?;
        let is_file = metadata.is_file();
        is_file.then(|| (metadata.dev(), metadata.ino()))
    };
    let input = if is_stdin(input) {
        Path::new("/dev/stdin")
    } else {
        input
    };
    identity(output).is_some_and(|known| Some(known) == identity(input))
}

/// Writes the bytes to the file of this name, or to `out` for `-`. Returns whether a file was written.
///
/// # Errors
/// If the bytes cannot be written.
pub fn save(path: &Path, bytes: &[u8], out: &mut dyn Write) -> Result<bool> {
    let file = Some(path).filter(|path| !is_stdout(path));
    write(file, out, |out| out.write_all(bytes))?;
    Ok(file.is_some())
}

/// Writes to the file of this name, or to `out` if there is no name.
///
/// # Errors
/// If the file or `out` cannot be written.
pub fn write<T>(
    path: Option<&Path>,
    out: &mut dyn Write,
    write: impl FnOnce(&mut dyn Write) -> io::Result<T>,
) -> Result<T> {
    let Some(path) = path else {
        return Ok(write(out)?);
    };
    write_to(path, write)
        .with_context(|| format!("cannot write {}: name another file", path.display()))
}

/// If writing fails, removes a new file and empties an existing file, so that no partial output remains.
fn write_to<T>(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<T>) -> io::Result<T> {
    let target = resolve(path, WhenExisting::Overwritten)?;
    let file = open(&target)?;
    let mut buffered = BufWriter::new(&file);
    let written = write(&mut buffered).and_then(|written| {
        buffered.flush()?;
        Ok(written)
    });
    // Discards buffered bytes: dropping the `BufWriter` would write them.
    drop(buffered.into_parts());
    if written.is_err() {
        // The error of the write is reported, an error of the cleanup is not.
        let _ = discard(&target, &file);
    }
    written
}

/// Creates the file, or truncates an existing file.
///
/// # Errors
/// Errors of the kernel, and `PermissionDenied` if another user may have placed the existing file there.
fn open(target: &ResolvedPath) -> io::Result<File> {
    match target {
        ResolvedPath::File(name) => name.create(),
        ResolvedPath::Existing(existing) => {
            let file = existing.open()?;
            if existing.is_file()? {
                file.set_len(0)?;
            }
            Ok(file)
        }
    }
}

fn discard(target: &ResolvedPath, file: &File) -> io::Result<()> {
    match target {
        ResolvedPath::File(name) => name.remove(),
        ResolvedPath::Existing(existing) if existing.is_file()? => file.set_len(0),
        ResolvedPath::Existing(_) => Ok(()),
    }
}
