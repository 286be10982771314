//! [`UnwindTable`]: the unwind table of an executable file or library, as it is in memory.
//!
//! The file itself is opened only for code without an unwind table in memory. The file may have been deleted or
//! replaced, or lie in a container, and the kernel's part of a process (`[vdso]`) has no file.

use std::fmt;
use std::sync::OnceLock;

use gimli::{BaseAddresses, EhFrame, EhFrameHdr, EndianSlice, LittleEndian, Vendor};
use object::elf::{self, FileHeader64, ProgramHeader64};
use object::read::elf::{FileHeader as _, ProgramHeader as _};

use crate::stacks::file_frames::FileFrames;
use crate::stacks::registers::Processor;
use crate::target::Target;
use crate::target::mapping::Mapping;

pub(super) type Bytes<'m> = EndianSlice<'m, LittleEndian>;

/// The headers of a file are expected in this many bytes.
const HEADER_BYTES: usize = 4096;
/// Larger unwind tables are not read.
const MAX_TABLE_BYTES: u64 = 256 << 20;
/// The first mapping of a file is searched among this many mappings before the mapping with the code.
const MAX_MAPPINGS: usize = 64;

/// The unwind table of a loaded file.
pub struct UnwindTable {
    /// The processor of its code.
    pub processor: Processor,
    /// The addresses to which the pointers in the table are relative.
    pub bases: BaseAddresses,
    index: Vec<u8>,
    frames: Vec<u8>,
    /// The address in memory of the file's header.
    header: u64,
    /// The difference between addresses in memory and addresses in the file.
    pub bias: u64,
    file_frames: OnceLock<Option<FileFrames>>,
}

impl fmt::Debug for UnwindTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.frames.len();
        f.debug_struct("Module").field("bytes", &bytes).finish()
    }
}

/// The address at which the file with the code at `address` is loaded.
pub fn header_of(mappings: &[Mapping], address: u64) -> Option<u64> {
    let after = mappings.partition_point(|mapping| mapping.start <= address);
    let code = mappings[..after].last()?;
    if !code.contains(address) || !code.is_executable || code.path.is_empty() {
        return None;
    }
    let before = mappings[..after].iter().rev().take(MAX_MAPPINGS);
    let mut of_file = before.filter(|other| other.path == code.path && other.file == code.file);
    let first = of_file.find(|mapping| mapping.file_offset == 0)?;
    Some(first.start)
}

impl UnwindTable {
    /// Reads the unwind table of the file that is loaded at an address. `None` if the file has no table with an index,
    /// or is for an unknown processor.
    pub fn read(target: &dyn Target, header: u64) -> Option<Self> {
        let bytes = read_up_to(target, header, HEADER_BYTES);
        let parsed = FileHeader64::<object::LittleEndian>::parse(&bytes[..]).ok()?;
        let endian = parsed.endian().ok()?;
        let processor = match parsed.e_machine(endian) {
            elf::EM_X86_64 => Processor::X86_64,
            elf::EM_AARCH64 => Processor::Aarch64,
            _ => return None,
        };
        let segments = parsed.program_headers(endian, &bytes[..]).ok()?;
        let bias = bias(segments, header)?;
        let (index, frames, bases) = read_table(target, find_index(segments, bias)?)?;
        Some(UnwindTable {
            processor,
            bases,
            index,
            frames,
            header,
            bias,
            file_frames: OnceLock::new(),
        })
    }

    /// The unwind table in the debug info of the file, which is read when first needed.
    pub fn file_frames(&self, target: &dyn Target) -> Option<&FileFrames> {
        self.file_frames
            .get_or_init(|| FileFrames::read(target, target.mapping_at(self.header)?))
            .as_ref()
    }

    /// The index of the unwind table (`.eh_frame_hdr`).
    pub fn index(&self) -> EhFrameHdr<Bytes<'_>> {
        EhFrameHdr::new(&self.index, LittleEndian)
    }

    /// The unwind table (`.eh_frame`).
    pub fn frames(&self) -> EhFrame<Bytes<'_>> {
        let mut frames = EhFrame::new(&self.frames, LittleEndian);
        if self.processor == Processor::Aarch64 {
            frames.set_vendor(Vendor::AArch64);
        }
        frames
    }
}

/// The index, the table, and the addresses to which their pointers are relative.
fn read_table(target: &dyn Target, range: Range) -> Option<(Vec<u8>, Vec<u8>, BaseAddresses)> {
    let index = read_whole(target, range.start, range.bytes)?;
    let bases = BaseAddresses::default().set_eh_frame_hdr(range.start);
    let header = EhFrameHdr::new(&index, LittleEndian);
    let parsed = header.parse(&bases, 8).ok()?;
    let start = parsed.eh_frame_ptr().direct().ok()?;
    let table = parsed.table()?;
    let mut entries = table.iter(&bases);
    let mut last = start;
    while let Some((_, entry)) = entries.next().ok()? {
        last = last.max(entry.direct().ok()?);
    }
    let mut length = [0; 4];
    let is_read = target.read(last, &mut length) == length.len();
    let end = last.checked_add(4 + u64::from(u32::from_le_bytes(length)))?;
    let frames = read_whole(target, start, end.checked_sub(start)?)?;
    is_read.then(|| (index, frames, bases.set_eh_frame(start)))
}

/// A range of memory.
struct Range {
    start: u64,
    bytes: u64,
}

/// The difference between addresses in memory and addresses in a file that is loaded at an address.
fn bias(segments: &[ProgramHeader64<object::LittleEndian>], header: u64) -> Option<u64> {
    let endian = object::LittleEndian;
    let first = segments
        .iter()
        .find(|segment| segment.p_type(endian) == elf::PT_LOAD && segment.p_offset(endian) == 0)?;
    Some(header.wrapping_sub(first.p_vaddr(endian)))
}

/// The index of the unwind table (`.eh_frame_hdr`).
fn find_index(segments: &[ProgramHeader64<object::LittleEndian>], bias: u64) -> Option<Range> {
    let endian = object::LittleEndian;
    let index = segments
        .iter()
        .find(|segment| segment.p_type(endian) == elf::PT_GNU_EH_FRAME)?;
    Some(Range {
        start: bias.wrapping_add(index.p_vaddr(endian)),
        bytes: index.p_memsz(endian),
    })
}

fn read_up_to(target: &dyn Target, address: u64, bytes: usize) -> Vec<u8> {
    let mut buffer = vec![0; bytes];
    let read = target.read(address, &mut buffer);
    buffer.truncate(read);
    buffer
}

/// Reads this many bytes. `None` if not all can be read, or if the number is implausibly large.
fn read_whole(target: &dyn Target, address: u64, bytes: u64) -> Option<Vec<u8>> {
    if MAX_TABLE_BYTES < bytes {
        return None;
    }
    let bytes = usize::try_from(bytes).ok()?;
    // Checks the last byte first, so that a hostile size does not cost more memory than the process itself has.
    let mut last = [0];
    let is_there =
        bytes == 0 || target.read(address.checked_add(bytes as u64 - 1)?, &mut last) == 1;
    let buffer = is_there.then(|| read_up_to(target, address, bytes))?;
    (buffer.len() == bytes).then_some(buffer)
}
