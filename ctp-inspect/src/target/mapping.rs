//! The mappings of a process, as in `/proc/PID/maps`.

use std::ops::Range;

use symbolize::{Avma, FileOffset};

/// A range of addresses with memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mapping {
    /// First address.
    pub start: u64,
    /// First address after the mapping.
    pub end: u64,
    /// The program may read this memory.
    pub is_readable: bool,
    /// The program may write to this memory.
    pub is_writable: bool,
    /// The program may execute this memory.
    pub is_executable: bool,
    /// The memory is shared with whatever else maps the file.
    pub is_shared: bool,
    /// The offset in the file of the byte that is mapped at `start`.
    pub file_offset: u64,
    /// Device and inode of the file; the inode is 0 for memory without a file.
    pub file: (u32, u64),
    /// The path as the kernel prints it, a name such as `[heap]`, or nothing.
    pub path: Vec<u8>,
}

impl Mapping {
    /// The addresses.
    pub fn range(&self) -> Range<u64> {
        self.start..self.end
    }

    /// Size in bytes.
    pub fn len(&self) -> u64 {
        self.end.saturating_sub(self.start)
    }

    /// Whether the mapping has no bytes. The kernel lists no such mapping.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether this address lies in the mapping.
    pub fn contains(&self, address: u64) -> bool {
        (self.start..self.end).contains(&address)
    }

    /// Whether this memory comes from a file.
    pub fn has_file(&self) -> bool {
        self.file.1 != 0
    }

    /// This mapping for a symbolizer, which reads the file at `path`.
    pub(crate) fn in_symbolize(&self, path: Vec<u8>) -> symbolize::Mapping {
        symbolize::Mapping {
            start: Avma(self.start),
            end: Avma(self.end),
            file_offset: FileOffset(self.file_offset),
            path,
            build_id: Vec::new(),
        }
    }
}

/// The mapping that contains an address; `mappings` are sorted.
pub fn find(mappings: &[Mapping], address: u64) -> Option<&Mapping> {
    let after = mappings.partition_point(|mapping| mapping.start <= address);
    let mapping = mappings[..after].last()?;
    mapping.contains(address).then_some(mapping)
}

/// The mappings in the text of `/proc/PID/maps`, sorted. Malformed lines are skipped.
pub fn parse(text: &[u8]) -> Vec<Mapping> {
    let lines = text.split(|&byte| byte == b'\n');
    let mut mappings: Vec<_> = lines.filter_map(parse_line).collect();
    mappings.sort_by_key(|mapping| mapping.start);
    mappings
}

/// `start-end permissions offset major:minor inode   path`
fn parse_line(line: &[u8]) -> Option<Mapping> {
    let mut fields = line.splitn(6, |&byte| byte == b' ');
    let (start, end) = hex_pair(fields.next()?, b'-')?;
    let permissions = fields.next()?;
    let file_offset = hex(fields.next()?)?;
    let (major, minor) = hex_pair(fields.next()?, b':')?;
    let inode = std::str::from_utf8(fields.next()?).ok()?.parse().ok()?;
    let path = fields.next().unwrap_or_default().trim_ascii_start();
    let mapping = Mapping {
        start,
        end,
        is_readable: permissions.first() == Some(&b'r'),
        is_writable: permissions.get(1) == Some(&b'w'),
        is_executable: permissions.get(2) == Some(&b'x'),
        is_shared: permissions.get(3) == Some(&b's'),
        file_offset,
        file: (device(major, minor)?, inode),
        path: path.to_vec(),
    };
    (start < end).then_some(mapping)
}

fn device(major: u64, minor: u64) -> Option<u32> {
    u32::try_from(major.checked_mul(1 << 20)? | minor).ok()
}

fn hex_pair(text: &[u8], separator: u8) -> Option<(u64, u64)> {
    let middle = text.iter().position(|&byte| byte == separator)?;
    Some((hex(&text[..middle])?, hex(&text[middle + 1..])?))
}

fn hex(digits: &[u8]) -> Option<u64> {
    u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_a_line_are_parsed() {
        let text = b"\
7ffd0000-7ffd2000 rw-p 00000000 00:00 0                                  [stack]
00400000-00452000 r-xs 00001000 08:02 173521      /usr/bin/my app (deleted)\n";
        let mappings = parse(text);
        assert_eq!(mappings.len(), 2);
        let program = &mappings[0];
        assert_eq!((program.start, program.end), (0x40_0000, 0x45_2000));
        assert_eq!(program.path, b"/usr/bin/my app (deleted)");
        assert_eq!((program.file_offset, program.file.1), (0x1000, 173_521));
        assert!(program.is_readable && program.is_executable && program.is_shared);
        assert!(!program.is_writable && program.has_file());
        let stack = &mappings[1];
        assert!(stack.is_writable && !stack.is_shared && !stack.has_file());
        assert_eq!(stack.path, b"[stack]");
    }

    #[test]
    fn malformed_lines_are_skipped() {
        let lines = [
            "",
            "-",
            "2-1 r-xp 0 0:0 0 /a",
            "1-2 r-xp 0 0",
            "1-2 r-xp 0 0:0 x",
            "g-h r-xp 0 0:0 0",
        ];
        for line in lines {
            assert_eq!(parse(line.as_bytes()), [], "{line}");
        }
    }

    #[test]
    fn addresses_between_mappings_have_none() {
        let mappings = parse(b"1000-2000 r--p 0 0:0 0\n3000-4000 r--p 0 0:0 0\n");
        let start = |address| find(&mappings, address).map(|mapping| mapping.start);
        assert_eq!(start(0xfff), None);
        assert_eq!(start(0x1000), Some(0x1000));
        assert_eq!(start(0x2000), None);
        assert_eq!(start(0x3fff), Some(0x3000));
        assert_eq!(start(0x4000), None);
    }
}
