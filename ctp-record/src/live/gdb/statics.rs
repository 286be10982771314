//! Where the program's file says that the probe's memory may be.

use std::ops::Range;

use object::{Object as _, ObjectSegment as _, ObjectSymbol as _, SegmentFlags};

/// The smallest memory: a header and a station.
const LEAST_BYTES: u64 = 2048;

/// How much code is compared.
const CODE_BYTES: usize = 1024;

/// The alignment of a memory.
const ALIGNMENT: u64 = 1024;

/// The addresses of statics that may be the memory. If there are none, as in a program without symbols,
/// the ranges that the program may write.
pub fn ranges_of(elf: &[u8]) -> Vec<Range<u64>> {
    let Ok(file) = object::File::parse(elf) else {
        return Vec::new();
    };
    let statics: Vec<_> = file
        .symbols()
        .filter(|symbol| LEAST_BYTES <= symbol.size() && symbol.address().is_multiple_of(ALIGNMENT))
        .filter(|symbol| symbol.is_definition())
        .map(|symbol| symbol.address()..symbol.address().saturating_add(ALIGNMENT))
        .collect();
    if statics.is_empty() {
        writable(&file)
    } else {
        statics
    }
}

/// Some code from the middle of the program, and its address. `None` if the program has no code.
pub fn code_of(elf: &[u8]) -> Option<(u64, Vec<u8>)> {
    let file = object::File::parse(elf).ok()?;
    let is_code = |flags| matches!(flags, SegmentFlags::Elf { p_flags, .. } if p_flags.0 & 1 != 0);
    let mut segments = file.segments().filter(|segment| is_code(segment.flags()));
    let segment = segments.next()?;
    let bytes = segment.data().ok()?;
    let begin = (bytes.len() / 2) & !7;
    let sample = bytes.get(begin..)?.iter().take(CODE_BYTES);
    Some((
        segment.address().checked_add(begin as u64)?,
        sample.copied().collect(),
    ))
}

fn writable(file: &object::File<'_>) -> Vec<Range<u64>> {
    let is_writable =
        |flags| matches!(flags, SegmentFlags::Elf { p_flags, .. } if p_flags.0 & 2 != 0);
    file.segments()
        .filter(|segment| is_writable(segment.flags()))
        .map(|segment| segment.address()..segment.address().saturating_add(segment.size()))
        .collect()
}
