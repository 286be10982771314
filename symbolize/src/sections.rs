//! The debug sections of files, borrowed from images that live as long as their readers.

use std::borrow::Cow;

use elsa::FrozenVec;
use object::{CompressedFileRange, CompressionFormat, Object, ObjectSection};

use crate::file::image::{Account, Image, ImageFile};

/// Reads DWARF. The reader owns nothing, because it is copied for every visited entry.
pub(crate) type Reader<'i> = gimli::EndianSlice<'i, gimli::RunTimeEndian>;

/// Files and unpacked sections. More can be added while others are borrowed.
#[derive(Default)]
pub(crate) struct Images {
    files: FrozenVec<Box<Image>>,
    unpacked: FrozenVec<Vec<u8>>,
}

/// The sections of a file.
pub(crate) struct Sections<'i> {
    object: object::File<'i, &'i Image>,
    image: &'i Image,
    images: &'i Images,
    endian: gimli::RunTimeEndian,
}

impl<'i> Sections<'i> {
    pub(crate) fn of(image: Image, images: &'i Images) -> Option<Self> {
        let image = images.files.push_get(Box::new(image));
        let object = object::File::parse(image).ok()?;
        let endian = if object.is_little_endian() {
            gimli::RunTimeEndian::Little
        } else {
            gimli::RunTimeEndian::Big
        };
        Some(Self {
            object,
            image,
            images,
            endian,
        })
    }

    /// The file.
    pub(crate) fn file(&self) -> &'i ImageFile {
        self.image.file()
    }

    /// The account for tables made from the file.
    pub(crate) fn account(&self) -> &'i Account {
        self.image.own_account()
    }

    /// Closes the file after all needed sections were read. `None` if there was not enough memory for
    /// all of them: incomplete debug info is not worth the memory.
    pub(crate) fn close(&self) -> Option<()> {
        self.image.close();
        (!self.image.is_short()).then_some(())
    }

    /// Loads the sections of a program or of a debug file. An absent or damaged section is empty.
    pub(crate) fn whole(&self) -> impl FnMut(gimli::SectionId) -> Loaded<'i> + '_ {
        |id| {
            if is_needed(id) {
                Ok(self.named(id.name()))
            } else {
                Ok(self.empty())
            }
        }
    }

    /// Like [`whole`](Self::whole), and also loads the sections with the locations of variables.
    pub(crate) fn with_variables(&self) -> impl FnMut(gimli::SectionId) -> Loaded<'i> + '_ {
        use gimli::SectionId as Id;
        let mut whole = self.whole();
        move |id| match id {
            Id::DebugLoc | Id::DebugLocLists => Ok(self.named(id.name())),
            _ => whole(id),
        }
    }

    /// Loads the sections of split debug info.
    pub(crate) fn split(&self) -> impl FnMut(gimli::SectionId) -> Loaded<'i> + '_ {
        |id| Ok(id.dwo_name().map_or(self.empty(), |name| self.named(name)))
    }

    pub(crate) fn empty(&self) -> Reader<'i> {
        Reader::new(&[], self.endian)
    }

    fn named(&self, name: &str) -> Reader<'i> {
        Reader::new(self.bytes(name).unwrap_or_default(), self.endian)
    }

    /// The bytes of a section: as they are in the file, or decompressed.
    fn bytes(&self, name: &str) -> Option<&'i [u8]> {
        let section = self.object.section_by_name(name)?;
        let stored = section.compressed_file_range().ok()?;
        if stored.format != CompressionFormat::None && !self.can_unpack(&stored) {
            return None;
        }
        match section.uncompressed_data().ok()? {
            Cow::Borrowed(bytes) => Some(bytes),
            Cow::Owned(bytes) => Some(self.images.unpacked.push_get(bytes)),
        }
    }

    /// Whether the stated size of a section is possible, and the budget has room.
    fn can_unpack(&self, stored: &CompressedFileRange) -> bool {
        self.image.take(stored.uncompressed_size)
            && can_hold(stored.compressed_size, stored.uncompressed_size)
    }
}

/// Whether lookups of functions or lines read this section.
fn is_needed(id: gimli::SectionId) -> bool {
    use gimli::SectionId as Id;
    matches!(
        id,
        Id::DebugAbbrev
            | Id::DebugAddr
            | Id::DebugAranges
            | Id::DebugInfo
            | Id::DebugLine
            | Id::DebugLineStr
            | Id::DebugRanges
            | Id::DebugRngLists
            | Id::DebugStr
            | Id::DebugStrOffsets
    )
}

type Loaded<'i> = Result<Reader<'i>, gimli::Error>;

/// Whether the compressed bytes can unpack to the stated size. A damaged file may state any size, and
/// the decompressor would allocate that size.
fn can_hold(compressed: u64, uncompressed: u64) -> bool {
    uncompressed / MAX_PER_BYTE <= compressed
}

/// The maximum number of bytes that one byte of deflate unpacks to. Debug info stays far below that, in
/// any format.
const MAX_PER_BYTE: u64 = 1032;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compressed_section_has_a_maximum_size() {
        assert!(can_hold(0, 0));
        assert!(can_hold(1000, 30_000));
        assert!(!can_hold(1000, 8 << 30));
        assert!(!can_hold(1, u64::MAX));
    }
}
