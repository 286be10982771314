//! [`Scan`]: passes over memory in large pieces.

use std::ops::Range;

use crate::target::Target;
use crate::target::mapping::Mapping;

/// Bytes that are read at a time: enough that a system call costs little, and so few that they stay in the
/// cache of a processor.
const PIECE: usize = 1 << 17;
const PAGE: u64 = 4096;

/// Passes over memory in large pieces, and counts what it cannot read.
#[derive(Clone, Debug, Default)]
pub struct Scan {
    buffer: Vec<u8>,
    unreadable: Vec<Range<u64>>,
}

/// A piece of memory as it was read.
#[derive(Clone, Copy, Debug)]
pub struct MemoryPiece<'b> {
    /// Address of the first byte, a multiple of 8.
    pub address: u64,
    /// The 64-bit words.
    pub words: &'b [[u8; 8]],
}

impl MemoryPiece<'_> {
    /// The addresses of the words.
    pub fn range(&self) -> Range<u64> {
        let bytes = 8 * self.words.len() as u64;
        self.address..self.address.saturating_add(bytes)
    }

    /// Where the last word is, and its value.
    pub fn last(&self) -> Option<(u64, u64)> {
        let word = self.words.last()?;
        let address = self.range().end.checked_sub(8)?;
        Some((address, u64::from_le_bytes(*word)))
    }

    /// The word at an address, if the piece has it.
    pub fn word(&self, address: u64) -> Option<u64> {
        let offset = address.checked_sub(self.address)?;
        let index = usize::try_from(offset / 8).ok()?;
        let word = self.words.get(index)?;
        offset.is_multiple_of(8).then(|| u64::from_le_bytes(*word))
    }

    /// Copies the words from an address on. Returns whether the piece has all of them.
    pub fn copy(&self, address: u64, words: &mut [u64]) -> bool {
        let addresses = (0..).map(|index| address.checked_add(8 * index));
        words.iter_mut().zip(addresses).all(|(word, address)| {
            let found = address.and_then(|address| self.word(address));
            *word = found.unwrap_or_default();
            found.is_some()
        })
    }

    /// Calls `found` for each word within `values`, and for each word within `repeated` that equals the word
    /// before it. The arguments are the address of the word, its value, and the value of the word before.
    /// `before` is the word before the piece. Inspections spend most of their time in this loop.
    pub fn each_within_or_repeated(
        &self,
        before: u64,
        values: &Range<u64>,
        repeated: &Range<u64>,
        mut found: impl FnMut(u64, u64, u64),
    ) {
        let span = values.end.saturating_sub(values.start);
        let repeated_span = repeated.end.saturating_sub(repeated.start);
        let (mut address, mut previous) = (self.address, before);
        for word in self.words {
            let word = u64::from_le_bytes(*word);
            let is_repeated = word == previous && word.wrapping_sub(repeated.start) < repeated_span;
            if word.wrapping_sub(values.start) < span || is_repeated {
                found(address, word, previous);
            }
            (address, previous) = (address.wrapping_add(8), word);
        }
    }

    /// Calls `found` with address and value of each word within `values`.
    pub fn each_within(&self, values: &Range<u64>, mut found: impl FnMut(u64, u64)) {
        let span = values.end.saturating_sub(values.start);
        let mut address = self.address;
        for word in self.words {
            let word = u64::from_le_bytes(*word);
            if word.wrapping_sub(values.start) < span {
                found(address, word);
            }
            address = address.wrapping_add(8);
        }
    }
}

impl Scan {
    /// Reads these ranges from first to last, and calls `visit` with each piece.
    pub fn each_piece(
        &mut self,
        target: &dyn Target,
        ranges: &[Range<u64>],
        mut visit: impl FnMut(MemoryPiece<'_>),
    ) {
        self.buffer.resize(PIECE, 0);
        self.unreadable.clear();
        for range in ranges {
            let mut address = range.start;
            while address < range.end {
                let bytes = (range.end - address).min(PIECE as u64) as usize;
                let read = target.read(address, &mut self.buffer[..bytes]);
                let words = self.buffer[..read].as_chunks().0;
                visit(MemoryPiece { address, words });
                address += read as u64;
                if read < bytes {
                    let next = (address + 1).next_multiple_of(PAGE).min(range.end);
                    self.unreadable.push(address..next);
                    address = next;
                }
            }
        }
    }

    /// How many bytes of the last pass could not be read although they are still mapped.
    pub fn unreadable_bytes(&self, mappings: &[Mapping]) -> u64 {
        let missing = self.unreadable.iter().filter(|range| {
            let mapping = crate::target::mapping::find(mappings, range.start);
            mapping.is_some_and(|mapping| mapping.is_readable)
        });
        missing.map(|range| range.end - range.start).sum()
    }
}

/// The writable memory of a program, which is where its tasks are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WritableMemory {
    /// What to search, sorted.
    pub ranges: Vec<Range<u64>>,
    /// Bytes that are left out because of the limit.
    pub skipped: u64,
    limit: u64,
}

