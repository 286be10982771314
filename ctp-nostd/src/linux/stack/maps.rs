//! `/proc/self/maps`: the mapping that holds an address. Reads small pieces, since the caller may
//! run on a small stack.

use core::ops::Range;
use core::str;

use heapless::Vec;
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::pread;

/// A line, without most of its file name.
type Line = Vec<u8, 96>;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mapping {
    pub addresses: Range<usize>,
    /// Readable, writable, private, and of no file.
    pub is_private_memory: bool,
    /// A mapping that permits no access lies directly below.
    pub is_above_guard: bool,
}

/// The content of a line.
#[derive(Debug)]
struct Entry {
    addresses: Range<usize>,
    is_private_memory: bool,
    is_without_access: bool,
}

/// Finds the mapping of an address. Reads at explicit positions: if the program closes all
/// descriptors in the meantime, another file may get the descriptor's number, and nothing must be
/// consumed from that file.
pub(super) fn find(address: usize) -> Option<Mapping> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let file = openat(CWD, c"/proc/self/maps", flags, Mode::empty()).ok()?;
    let mut search = Search::new(address);
    let mut piece = [0; 256];
    let mut position = 0;
    while let Ok(length @ 1..) = pread(&file, &mut piece, position) {
        position += length as u64;
        for byte in piece.iter().take(length) {
            if let Some(found) = search.read(*byte) {
                return Some(found);
            }
        }
    }
    None
}

/// A search line by line. Lines are in the order of their addresses.
struct Search {
    address: usize,
    line: Line,
    /// End of the previous mapping, if that permits no access.
    guard_end: Option<usize>,
}

impl Search {
    fn new(address: usize) -> Self {
        Search {
            address,
            line: Line::new(),
            guard_end: None,
        }
    }

    /// Adds a byte. Returns the mapping after the last byte of its line.
    fn read(&mut self, byte: u8) -> Option<Mapping> {
        if byte != b'\n' {
            // The rest of a long file name is not needed.
            let _ = self.line.push(byte);
            return None;
        }
        let entry = parse(&self.line);
        self.line.clear();
        let entry = entry?;
        let guard_end = self.guard_end.take();
        if entry.addresses.contains(&self.address) {
            return Some(Mapping {
                is_above_guard: guard_end == Some(entry.addresses.start),
                is_private_memory: entry.is_private_memory,
                addresses: entry.addresses,
            });
        }
        self.guard_end = entry.is_without_access.then_some(entry.addresses.end);
        None
    }
}

/// `START-END ACCESS OFFSET DEVICE INODE NAME`
fn parse(line: &[u8]) -> Option<Entry> {
    let mut fields = line.split(|byte| *byte == b' ');
    let mut next = || str::from_utf8(fields.next()?).ok();
    let (start, end) = next()?.split_once('-')?;
    let (access, _offset, device, inode) = (next()?, next()?, next()?, next()?);
    Some(Entry {
        addresses: address(start)?..address(end)?,
        is_private_memory: ["rw-p", "rwxp"].contains(&access) && device == "00:00" && inode == "0",
        is_without_access: access.starts_with("---"),
    })
}

fn address(digits: &str) -> Option<usize> {
    usize::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
1000-2000 ---p 00000000 00:00 0 
2000-8000 rw-p 00000000 00:00 0 
8000-9000 rw-p 00000000 00:00 0                          [anon:name of a user]
9000-a000 rw-s 00000000 00:01 4                          /memfd:name (deleted)
b000-c000 ---s 00000000 00:00 0 
d000-e000 rw-p 00000000 00:00 0 
e000-f000 rw-p 00000000 fe:00 12 /a/long/name/a/long/name/a/long/name/a/long/name/a/long/name/a/long/name
f000-10000 r--p 00000000 00:00 0 
ffff0000-ffff1000 rwxp 00000000 00:00 0                  [stack]
";

    fn found(address: usize) -> Option<(Range<usize>, bool, bool)> {
        let mut search = Search::new(address);
        let found = TEXT.bytes().find_map(|byte| search.read(byte))?;
        let Mapping {
            addresses,
            is_private_memory,
            is_above_guard,
        } = found;
        Some((addresses, is_private_memory, is_above_guard))
    }

    #[test]
    fn mapping_of_an_address_is_found() {
        assert_eq!(found(0xFFF), None);
        assert_eq!(found(0x1FFF), Some((0x1000..0x2000, false, false)));
        assert_eq!(found(0x2000), Some((0x2000..0x8000, true, true)));
        assert_eq!(found(0x8000), Some((0x8000..0x9000, true, false)));
        assert_eq!(
            found(0x9000),
            Some((0x9000..0xA000, false, false)),
            "shared"
        );
        assert_eq!(found(0xC000), None, "a gap");
        assert_eq!(found(0xD000), Some((0xD000..0xE000, true, false)));
        assert_eq!(
            found(0xE000),
            Some((0xE000..0xF000, false, false)),
            "a file"
        );
        assert_eq!(found(0xF000), Some((0xF000..0x10000, false, false)));
        let stack = Some((0xFFFF_0000..0xFFFF_1000, true, false));
        assert_eq!(found(0xFFFF_0FFF), stack);
    }

    #[test]
    fn malformed_line_is_skipped() {
        for line in [
            "",
            "-",
            "1000-2000",
            "x-2000 rw-p 0 00:00 0",
            "1000 rw-p 0 00:00 0",
        ] {
            assert!(parse(line.as_bytes()).is_none(), "{line}");
        }
        assert!(parse(b"1000-2000 \xFF 0 00:00 0").is_none());
    }
}
