//! [`is_linked`]: whether a program contains tokio's `block_in_place`.
//!
//! Compilers may inline that function, and without debug info no name is left of it. Its message stays.

use crate::target::Target;
use crate::target::mapping::{self, Mapping};

/// The message with which `block_in_place` panics outside of a multi-threaded runtime. The function is
/// generic, so that only programs that call it have the message.
const MESSAGE: &[u8] = b"can call blocking only when running on the multi-threaded runtime";

/// The constants of a program are read in parts of this size.
const PART_BYTES: usize = 1 << 20;
/// Maximum number of bytes that are read, from the beginning of a mapping.
const MAX_BYTES: u64 = 256 << 20;

/// Whether the file with the code at an address may contain `block_in_place`.
pub fn is_linked(target: &dyn Target, address: u64) -> bool {
    let mappings = target.mappings();
    let Some(code) = mapping::find(mappings, address) else {
        return true;
    };
    let mut constants = mappings
        .iter()
        .filter(|mapping| mapping.is_readable && !mapping.is_writable && mapping.path == code.path);
    constants.any(|mapping| contains_message(target, mapping))
}

fn contains_message(target: &dyn Target, mapping: &Mapping) -> bool {
    let end = mapping.end.min(mapping.start.saturating_add(MAX_BYTES));
    let mut part = vec![0; PART_BYTES];
    let mut start = mapping.start;
    while start < end {
        let read = target.read(start, &mut part);
        if find(&part[..read]) {
            return true;
        }
        let Some(step) = read.checked_sub(MESSAGE.len()).filter(|step| *step != 0) else {
            break;
        };
        // The message may lie across the end of a part.
        start = start.saturating_add(step as u64);
    }
    false
}

fn find(bytes: &[u8]) -> bool {
    let mut windows = bytes.windows(MESSAGE.len());
    windows.any(|window| window[0] == MESSAGE[0] && window == MESSAGE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::image::MemoryImage;

    fn image(before: usize, message: &[u8]) -> MemoryImage {
        let mut bytes = vec![b'c'; before];
        bytes.extend(message);
        let mapping = |start, end, is_executable| Mapping {
            start,
            end,
            is_readable: true,
            is_executable,
            path: b"/app".to_vec(),
            ..Mapping::default()
        };
        let mut image = MemoryImage::default();
        image.add(mapping(0x1000, 0x2000, true), vec![0x90; 0x1000]);
        image.add(mapping(0x10_0000, 0x80_0000, false), bytes);
        image
    }

    #[test]
    fn message_is_found_across_parts() {
        for before in [0, 1, PART_BYTES - 7, PART_BYTES, 2 * PART_BYTES - 60] {
            assert!(is_linked(&image(before, MESSAGE), 0x1800), "{before}");
        }
        assert!(!is_linked(
            &image(PART_BYTES, b"can call blocking only"),
            0x1800
        ));
        assert!(is_linked(&image(0, b""), 0x5000), "unknown code");
    }
}