impl WritableMemory {
    /// All writable memory that was ever used, from mappings of up to `limit` bytes in total. Shared mappings of files
    /// are left out, because this memory is not the program's own.
    pub fn of(target: &dyn Target, limit: u64) -> Self {
        let mut memory = WritableMemory {
            limit,
            ..WritableMemory::default()
        };
        let mut bytes = 0_u64;
        let mappings = target.mappings().iter();
        for mapping in mappings.filter(|mapping| is_searched(mapping)) {
            if mapping.len() <= limit - bytes {
                bytes += mapping.len();
                memory.add(target, mapping);
            } else {
                memory.skipped = memory.skipped.saturating_add(mapping.len());
            }
        }
        memory
    }

    /// Sentences about what was not searched. `unreadable` is the number of bytes that could not be read.
    pub fn gaps(&self, unreadable: u64) -> Vec<String> {
        let mut gaps = Vec::new();
        if 0 < self.skipped {
            gaps.push(format!(
                "{} MiB of memory were not searched for tasks, because there is more than {} MiB",
                self.skipped >> 20,
                self.limit >> 20
            ));
        }
        if 0 < unreadable {
            gaps.push(format!("{unreadable} bytes of memory could not be read"));
        }
        gaps
    }

    /// The smallest range that contains all memory.
    pub fn span(&self) -> Range<u64> {
        let first = self.ranges.first().map_or(0, |range| range.start);
        let last = self.ranges.last().map_or(0, |range| range.end);
        first..last
    }

    /// The parts of `ranges` that are in this memory. `ranges` are sorted.
    pub fn parts_in(&self, ranges: impl Iterator<Item = Range<u64>>) -> Vec<Range<u64>> {
        let mut parts = Vec::new();
        for range in ranges {
            let first = self.ranges.partition_point(|own| own.end <= range.start);
            let overlapping = self.ranges[first..].iter();
            let overlapping = overlapping.take_while(|own| own.start < range.end);
            parts.extend(overlapping.map(|own| own.start.max(range.start)..own.end.min(range.end)));
        }
        parts
    }

    /// Adds a mapping, or the used parts of a private mapping. Shared memory is added as a whole, because
    /// another process may have written to it.
    fn add(&mut self, target: &dyn Target, mapping: &Mapping) {
        if mapping.is_shared {
            self.ranges.push(mapping.range());
        } else {
            self.ranges.extend(target.populated(mapping.range()));
        }
    }
}

fn is_searched(mapping: &Mapping) -> bool {
    mapping.is_readable && mapping.is_writable && !(mapping.is_shared && mapping.has_file())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::image::MemoryImage;
    use crate::target::mapping::parse;

    #[test]
    fn holes_are_counted_and_passed_over() {
        let mut image = MemoryImage::default();
        for mapping in parse(b"1000-2000 rw-p 0 0:0 0\n3000-4000 rw-p 0 0:0 0\n") {
            image.add(mapping, 7_u64.to_le_bytes().repeat(512));
        }
        let mut scan = Scan::default();
        let mut found = Vec::new();
        scan.each_piece(&image, &[0x1000..0x2000, 0x2000..0x3800], |piece| {
            piece.each_within(&(7..8), |address, _| found.push(address));
        });
        assert_eq!(found.len(), 512 + 256);
        assert_eq!(found.last(), Some(&0x37f8));
        assert_eq!(scan.unreadable_bytes(image.mappings()), 0);
        let mapped = parse(b"1000-4000 rw-p 0 0:0 0\n");
        assert_eq!(scan.unreadable_bytes(&mapped), 0x1000);
    }

    #[test]
    fn memory_beyond_the_limit_is_counted() {
        let mappings = parse(
            b"1000-2000 rw-p 0 0:0 0\n2000-5000 rw-p 0 0:0 0\n5000-6000 rw-s 0 8:1 9 /db\n\
              6000-7000 r--p 0 0:0 0\n7000-8000 rw-p 0 8:1 9 /app\n",
        );
        let mut image = MemoryImage::default();
        for mapping in mappings {
            image.add(mapping, Vec::new());
        }
        let memory = WritableMemory::of(&image, 0x2000);
        assert_eq!(memory.ranges, [0x1000..0x2000, 0x7000..0x8000]);
        assert_eq!((memory.skipped, memory.span()), (0x3000, 0x1000..0x8000));
        let parts = memory.parts_in([0..0x1010, 0x1ff0..0x7010, 0x9000..0x9010].into_iter());
        assert_eq!(parts, [0x1000..0x1010, 0x1ff0..0x2000, 0x7000..0x7010]);
    }
}
