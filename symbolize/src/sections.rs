//! The debug sections of files, borrowed from images that are kept beside what reads in them.

use std::borrow::Cow;
use std::sync::Arc;

use object::{CompressionFormat, Object, ObjectSection};
use typed_arena::Arena;

/// What reads DWARF: copied for every entry that is looked at, so it owns nothing.
pub(crate) type Reader<'i> = gimli::EndianSlice<'i, gimli::RunTimeEndian>;

/// Files and unpacked sections. More may come while others are read.
pub(crate) type Images = Arena<Arc<[u8]>>;

/// The sections of one file.
pub(crate) struct Sections<'i> {
    object: object::File<'i>,
    images: &'i Images,
    endian: gimli::RunTimeEndian,
}

impl<'i> Sections<'i> {
    pub(crate) fn of(image: Arc<[u8]>, images: &'i Images) -> Option<Self> {
        let image = &**images.alloc(image);
        let object = object::File::parse(image).ok()?;
        let endian = match object.is_little_endian() {
            true => gimli::RunTimeEndian::Little,
            false => gimli::RunTimeEndian::Big,
        };
        Some(Self {
            object,
            images,
            endian,
        })
    }

    /// Those of a program or of its debug file; one that is absent or damaged is empty.
    pub(crate) fn whole(&self) -> impl FnMut(gimli::SectionId) -> Loaded<'i> + '_ {
        |id| Ok(self.named(id.name()))
    }

    /// The same, of split debug info.
    pub(crate) fn split(&self) -> impl FnMut(gimli::SectionId) -> Loaded<'i> + '_ {
        |id| Ok(id.dwo_name().map_or(self.empty(), |name| self.named(name)))
    }

    pub(crate) fn empty(&self) -> Reader<'i> {
        Reader::new(&[], self.endian)
    }

    fn named(&self, name: &str) -> Reader<'i> {
        Reader::new(self.bytes(name).unwrap_or_default(), self.endian)
    }

    /// A view of the file, or a decompressed copy.
    fn bytes(&self, name: &str) -> Option<&'i [u8]> {
        let section = self.object.section_by_name(name)?;
        let stored = section.compressed_file_range().ok()?;
        let is_packed = stored.format != CompressionFormat::None;
        if is_packed && !can_hold(stored.compressed_size, stored.uncompressed_size) {
            return None;
        }
        match section.uncompressed_data().ok()? {
            Cow::Borrowed(bytes) => Some(bytes),
            Cow::Owned(bytes) => Some(&**self.images.alloc(bytes.into())),
        }
    }
}

type Loaded<'i> = Result<Reader<'i>, gimli::Error>;

/// Can so many bytes unpack to so many? A damaged file may state any size, and room for all of it
/// would be made.
fn can_hold(compressed: u64, uncompressed: u64) -> bool {
    uncompressed / MOST_PER_BYTE <= compressed
}

/// What a byte of deflate unpacks to at most; debug info comes nowhere near it in any format.
const MOST_PER_BYTE: u64 = 1032;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compressed_section_cannot_state_more_than_it_can_hold() {
        assert!(can_hold(0, 0));
        assert!(can_hold(1000, 30_000));
        assert!(!can_hold(1000, 8 << 30));
        assert!(!can_hold(1, u64::MAX));
    }
}
