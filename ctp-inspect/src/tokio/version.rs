//! Finds the versions of tokio in a module: the paths of its source files are in messages of panics.

use std::collections::BTreeSet;

use crate::modules::Module;
use crate::scan::Scan;
use crate::target::Target;

const BEFORE: &[u8] = b"tokio-";
const AFTER: &[u8] = b"/src/";
/// No version is longer than this.
const MAX_BYTES: usize = 40;

/// The versions in paths such as `tokio-1.54.1/src/runtime/task/core.rs`.
pub fn find(target: &dyn Target, scan: &mut Scan, module: &Module) -> BTreeSet<String> {
    let mut versions = BTreeSet::new();
    scan.each_piece(target, &module.data, |piece| {
        search(piece.words.as_flattened(), &mut versions);
    });
    versions
}

fn search(bytes: &[u8], versions: &mut BTreeSet<String>) {
    let mut rest = bytes;
    while let Some(dash) = rest.iter().position(|byte| *byte == b'-') {
        let (before, after) = rest.split_at(dash + 1);
        if before.ends_with(BEFORE) {
            versions.extend(version(after));
        }
        rest = after;
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
            &mut versions,
        );
        assert_eq!(Vec::from_iter(versions), ["1.21.2", "1.54.1"]);
    }
}
