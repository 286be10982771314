//! The version of glibc in a process: the library has a text with its version.

use std::ops::Range;

use crate::modules::{Module, Modules};
use crate::target::Target;

const BEFORE: &[u8] = b"GNU C Library";
const VERSION: &[u8] = b" release version 2.";
/// The text is not longer.
const MAX_TEXT_BYTES: usize = 200;
/// The constants of glibc have less than 1 MiB.
const MAX_DATA_BYTES: u64 = 4 << 20;

/// The version after `2.`, such as 36; `None` if the process has another C library.
pub fn find(target: &dyn Target) -> Option<u32> {
    let modules = Modules::of(target.mappings());
    let mut libraries = modules.iter().filter(|module| is_glibc(module));
    libraries.find_map(|module| {
        let mut constants = module.data.iter();
        constants.find_map(|range| version_in(target, range))
    })
}

/// Whether the file has the name of glibc: `libc.so.6`, or before 2.34 `libc-2.31.so`.
fn is_glibc(module: &Module) -> bool {
    let name = module.path.rsplit(|byte| *byte == b'/').next();
    let name = name.unwrap_or_default();
    name.starts_with(b"libc.so.6") || name.starts_with(b"libc-2.")
}

fn version_in(target: &dyn Target, range: &Range<u64>) -> Option<u32> {
    let bytes = (range.end - range.start).min(MAX_DATA_BYTES);
    let mut bytes = vec![0; bytes as usize];
    let read = target.read(range.start, &mut bytes);
    version(&bytes[..read])
}

fn version(bytes: &[u8]) -> Option<u32> {
    let mut starts = bytes.windows(BEFORE.len()).enumerate();
    starts.find_map(|(start, window)| {
        let text = (window == BEFORE).then(|| &bytes[start..])?;
        let text = &text[..text.len().min(MAX_TEXT_BYTES)];
        let at = text.windows(VERSION.len()).position(|w| w == VERSION)?;
        let digits = text[at + VERSION.len()..].iter();
        let digits = digits.take_while(|byte| byte.is_ascii_digit()).take(4);
        let digits: Vec<u8> = digits.copied().collect();
        std::str::from_utf8(&digits).ok()?.parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_in_a_text_of_the_library() {
        let text =
            b"\0GNU C Library (Debian GLIBC 2.36-9+deb12u14) stable release version 2.36.\nCopy";
        assert_eq!(version(text), Some(36));
        assert_eq!(version(b"GNU C Library stable release version 2."), None);
        assert_eq!(version(b"musl libc"), None);
    }
}
