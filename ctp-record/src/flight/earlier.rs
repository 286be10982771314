//! What earlier recordings left where a flight recorder puts its snapshots.

use std::ffi::{CString, OsStr};
use std::fs::File;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use ctp_trace::output::directory_of;
use rustix::fs::{FlockOperation, fcntl_lock};

use crate::connect::leftovers::{is_trace_of_ours, names_in};
use crate::output::{Location, Target, resolve};

/// Earlier traces `FILE.1`, `FILE.2` and so on are kept as `FILE.1.old`, `FILE.2.old` and so on: beside
/// the first snapshots of this recording they would look as if they were its later ones.
pub fn set_aside(output: &Path) {
    for place in numbered(output) {
        if is_trace_of_ours(place.directory(), place.name()) {
            // What cannot be moved stays; where nothing can be moved, no snapshot can be put either.
            let _ = place.keep_previous();
        }
    }
}

/// The trace that is there, open. As long as it is, with a lock that keeps nobody from anything, whoever
/// reads it can find out that a recorder will put another in its place, and which one.
pub fn claim(output: &Path) -> Option<File> {
    let Ok(Target::File(place)) = resolve(output) else {
        return None;
    };
    let file = place.open_file()?;
    // Where files cannot be locked, no reader is told.
    let _ = fcntl_lock(&file, FlockOperation::NonBlockingLockShared);
    Some(file)
}

/// What is beside this file and is called like a snapshot of it.
fn numbered(output: &Path) -> Vec<Location> {
    let Ok(directory) = directory_of(output) else {
        return Vec::new();
    };
    let prefix = output.file_name().unwrap_or_default().as_bytes();
    let is_one = |found: &[u8]| found.strip_prefix(prefix).is_some_and(is_number);
    let location = |found: &CString| {
        let name = OsStr::from_bytes(found.as_bytes());
        let path = output.with_file_name(name);
        Location::new(directory.clone(), name.to_owned(), path)
    };
    let found = names_in(&directory).unwrap_or_default();
    found
        .iter()
        .filter(|found| is_one(found.as_bytes()))
        .map(location)
        .collect()
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
