//! Where the program's file says that the probe's memory may be.

use std::ops::Range;

use ctp_nostd::layout::{CompactStation, Header};
use object::{Object as _, ObjectSegment as _, ObjectSymbol as _, SegmentFlags};

/// The smallest memory: a header and a station.
const LEAST_BYTES: u64 = HEADER_BYTES + size_of::<CompactStation>() as u64;

/// How much code is compared.
const CODE_BYTES: usize = 1024;

/// The alignment of a memory, and how much of it is searched.
const ALIGNMENT: u64 = align_of::<Header>() as u64;
const HEADER_BYTES: u64 = size_of::<Header>() as u64;

/// The most ranges that are searched, and the most bytes of a range.
const MAX_RANGES: usize = 256;
const MAX_RANGE_BYTES: u64 = 64 << 20;

/// The addresses of statics that may be the memory. If there are none, as in a program without symbols,
/// the ranges that the program may write.
pub fn ranges_of(elf: &[u8]) -> Vec<Range<u64>> {
    let Ok(file) = object::File::parse(elf) else {
        return Vec::new();
    };
    let symbols = file.symbols().filter(|symbol| symbol.is_definition());
    let statics: Vec<_> = symbols
        .filter(|symbol| LEAST_BYTES <= symbol.size() && symbol.address().is_multiple_of(ALIGNMENT))
        .filter_map(|symbol| range(symbol.address(), HEADER_BYTES))
        .take(MAX_RANGES)
        .collect();
    if statics.is_empty() {
        writable(&file)
    } else {
        statics
    }
}

/// A range in which addresses can be computed without overflow, also behind its end.
fn range(begin: u64, bytes: u64) -> Option<Range<u64>> {
    begin.checked_add(2 * MAX_RANGE_BYTES)?;
    Some(begin..begin + bytes.min(MAX_RANGE_BYTES))
}

/// Some code from the middle of the program, and its address. `None` if the program has no code.
pub fn code_of(elf: &[u8]) -> Option<(u64, Vec<u8>)> {
    let file = object::File::parse(elf).ok()?;
    let is_code = |flags| matches!(flags, SegmentFlags::Elf { p_flags, .. } if p_flags.0 & 1 != 0);
    let mut segments = file.segments().filter(|segment| is_code(segment.flags()));
    let segment = segments.next()?;
    let bytes = segment.data().ok()?;
    let begin = (bytes.len() / 2).min(MAX_RANGE_BYTES as usize) & !7;
    let sample = bytes.get(begin..)?.iter().take(CODE_BYTES);
    let address = range(segment.address(), 0)?.start + begin as u64;
    Some((address, sample.copied().collect()))
}

fn writable(file: &object::File<'_>) -> Vec<Range<u64>> {
    let is_writable =
        |flags| matches!(flags, SegmentFlags::Elf { p_flags, .. } if p_flags.0 & 2 != 0);
    file.segments()
        .filter(|segment| is_writable(segment.flags()))
        .filter_map(|segment| range(segment.address(), segment.size()))
        .take(MAX_RANGES)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_leave_room_for_addresses_behind_them() {
        assert_eq!(range(0x2000_0000, 16), Some(0x2000_0000..0x2000_0010));
        assert_eq!(range(1024, u64::MAX), Some(1024..1024 + MAX_RANGE_BYTES));
        assert_eq!(range(u64::MAX - 1023, 1024), None);
    }

    #[test]
    fn file_that_is_no_program_has_no_ranges() {
        assert_eq!(ranges_of(b"\x7fELF"), []);
        assert_eq!(code_of(b""), None);
    }
}
