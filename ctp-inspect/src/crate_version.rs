//! Finds the versions of a crate in a module: the paths of its source files are in messages of panics.

use std::collections::BTreeSet;

use crate::modules::Module;
use crate::scan::Scan;
use crate::target::Target;

const AFTER: &[u8] = b"/src/";
/// No version is longer than this.
const MAX_BYTES: usize = 40;

/// The versions of the crate `name` in paths such as `tokio-1.54.1/src/runtime/task/core.rs`.
pub fn find(target: &dyn Target, scan: &mut Scan, module: &Module, name: &str) -> BTreeSet<String> {
    let before = format!("{name}-").into_bytes();
    let mut versions = BTreeSet::new();
    scan.each_piece(target, &module.data, |piece| {
        search(piece.words.as_flattened(), &before, &mut versions);
    });
    versions
}

/// Adds the versions that follow `name`, which ends with a dash.
fn search(bytes: &[u8], name: &[u8], versions: &mut BTreeSet<String>) {
    let dashes = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'-');
    for (dash, _) in dashes {
        let (before, after) = bytes.split_at(dash + 1);
        if before.ends_with(name) {
            versions.extend(version(after));
        }
    }
}

/// The version at the beginning of these bytes, such as `1.54.1` of `1.54.1/src/lib.rs`.
fn version(bytes: &[u8]) -> Option<String> {
    let head = &bytes[..bytes.len().min(MAX_BYTES)];
    let end = head
        .windows(AFTER.len())
        .position(|window| window == AFTER)?;
    let text = std::str::from_utf8(&head[..end]).ok()?;
    let (major, rest) = text.split_once('.')?;
    let is_number = !major.is_empty() && major.bytes().all(|b| b.is_ascii_digit());
    let is_version = is_number && rest.bytes().all(|b| b.is_ascii_graphic() && b != b'/');
    is_version.then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_in_paths() {
        let mut versions = BTreeSet::new();
        search(
            b"a-b/tokio-1.54.1/src/lib.rs\0/x/tokio-macros-2.1.0/src/a.rs tokio-1.21.2/src/b.rs\
              tokio-util-0.7.1/src/c.rs tokio-/src/ tokio-1/src/ tokio-1.2.3",
            b"tokio-",
            &mut versions,
        );
        assert_eq!(Vec::from_iter(versions), ["1.21.2", "1.54.1"]);
        let mut versions = BTreeSet::new();
        search(
            b"/x/async-task-4.7.1/src/lib.rs",
            b"async-task-",
            &mut versions,
        );
        assert_eq!(Vec::from_iter(versions), ["4.7.1"]);
    }
}
