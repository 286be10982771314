//! What the headers of an ELF file say: which build the file is, and where it is loaded.

use object::elf::{self, FileHeader32, FileHeader64};
use object::read::elf::{FileHeader, NoteIterator, ProgramHeader, SectionHeader};
use object::{Endianness, ReadRef};

use crate::addr::{FileOffset, Svma};
use crate::file::image::Image;
use crate::module::Segment;

/// How many segments are read. Linkers create about a dozen.
const MAX_SEGMENTS: usize = 1024;

/// The build id and the segments. Only the headers and the notes of the file are read for these.
pub(crate) struct Headers {
    /// The bytes of the build id. Empty if the file has none.
    pub(crate) build_id: Vec<u8>,
    /// The segments that are loaded.
    pub(crate) segments: Vec<Segment>,
}

impl Headers {
    pub(crate) fn read(image: &Image) -> Result<Self, object::Error> {
        let class = image.read_bytes_at(0, 5).unwrap_or_default().last();
        match class {
            Some(class) if *class == elf::ELFCLASS32.0 => of::<FileHeader32<Endianness>>(image),
            _ => of::<FileHeader64<Endianness>>(image),
        }
    }
}

fn of<Elf: FileHeader<Endian = Endianness>>(image: &Image) -> Result<Headers, object::Error> {
    let header = Elf::parse(image)?;
    let endian = header.endian()?;
    let programs = header.program_headers(endian, image)?;
    let sections = header.sections(endian, image)?;
    let loaded = programs
        .iter()
        .filter(|program| program.p_type(endian) == elf::PT_LOAD);
    let segments = loaded.map(|loaded| segment::<Elf>(loaded, endian));
    let segments = segments.take(MAX_SEGMENTS).collect();
    let build_id = if sections.is_empty() {
        let short = programs
            .iter()
            .filter(|program| is_short(program.p_filesz(endian)));
        short
            .filter_map(|segment| segment.notes(endian, image).ok().flatten())
            .find_map(|notes| build_id::<Elf>(notes, endian))
    } else {
        // Sections come first: in a separate debug file the segments have no bytes.
        let short = sections
            .iter()
            .filter(|section| is_short(section.sh_size(endian)));
        short
            .filter_map(|section| section.notes(endian, image).ok().flatten())
            .find_map(|notes| build_id::<Elf>(notes, endian))
    };
    Ok(Headers {
        build_id: build_id.unwrap_or_default(),
        segments,
    })
}

fn segment<Elf: FileHeader>(of: &Elf::ProgramHeader, endian: Elf::Endian) -> Segment {
    let (file_offset, file_size) = of.file_range(endian);
    Segment {
        start: Svma(of.p_vaddr(endian).into()),
        file_offset: FileOffset(file_offset),
        file_size,
        is_code: of.p_flags(endian).0 & elf::PF_X.0 != 0,
    }
}

/// Whether notes of this size are read. They are read before the build id shows that the file is the right one, so
/// long notes are skipped.
fn is_short(bytes: impl Into<u64>) -> bool {
    bytes.into() <= 64 << 10
}

fn build_id<Elf: FileHeader>(
    mut notes: NoteIterator<'_, Elf>,
    endian: Elf::Endian,
) -> Option<Vec<u8>> {
    while let Some(note) = notes.next().ok()? {
        if note.name() == elf::ELF_NOTE_GNU && note.n_type(endian) == elf::NT_GNU_BUILD_ID {
            return Some(note.desc().to_vec());
        }
    }
    None
}
