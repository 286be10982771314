//! Finds a script's missing interpreter, for which the kernel reports that the program does not exist.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// The kernel reads at most this much of the first line.
const MAX_LINE_BYTES: u64 = 256;

/// The interpreter in the first line of this script, if the interpreter is missing.
pub fn missing_for(program: &OsStr) -> Option<String> {
    let interpreter = named_in(&first_bytes(&find(program)?)?)?;
    let exists = Path::new(OsStr::from_bytes(&interpreter)).exists();
    (!exists).then(|| interpreter.escape_ascii().to_string())
}

/// Finds the file: at the given path, or for a name without a slash, in the directories of `PATH`.
fn find(program: &OsStr) -> Option<PathBuf> {
    if program.as_bytes().contains(&b'/') {
        return Some(program.into());
    }
    let directories = std::env::var_os("PATH")?;
    let mut places = std::env::split_paths(&directories).map(|directory| directory.join(program));
    places.find(|place| place.is_file())
}

fn first_bytes(path: &Path) -> Option<Vec<u8>> {
    // Opening a pipe would block.
    if !fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    let file = File::open(path).ok()?;
    file.take(MAX_LINE_BYTES).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// The first word after `#!`. A carriage return belongs to the word.
fn named_in(script: &[u8]) -> Option<Vec<u8>> {
    let line = script.strip_prefix(b"#!")?.split(|&byte| byte == b'\n');
    let mut words = line
        .take(1)
        .flat_map(|bytes| bytes.split(|byte| b" \t".contains(byte)));
    words.find(|word| !word.is_empty()).map(<[u8]>::to_vec)
}
