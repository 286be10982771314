//! ELF structures as core files and loaded files have them: program headers, notes, build ids.
//!
//! Any byte may be wrong: sizes are limited, and offsets beyond the end find nothing.

use object::elf;

/// Reads bytes at an offset or address into the buffer, and returns how many were there.
pub type Read<'r> = &'r dyn Fn(u64, &mut [u8]) -> usize;

/// Maximum number of program headers that are read: more than the mappings that Linux allows by default.
const MAX_SEGMENTS: u64 = 1 << 18;
/// Maximum size of all notes: each thread has about 2 KiB of notes.
pub const MAX_NOTE_BYTES: u64 = 64 << 20;
/// Maximum size of the notes of a file with its build id, which are short.
const MAX_FILE_NOTE_BYTES: u64 = 64 << 10;

const HEADER_BYTES: u64 = 64;
const SEGMENT_BYTES: u64 = 56;
/// The type of the note with the build id, and its owner.
const BUILD_ID: (u32, &[u8]) = (3, b"GNU");

/// The header of a 64-bit little-endian file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Whether the file is a core file.
    pub is_core: bool,
    /// The processor.
    pub machine: elf::Machine,
    segments: (u64, u64),
}

/// A program header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// The type, such as `PT_LOAD` for memory.
    pub kind: u32,
    /// Permissions.
    pub flags: u32,
    /// Where the segment is in the file.
    pub offset: u64,
    /// The number of its bytes in the file.
    pub file_bytes: u64,
    /// Where the segment is in memory.
    pub address: u64,
    /// The number of its bytes in memory.
    pub memory_bytes: u64,
}

/// Bytes from which little-endian numbers are read at offsets.
#[derive(Clone, Copy)]
pub struct LittleEndian<'b>(pub &'b [u8]);

impl LittleEndian<'_> {
    pub fn u16(self, at: usize) -> Option<u16> {
        Some(u16::from_le_bytes(*self.0.get(at..)?.first_chunk()?))
    }

    pub fn u32(self, at: usize) -> Option<u32> {
        Some(u32::from_le_bytes(*self.0.get(at..)?.first_chunk()?))
    }

    pub fn u64(self, at: usize) -> Option<u64> {
        Some(u64::from_le_bytes(*self.0.get(at..)?.first_chunk()?))
    }
}

impl Header {
    /// Reads the header; `None` if the file is of another kind.
    pub fn read(read: Read<'_>) -> Option<Self> {
        let bytes = bytes(read, 0, HEADER_BYTES)?;
        let fields = LittleEndian(&bytes);
        let is_elf = bytes.starts_with(b"\x7fELF\x02\x01");
        if !is_elf || u64::from(fields.u16(54)?) != SEGMENT_BYTES {
            return None;
        }
        let count = match fields.u16(56)? {
            // Too many for this field: the first section says how many.
            u16::MAX => {
                let section = bytes_at(read, fields.u64(40)?, 48);
                u64::from(LittleEndian(&section).u32(44)?)
            }
            count => u64::from(count),
        };
        Some(Header {
            is_core: fields.u16(16)? == elf::ET_CORE.0,
            machine: elf::Machine(fields.u16(18)?),
            segments: (fields.u64(32)?, count.min(MAX_SEGMENTS)),
        })
    }

    /// Where the program headers are in the file.
    pub fn segments_offset(&self) -> u64 {
        self.segments.0
    }

    /// The program headers, as many as can be read.
    pub fn segments(&self, read: Read<'_>) -> Vec<Segment> {
        let (start, count) = self.segments;
        let bytes = bytes_at(read, start, count * SEGMENT_BYTES);
        let headers = bytes.chunks_exact(56).map(LittleEndian);
        headers.filter_map(Segment::parse).collect()
    }
}

impl Segment {
    fn parse(fields: LittleEndian<'_>) -> Option<Self> {
        Some(Segment {
            kind: fields.u32(0)?,
            flags: fields.u32(4)?,
            offset: fields.u64(8)?,
            address: fields.u64(16)?,
            file_bytes: fields.u64(32)?,
            memory_bytes: fields.u64(40)?,
        })
    }

    pub fn is_memory(&self) -> bool {
        self.kind == elf::PT_LOAD.0
    }

    pub fn is_note(&self) -> bool {
        self.kind == elf::PT_NOTE.0
    }

    pub fn has(&self, flag: elf::ProgramFlags) -> bool {
        self.flags & flag.0 != 0
    }
}

/// A note: owner, type and contents.
pub struct Note<'b> {
    pub owner: &'b [u8],
    pub kind: u32,
    pub contents: &'b [u8],
}

/// The notes in these bytes, up to the first that is cut.
pub fn notes(mut bytes: &[u8]) -> Vec<Note<'_>> {
    let mut notes = Vec::new();
    while let Some((note, rest)) = next_note(bytes) {
        notes.push(note);
        bytes = rest;
    }
    notes
}

