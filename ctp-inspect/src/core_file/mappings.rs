//! The mappings of a process, by its core file.

use object::elf::{PF_R, PF_W, PF_X};

use crate::core_file::elf::Segment;
use crate::core_file::files::MappedFiles;
use crate::core_file::notes::{MappedFile, NoteContents};
use crate::target::mapping::{self, Mapping};

/// The mappings that the core file lists. The memory of unchanged mappings of files may be absent.
pub fn in_core(memory: &[Segment], facts: &NoteContents) -> Vec<Mapping> {
    let segments = memory.iter().filter(|segment| 0 < segment.memory_bytes);
    segments
        .filter_map(|segment| mapping(segment, facts))
        .collect()
}

fn mapping(segment: &Segment, facts: &NoteContents) -> Option<Mapping> {
    let file = facts.file_at(segment.address);
    let origin = match file {
        Some(file) => of_file(file, segment.address, facts),
        None if segment.address == facts.vdso => Mapping {
            path: b"[vdso]".to_vec(),
            ..Mapping::default()
        },
        None => Mapping::default(),
    };
    Some(Mapping {
        start: segment.address,
        end: segment.address.checked_add(segment.memory_bytes)?,
        is_readable: segment.has(PF_R),
        is_writable: segment.has(PF_W),
        is_executable: segment.has(PF_X),
        ..origin
    })
}

/// The file of a mapping. Files have numbers here, because their inodes are not in the core file.
fn of_file(file: &MappedFile, address: u64, facts: &NoteContents) -> Mapping {
    Mapping {
        file_offset: file.offset.saturating_add(address - file.start),
        path: file.path.clone(),
        file: (0, facts.number_of(file)),
        ..Mapping::default()
    }
}

/// Adds the mappings that gdb leaves out of its core files: parts of files that do not change.
pub fn add_unchanged(mappings: &mut Vec<Mapping>, facts: &NoteContents, files: &MappedFiles) {
    for file in &facts.files {
        let segment = files.unchanged_segment(&file.path, file.offset);
        let is_free = mapping::find(mappings, file.start).is_none();
        let Some(segment) = segment.filter(|_| is_free) else {
            continue;
        };
        let after = mappings.partition_point(|mapping| mapping.start <= file.start);
        let next = mappings
            .get(after)
            .map_or(u64::MAX, |mapping| mapping.start);
        let mapping = Mapping {
            start: file.start,
            end: file.end.min(next),
            is_readable: segment.has(PF_R),
            is_executable: segment.has(PF_X),
            ..of_file(file, file.start, facts)
        };
        mappings.insert(after, mapping);
    }
}
