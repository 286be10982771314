//! Where an executable was mapped, for core files that do not say which files were mapped.

use std::path::Path;

use object::elf::PF_W;

use crate::core_file::elf::{self, Header, Segment};
use crate::core_file::files::{PAGE_BYTES, read_file};
use crate::core_file::notes::MappedFile;

/// The mappings of this executable. `headers` is the address of its program headers in memory (0 if unknown), and
/// `memory` has the parts of memory in the core file. `None` if the address is unknown, or if the executable does not
/// fit the core file.
pub fn mapped(
    path: &Path,
    headers: u64,
    memory: &[Segment],
    in_core: elf::Read<'_>,
) -> Option<Vec<MappedFile>> {
    let file = symbolize::open_regular(path).ok()?;
    let read = |offset, buffer: &mut [u8]| read_file(&file, offset, buffer);
    let header = Header::read(&read)?;
    let segments = header.segments(&read);
    let loaded: Vec<&Segment> = segments
        .iter()
        .filter(|segment| segment.is_memory())
        .collect();
    let base = base(&header, &loaded, headers)?;
    let first = loaded.iter().find(|segment| segment.offset == 0)?;
    let start = base.wrapping_add(first.address);
    let id_in_memory =
        elf::build_id_in_memory(&|offset, buffer| in_core(start.wrapping_add(offset), buffer));
    let is_other = id_in_memory.is_some() && id_in_memory != elf::build_id_of_file(&read);
    let has_data = loaded
        .iter()
        .all(|segment| !segment.has(PF_W) || is_in(memory, base.wrapping_add(segment.address)));
    let mapped = loaded.iter().map(|segment| mapping(segment, base, path));
    (!is_other && has_data).then(|| mapped.collect())?
}

/// The difference between addresses in memory and addresses in the file.
fn base(header: &Header, loaded: &[&Segment], headers: u64) -> Option<u64> {
    let offset = header.segments_offset();
    let segment = loaded.iter().find(|segment| {
        let into = offset.checked_sub(segment.offset);
        into.is_some_and(|into| into < segment.file_bytes)
    })?;
    let in_file = segment.address.checked_add(offset - segment.offset)?;
    let base = headers.checked_sub(in_file).filter(|_| headers != 0)?;
    (base % PAGE_BYTES == 0).then_some(base)
}

fn is_in(memory: &[Segment], address: u64) -> bool {
    memory.iter().any(|segment| {
        let into = address.checked_sub(segment.address);
        into.is_some_and(|into| into < segment.memory_bytes)
    })
}

fn mapping(segment: &Segment, base: u64, path: &Path) -> Option<MappedFile> {
    let before = segment.offset % PAGE_BYTES;
    let start = base
        .checked_add(segment.address)?
        .checked_sub(before)
        .filter(|start| start % PAGE_BYTES == 0)?;
    let bytes = before.checked_add(segment.file_bytes)?;
    Some(MappedFile {
        start,
        end: start.checked_add(bytes.checked_next_multiple_of(PAGE_BYTES)?)?,
        offset: segment.offset - before,
        path: path.as_os_str().as_encoded_bytes().to_vec(),
    })
}
