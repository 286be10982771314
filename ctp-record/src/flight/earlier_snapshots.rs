//! Snapshots of earlier recordings at the paths of this recording's snapshots.

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use ctp_trace::output::directory_of;
use rustix::fs::{FlockOperation, fcntl_lock};

use crate::connect::leftovers::{is_trace_of_ours, names_in};
use crate::output::{Location, OutputTarget, resolve};

/// Renames earlier traces `FILE.1`, `FILE.2` and so on to `FILE.1.old`, `FILE.2.old` and so on. Otherwise
/// they would look like later snapshots of this recording.
pub fn set_aside(output: &Path) {
    for place in numbered(output) {
        if is_trace_of_ours(place.directory(), place.name()) {
            // A file that cannot be moved stays. If no file can be moved, no snapshot can be written either.
            let _ = place.keep_previous();
        }
    }
}

/// Opens the trace at the path and holds a shared lock on it, which excludes no other process. From the lock,
/// a reader learns that a recorder will replace the trace, and which recorder.
pub fn claim(output: &Path) -> Option<File> {
    let Ok(OutputTarget::File(place)) = resolve(output) else {
        return None;
    };
    let file = place.open_file()?;
    // On a file system without locks, readers do not learn this.
    let _ = fcntl_lock(&file, FlockOperation::NonBlockingLockShared);
    Some(file)
}

/// Existing files beside `output` that are named like its snapshots.
fn numbered(output: &Path) -> Vec<Location> {
    let Ok(directory) = directory_of(output) else {
        return Vec::new();
    };
    let prefix = output.file_name().unwrap_or_default().as_bytes();
    let names = names_in(&directory).unwrap_or_default();
    let snapshots = names.iter().map(|name| name.as_bytes());
    let snapshots = snapshots.filter(|name| name.strip_prefix(prefix).is_some_and(is_number));
    snapshots
        .map(|name| {
            let name = OsStr::from_bytes(name);
            let path = output.with_file_name(name);
            Location::new(directory.clone(), name.to_owned(), path)
        })
        .collect()
}

/// Whether the suffix is a dot and a number, as a recorder writes it.
fn is_number(suffix: &[u8]) -> bool {
    let digits = suffix.strip_prefix(b".").unwrap_or_default();
    let is_plain = digits.iter().all(u8::is_ascii_digit);
    is_plain && digits.first().is_some_and(|first| *first != b'0')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_numbered_names_are_snapshots() {
        assert!(is_number(b".1") && is_number(b".10"));
        for other in [&b""[..], b".", b"1", b".0", b".01", b".1.old", b".new-1-0"] {
            assert!(!is_number(other), "{other:?}");
        }
    }
}