fn next_note(bytes: &[u8]) -> Option<(Note<'_>, &[u8])> {
    let fields = LittleEndian(bytes);
    let owner_bytes = usize::try_from(fields.u32(0)?).ok()?;
    let content_bytes = usize::try_from(fields.u32(4)?).ok()?;
    let owner = bytes.get(12..12_usize.checked_add(owner_bytes)?)?;
    let start = 12 + owner_bytes.checked_next_multiple_of(4)?;
    let contents = bytes.get(start..start.checked_add(content_bytes)?)?;
    let end = start + content_bytes.checked_next_multiple_of(4)?;
    let note = Note {
        owner: owner.strip_suffix(b"\0").unwrap_or(owner),
        kind: fields.u32(8)?,
        contents,
    };
    Some((note, bytes.get(end..).unwrap_or_default()))
}

/// The build id of an ELF file. `read` takes offsets in the file.
pub fn build_id_of_file(read: Read<'_>) -> Option<Vec<u8>> {
    build_id(read, |note, _| note.offset)
}

/// The build id of a loaded ELF file. `read` takes offsets from the start of the file in memory.
pub fn build_id_in_memory(read: Read<'_>) -> Option<Vec<u8>> {
    build_id(read, |note, first| note.address.wrapping_sub(first.address))
}

/// The build id of an ELF file. `start_of` returns the offset of a segment, given the first segment of the file, too.
fn build_id(read: Read<'_>, start_of: fn(&Segment, &Segment) -> u64) -> Option<Vec<u8>> {
    let segments = Header::read(read)?.segments(read);
    let first = segments
        .iter()
        .find(|segment| segment.is_memory() && segment.offset == 0)?;
    segments
        .iter()
        .filter(|segment| segment.is_note())
        .find_map(|segment| {
            let start = start_of(segment, first);
            let bytes = bytes_at(read, start, segment.file_bytes.min(MAX_FILE_NOTE_BYTES));
            let notes = notes(&bytes).into_iter();
            let mut ids = notes.filter(|note| (note.kind, note.owner) == BUILD_ID);
            ids.next().map(|note| note.contents.to_vec())
        })
}

/// The bytes at an offset; fewer if not all can be read.
pub fn bytes_at(read: Read<'_>, offset: u64, bytes: u64) -> Vec<u8> {
    const STEP: u64 = 1 << 20;
    let mut found = Vec::new();
    // In steps, so that a wrong size does not cost memory.
    while (found.len() as u64) < bytes {
        let before = found.len();
        let step = STEP.min(bytes - before as u64);
        let Some(from) = offset.checked_add(before as u64) else {
            break;
        };
        found.resize(before + usize::try_from(step).unwrap_or_default(), 0);
        let read = read(from, &mut found[before..]);
        found.truncate(before + read);
        if (read as u64) < step {
            break;
        }
    }
    found
}

fn bytes(read: Read<'_>, offset: u64, bytes: u64) -> Option<Vec<u8>> {
    let found = bytes_at(read, offset, bytes);
    (found.len() as u64 == bytes).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_parsed_up_to_the_cut() {
        let mut bytes = Vec::new();
        for (owner, contents) in [(&b"CORE\0"[..], &b"abcde"[..]), (b"GNU\0", b"id")] {
            for number in [owner.len(), contents.len(), 3] {
                bytes.extend((number as u32).to_le_bytes());
            }
            for part in [owner, contents] {
                bytes.extend(part);
                bytes.resize(bytes.len().next_multiple_of(4), 0);
            }
        }
        let found = notes(&bytes);
        assert_eq!(found.len(), 2);
        assert_eq!(
            (found[0].owner, found[0].contents),
            (&b"CORE"[..], &b"abcde"[..])
        );
        assert_eq!(
            (found[1].owner, found[1].contents),
            (&b"GNU"[..], &b"id"[..])
        );
        assert_eq!(notes(&bytes[..bytes.len() - 4]).len(), 1);
        assert_eq!(notes(&[0xff; 64]).len(), 0);
    }

    #[test]
    fn build_id_of_a_file_is_that_in_memory() {
        let path = std::env::current_exe().expect("own path");
        let file = std::fs::read(path).expect("own executable");
        let read = |offset: u64, buffer: &mut [u8]| {
            let tail = &file[file.len().min(offset as usize)..];
            let bytes = tail.len().min(buffer.len());
            buffer[..bytes].copy_from_slice(&tail[..bytes]);
            bytes
        };
        use object::Object as _;
        let object = object::File::parse(&file[..]).expect("an executable");
        let expected = object.build_id().expect("notes").map(<[u8]>::to_vec);
        assert_eq!(build_id_of_file(&read), expected);
    }
}
