//! Why the kernel finds no program where there is a file: what is to run it is missing.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// The kernel reads no further for it.
const LONGEST_LINE: u64 = 256;

/// What the first line of this script names, as far as it is not there.
pub fn missing_for(program: &OsStr) -> Option<String> {
    let interpreter = named_in(&first_bytes(&find(program)?)?)?;
    let is_there = Path::new(OsStr::from_bytes(&interpreter)).exists();
    (!is_there).then(|| interpreter.escape_ascii().to_string())
}

/// As the kernel or, for a name without a stroke, `PATH` leads there.
fn find(program: &OsStr) -> Option<PathBuf> {
    if program.as_bytes().contains(&b'/') {
        return Some(program.into());
    }
    let directories = std::env::var_os("PATH")?;
    let mut places = std::env::split_paths(&directories).map(|split_path| split_path.join(program));
    places.find(|place| place.is_file())
}

fn first_bytes(path: &Path) -> Option<Vec<u8>> {
    // A pipe would be waited for.
    if !fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    let file = File::open(path).ok()?;
    file.take(LONGEST_LINE).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// The first word behind `#!`. What ends a line on other systems belongs to it.
fn named_in(script: &[u8]) -> Option<Vec<u8>> {
    let line = script.strip_prefix(b"#!")?.split(|&byte| byte == b'\n');
    let mut words = line
        .take(1)
        .flat_map(|bytes| bytes.split(|byte| b" \t".contains(byte)));
    words.find(|word| !word.is_empty()).map(<[u8]>::to_vec)
}
