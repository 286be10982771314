//! [`MappedFiles`]: contents of files that were mapped, where the core file lacks them.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use object::elf::PF_W;

use crate::core_file::elf::{self, Header, Segment};
use crate::target::read_parts::read_parts;

/// Files are mapped in pages of this size.
pub const PAGE_BYTES: u64 = 4096;

/// The files that were mapped and could be opened. Files with another build id are left out.
#[derive(Debug, Default)]
pub struct MappedFiles {
    by_path: HashMap<Vec<u8>, OpenedFile>,
    /// The build ids by path: those in memory, or else those of the files that the user has named.
    build_ids: HashMap<Vec<u8>, Vec<u8>>,
    /// The paths of the files that are missing or differ, for messages.
    pub missing: Vec<String>,
}

/// A file, and how the parts of it are loaded.
#[derive(Debug)]
struct OpenedFile {
    file: File,
    segments: Vec<Segment>,
}

impl MappedFiles {
    /// Opens a file. The file is used only if it has this build id, or if the build id in memory is unknown and the
    /// user has named the file (`is_given`).
    pub fn open(&mut self, path: &[u8], at: &Path, build_id: Option<&[u8]>, is_given: bool) {
        let file = symbolize::open_regular(at).ok();
        let found = file.as_ref().and_then(|file| {
            elf::build_id_of_file(&|offset, buffer| read_file(file, offset, buffer))
        });
        let is_same = match build_id {
            Some(expected) => found.as_deref() == Some(expected),
            None => is_given,
        };
        if let Some(id) = build_id.map(<[u8]>::to_vec).or(found.filter(|_| is_given)) {
            self.build_ids.insert(path.to_vec(), id);
        }
        match file.filter(|_| is_same) {
            Some(file) => {
                let read = |offset, buffer: &mut [u8]| read_file(&file, offset, buffer);
                let segments = Header::read(&read).map(|header| header.segments(&read));
                let segments = segments.unwrap_or_default();
                let opened = OpenedFile { file, segments };
                self.by_path.insert(path.to_vec(), opened);
            }
            None => self.missing.push(at.display().to_string()),
        }
    }

    /// The build id of a file; empty if unknown.
    pub fn build_id(&self, path: &[u8]) -> &[u8] {
        self.build_ids.get(path).map_or(&[], Vec::as_slice)
    }

    /// The segment of a file that is loaded from this offset, if the segment is not writable.
    pub fn unchanged_segment(&self, path: &[u8], offset: u64) -> Option<&Segment> {
        let segments = self.by_path.get(path)?.segments.iter();
        // A page with the end of a segment and the beginning of the next is mapped for both.
        segments.rev().find(|segment| {
            let end = segment.offset.saturating_add(segment.file_bytes);
            // Mappings begin at the page with the beginning of the segment.
            let start = segment.offset - segment.offset % PAGE_BYTES;
            segment.is_memory() && (start..end).contains(&offset) && !segment.has(PF_W)
        })
    }

    /// Reads from a file; 0 bytes if it is missing.
    pub fn read(&self, path: &[u8], offset: u64, buffer: &mut [u8]) -> usize {
        let file = self.by_path.get(path);
        file.map_or(0, |opened| read_file(&opened.file, offset, buffer))
    }
}

/// Reads until the buffer is full or nothing more can be read. Returns the number of bytes read.
pub fn read_file(file: &File, offset: u64, buffer: &mut [u8]) -> usize {
    read_parts(offset, buffer, |offset, buffer| {
        file.read_at(buffer, offset).unwrap_or_default()
    })
}

/// A path from a core file.
pub fn path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}
