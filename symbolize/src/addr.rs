//! The three kinds of address, and the only conversions between them.

use std::fmt;

use crate::mapping::Mapping;
use crate::module::Segment;

/// Actual virtual memory address: where the code was in the running process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Avma(pub u64);

/// Stated virtual memory address: where the ELF file says the code is.
///
/// Symbol tables and DWARF contain these addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Svma(pub u64);

/// Position in a file, in bytes from its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileOffset(pub u64);

/// Whether an address is that of an instruction, or the address to which a call returns. This decides which byte is
/// looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lookup {
    /// The byte at the address is looked up. For function pointers and program counters.
    Exact,
    /// The address is where a call returns to.
    ///
    /// The preceding byte is looked up: the call may be the last instruction of a line, or even of a function.
    ReturnAddress,
}

impl Avma {
    /// The address of the byte that is looked up.
    pub(crate) fn looked_up(self, how: Lookup) -> Self {
        match how {
            Lookup::Exact => self,
            Lookup::ReturnAddress => Self(self.0.saturating_sub(1)),
        }
    }

    /// The offset of this address in the mapped file. The caller has checked that the mapping contains the address.
    pub(crate) fn to_file_offset(self, mapping: &Mapping) -> FileOffset {
        let into_mapping = self.0.wrapping_sub(mapping.start.0);
        FileOffset(into_mapping.wrapping_add(mapping.file_offset.0))
    }
}

impl FileOffset {
    /// Converts the offset to an address. `None` if the segment does not load this byte of the file.
    ///
    /// An offset alone is not enough: in files linked by lld, offset and address differ by a different amount in each
    /// segment.
    pub(crate) fn to_svma(self, segment: &Segment) -> Option<Svma> {
        let into_segment = self.0.checked_sub(segment.file_offset.0)?;
        if segment.file_size <= into_segment {
            return None;
        }
        Some(Svma(segment.start.0.wrapping_add(into_segment)))
    }
}

impl Svma {
    /// Converts the address to an address in a mapping of the file. `None` if the segment does not load this byte, or
    /// if the mapping does not contain the byte.
    pub(crate) fn to_avma(self, segment: &Segment, mapping: &Mapping) -> Option<Avma> {
        let into_segment = self.0.checked_sub(segment.start.0)?;
        if segment.file_size <= into_segment {
            return None;
        }
        let offset = segment.file_offset.0.checked_add(into_segment)?;
        let into_mapping = offset.checked_sub(mapping.file_offset.0)?;
        let address = Avma(mapping.start.0.checked_add(into_mapping)?);
        (address < mapping.end).then_some(address)
    }
}

impl fmt::Display for Avma {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

impl fmt::Display for Svma {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

impl fmt::Display for FileOffset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapping(start: u64, file_offset: u64) -> Mapping {
        Mapping {
            start: Avma(start),
            end: Avma(start + 0x10_000),
            file_offset: FileOffset(file_offset),
            path: b"/bin/a".to_vec(),
            build_id: Vec::new(),
        }
    }

    #[test]
    fn lld_text_is_a_page_above_the_file_offset() {
        let text = Segment {
            start: Svma(0x4000),
            file_offset: FileOffset(0x3000),
            file_size: 0x800,
            is_code: true,
        };
        let mapping = mapping(0x7f00_0000_3000, 0x3000);
        let offset = Avma(0x7f00_0000_32a0).to_file_offset(&mapping);
        assert_eq!(offset, FileOffset(0x32a0));
        assert_eq!(offset.to_svma(&text), Some(Svma(0x42a0)));
        let back = |address| Svma(address).to_avma(&text, &mapping);
        assert_eq!(back(0x42a0), Some(Avma(0x7f00_0000_32a0)));
        assert_eq!([back(0x3fff), back(0x4800)], [None, None]);
    }

    #[test]
    fn a_segment_covers_only_loaded_bytes() {
        let segment = Segment {
            start: Svma(0x1000),
            file_offset: FileOffset(0x1000),
            file_size: 0x10,
            is_code: true,
        };
        assert_eq!(FileOffset(0xfff).to_svma(&segment), None);
        assert_eq!(FileOffset(0x100f).to_svma(&segment), Some(Svma(0x100f)));
        assert_eq!(FileOffset(0x1010).to_svma(&segment), None);
    }

    #[test]
    fn a_return_address_belongs_to_the_preceding_call() {
        assert_eq!(Avma(0x10).looked_up(Lookup::Exact), Avma(0x10));
        assert_eq!(Avma(0x10).looked_up(Lookup::ReturnAddress), Avma(0xf));
        assert_eq!(Avma(0).looked_up(Lookup::ReturnAddress), Avma(0));
    }
}
