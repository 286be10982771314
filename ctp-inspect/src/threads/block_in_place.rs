//! [`BlockInPlace`]: which files of a process may contain tokio's `block_in_place`.
//!
//! Compilers may inline that function, and without debug info no name is left of it. The text of its panic message
//! remains.

use std::collections::HashMap;

use crate::target::Target;
use crate::target::mapping::Mapping;

/// The message with which `block_in_place` panics outside of a multi-threaded runtime. The function is generic, so a
/// file contains the text only if it calls the function.
const MESSAGE: &[u8] = b"can call blocking only when running on the multi-threaded runtime";

/// The constants of a file are read in parts of this size.
const PART_BYTES: usize = 1 << 20;
/// Maximum number of bytes that are read, from the beginning of a mapping.
const MAX_BYTES: u64 = 256 << 20;

/// The files that have been searched.
#[derive(Debug, Default)]
pub struct BlockInPlace {
    /// Whether the file with this path may contain the function.
    by_path: HashMap<Vec<u8>, bool>,
}

impl BlockInPlace {
    /// Whether the file with the code at an address may contain `block_in_place`. Returns true if the file could not be
    /// searched.
    pub fn may_be_linked(&mut self, target: &dyn Target, address: u64) -> bool {
        let Some(code) = target.mapping_at(address) else {
            return true;
        };
        if let Some(known) = self.by_path.get(&code.path) {
            return *known;
        }
        let mut constants = target.mappings().iter().filter(|mapping| {
            mapping.is_readable && !mapping.is_writable && mapping.path == code.path
        });
        let may_be_linked = constants.any(|mapping| may_contain_message(target, mapping));
        self.by_path.insert(code.path.clone(), may_be_linked);
        may_be_linked
    }

    /// Forgets all files, because other files may be mapped by now.
    pub fn forget(&mut self) {
        self.by_path.clear();
    }
}

/// Whether constants contain the message, or could not be searched to their end.
fn may_contain_message(target: &dyn Target, constants: &Mapping) -> bool {
    let end = constants.end.min(constants.start.saturating_add(MAX_BYTES));
    let mut part = vec![0; PART_BYTES];
    let mut start = constants.start;
    loop {
        let left = end.saturating_sub(start);
        let part = &mut part[..left.min(PART_BYTES as u64) as usize];
        let read = target.read(start, part);
        if read < part.len() || has_message(part) {
            return true;
        }
        if left <= PART_BYTES as u64 {
            return end < constants.end;
        }
        // The message may lie across the end of a part.
        start += (PART_BYTES - MESSAGE.len()) as u64;
    }
}

fn has_message(bytes: &[u8]) -> bool {
    let mut windows = bytes.windows(MESSAGE.len());
    windows.any(|window| window[0] == MESSAGE[0] && window == MESSAGE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::image::MemoryImage;

    const CODE: u64 = 0x1800;
    const LIBRARY_CODE: u64 = 0x2800;
    const CONSTANTS: u64 = 0x10_0000;

    fn mapping(start: u64, end: u64, path: &[u8]) -> Mapping {
        Mapping {
            start,
            end,
            is_readable: true,
            path: path.to_vec(),
            ..Mapping::default()
        }
    }

    /// A program with these constants, and a library with code only.
    fn image(constants: Vec<u8>) -> MemoryImage {
        let mut image = MemoryImage::default();
        image.add(mapping(0x1000, 0x2000, b"/app"), vec![0x90; 0x1000]);
        image.add(mapping(0x2000, 0x3000, b"/library"), vec![0x90; 0x1000]);
        let end = CONSTANTS + constants.len() as u64;
        image.add(mapping(CONSTANTS, end, b"/app"), constants);
        image
    }

    fn may_be_linked(image: &MemoryImage, address: u64) -> bool {
        BlockInPlace::default().may_be_linked(image, address)
    }

    #[test]
    fn message_is_found_across_parts() {
        for before in [0, 1, PART_BYTES - 7, PART_BYTES, 2 * PART_BYTES - 60] {
            let mut constants = vec![b'c'; before];
            constants.extend(MESSAGE);
            assert!(may_be_linked(&image(constants.clone()), CODE), "{before}");
            let beginning = constants[..before + 22].to_vec();
            assert!(!may_be_linked(&image(beginning), CODE), "{before}");
        }
    }

    #[test]
    fn constants_that_cannot_be_searched_may_have_the_message() {
        let image = image(vec![b'c'; 0x1000]);
        assert!(!may_be_linked(&image, CODE));
        assert!(may_be_linked(&image, 0x5000), "unknown code");
        let (start, end) = (CONSTANTS + 0x1000, CONSTANTS + 0x3000);
        let mut short = image.clone();
        short.add(mapping(start, end, b"/app"), vec![b'c'; 0x1000]);
        assert!(may_be_linked(&short, CODE), "not all can be read");
    }

    #[test]
    fn each_file_has_its_own_answer() {
        let image = image(MESSAGE.to_vec());
        let mut files = BlockInPlace::default();
        let answers =
            [LIBRARY_CODE, CODE, LIBRARY_CODE].map(|address| files.may_be_linked(&image, address));
        assert_eq!(answers, [false, true, false]);
    }
}
