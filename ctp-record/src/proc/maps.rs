//! The mappings of a process that the recorder needs: code, and memories of coroutines.

use std::fs;
use std::io;
use std::ops::Range;

use ctp_inspect::target::mapping;

/// An executable mapping of a process. Permissions are left out: a file is recorded once, even if they change.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Mapping {
    /// First address.
    pub start: u64,
    /// First address after the mapping.
    pub end: u64,
    /// Offset in the file.
    pub file_offset: u64,
    /// Path as the kernel prints it, or a name such as `[vdso]`.
    pub path: Vec<u8>,
}

impl Mapping {
    /// Whether this address lies in the mapping.
    pub fn covers(&self, address: u64) -> bool {
        (self.start..self.end).contains(&address)
    }
}

/// The executable mappings that have a name. Malformed lines are skipped.
pub fn executable(text: &[u8]) -> Vec<Mapping> {
    let mappings = mapping::parse(text).into_iter();
    mappings
        .filter(|mapping| mapping.is_executable && !mapping.path.is_empty())
        .map(|mapping| Mapping {
            start: mapping.start,
            end: mapping.end,
            file_offset: mapping.file_offset,
            path: mapping.path,
        })
        .collect()
}

/// The mappings of this process as text; empty if the process has ended.
///
/// # Errors
/// The process does not exist or belongs to another user.
pub fn text_of(pid: u32) -> io::Result<Vec<u8>> {
    fs::read(format!("/proc/{pid}/maps"))
}

/// The address ranges of the writable data of programs and libraries: private mappings of files.
pub fn writable_data(text: &[u8]) -> Vec<Range<u64>> {
    let mappings = mapping::parse(text).into_iter();
    let data = mappings.filter(|mapping| {
        mapping.is_readable && mapping.is_writable && !mapping.is_shared && mapping.has_file()
    });
    data.map(|mapping| mapping.start..mapping.end).collect()
}

/// Whether the memory of a recorder is mapped.
pub fn has_any_memory(text: &[u8]) -> bool {
    let mut mappings = mapping::parse(text).into_iter();
    mappings.any(|mapping| mapping.path.starts_with(b"/memfd:ctp"))
}

/// Whether a memory file with this inode is mapped.
pub fn has_memory(text: &[u8], inode: u64) -> bool {
    memory_mappings(text, inode).next().is_some()
}

/// The address at which the beginning of the memory file with this inode is mapped.
pub fn begin_of(text: &[u8], inode: u64) -> Option<u64> {
    let mut mappings = memory_mappings(text, inode);
    let begin = mappings.find(|mapping| mapping.file_offset == 0)?;
    Some(begin.start)
}

fn memory_mappings(text: &[u8], inode: u64) -> impl Iterator<Item = mapping::Mapping> {
    let mappings = mapping::parse(text).into_iter();
    mappings.filter(move |mapping| mapping.file.1 == inode && mapping.path.starts_with(b"/memfd:"))
}

#[cfg(test)]
mod tests {
    use super::*;

    // LT-12
    #[test]
    fn a_memory_is_found_by_inode_and_offset() {
        let text = b"\
7f0000000000-7f0000001000 rw-s 00001000 00:01 77      /memfd:ctp (deleted)
7f0000004000-7f0000005000 rw-s 00000000 00:01 78      /memfd:ctp (deleted)
7f0000006000-7f0000007000 rw-s 00000000 08:01 77      /home/a file
7f0000008000-7f0000009000 rw-s 00000000 00:01 77      /memfd:ctp (deleted)\n";
        assert_eq!(begin_of(text, 77), Some(0x7f00_0000_8000));
        assert_eq!(begin_of(text, 79), None);
    }

    #[test]
    fn writable_data_is_that_of_private_files() {
        let text = b"\
00400000-00452000 r-xp 00001000 08:02 17      /usr/bin/my app
00651000-00653000 rw-p 00051000 08:02 17      /usr/bin/my app
00e03000-00e24000 rw-p 00000000 00:00 0       [heap]
7f0000004000-7f0000005000 rw-s 00000000 00:01 78      /memfd:ctp (deleted)\n";
        let only = std::iter::once(0x65_1000..0x65_3000);
        assert!(writable_data(text).into_iter().eq(only));
        assert!(has_any_memory(text));
    }

    #[test]
    fn named_executable_mappings_are_kept() {
        let text = b"\
00400000-00452000 r-xp 00001000 08:02 173521      /usr/bin/my app
00651000-00652000 r--p 00051000 08:02 173521      /usr/bin/my app
00e03000-00e24000 rw-p 00000000 00:00 0           [heap]
7ffd0000-7ffd2000 r-xp 00000000 00:00 0           [vdso]
7ffd4000-7ffd6000 r-xp 00000000 00:00 0 \n";
        let mappings = executable(text);
        assert_eq!(mappings.len(), 2);
        assert_eq!(mappings[0].path, b"/usr/bin/my app");
        assert_eq!((mappings[0].start, mappings[0].end), (0x40_0000, 0x45_2000));
        assert_eq!(mappings[0].file_offset, 0x1000);
        assert_eq!(mappings[1].path, b"[vdso]");
    }

    #[test]
    fn malformed_lines_are_skipped() {
        for text in [
            "",
            "-",
            "x-y r-xp z 0 0 /a",
            "2-1 r-xp 0 0 0 /a",
            "1-2 r-xp 0 0 0",
            "1-2 r",
        ] {
            assert_eq!(executable(text.as_bytes()), [], "{text}");
        }
    }
}
