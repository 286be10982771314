//! What earlier recordings left where a flight recorder puts its snapshots.

use std::fs::{self, DirEntry, File};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, fcntl_lock};

use crate::leftovers::is_trace_of_ours;
use crate::output::keep_previous;

/// Earlier traces `FILE.1`, `FILE.2` and so on are kept as `FILE.1.old`, `FILE.2.old` and so on: beside
/// the first snapshots of this recording they would look as if they were its later ones.
pub fn set_aside(output: &Path) {
    for path in numbered(output).filter(|path| is_trace_of_ours(path)) {
        // What cannot be moved stays; where nothing can be moved, no snapshot can be put either.
        let _ = keep_previous(&path);
    }
}

/// The trace that is there, open. As long as it is, with a lock that keeps nobody from anything, whoever
/// reads it can find out that a recorder will put another in its place, and which one.
pub fn claim(output: &Path) -> Option<File> {
    let is_file = fs::metadata(output).is_ok_and(|it| it.is_file());
    let file = is_file.then(|| File::open(output).ok()).flatten()?;
    // Where files cannot be locked, no reader is told.
    let _ = fcntl_lock(&file, FlockOperation::NonBlockingLockShared);
    Some(file)
}

/// What lies beside this file and is called like a snapshot.
fn numbered(output: &Path) -> impl Iterator<Item = PathBuf> {
    let directory = match output.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let name = output.file_name().unwrap_or_default().to_owned();
    let is_one = move |entry: &DirEntry| {
        let found = entry.file_name();
        let rest = found.as_bytes().strip_prefix(name.as_bytes());
        rest.is_some_and(is_number)
    };
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter(is_one).map(|entry| entry.path())
}

/// A dot and a number, as a recorder writes it.
fn is_number(suffix: &[u8]) -> bool {
    let digits = suffix.strip_prefix(b".").unwrap_or_default();
    let is_plain = digits.iter().all(u8::is_ascii_digit);
    is_plain && digits.first().is_some_and(|first| *first != b'0')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_called_like_a_snapshot_is_one() {
        assert!(is_number(b".1") && is_number(b".10"));
        for other in [&b""[..], b".", b"1", b".0", b".01", b".1.old", b".new-1-0"] {
            assert!(!is_number(other), "{other:?}");
        }
    }
}
