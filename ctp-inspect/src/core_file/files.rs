//! [`MappedFiles`]: contents of files that were mapped, where the core file lacks them.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use object::elf::PF_W;

use crate::core_file::elf::{self, Header, Segment};

const PAGE_BYTES: u64 = 4096;

/// The files that could be opened and are those that were mapped.
#[derive(Debug, Default)]
pub struct MappedFiles {
    by_path: HashMap<Vec<u8>, OpenedFile>,
    /// The files that are missing or differ, for people.
    pub missing: Vec<String>,
}

/// A file, and how the parts of it are loaded.
#[derive(Debug)]
struct OpenedFile {
    file: File,
    segments: Vec<Segment>,
}

impl MappedFiles {
    /// Opens a file. The file counts only if its build id is this one, or if `is_given` says that the
    /// user has named it and the build id in memory is unknown.
    pub fn open(&mut self, path: &[u8], at: &Path, build_id: Option<&[u8]>, is_given: bool) {
        let file = symbolize::open_regular(at).ok();
        let is_same = |file: &File| {
            let read = |offset, buffer: &mut [u8]| read_file(file, offset, buffer);
            let found = elf::build_id(&read, false);
            match build_id {
                Some(expected) => found.as_deref() == Some(expected),
                None => is_given,
            }
        };
        match file.filter(is_same) {
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

    /// The part of a file that is loaded from this offset, if it may not be written to.
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

/// Reads as much as there is.
pub fn read_file(file: &File, offset: u64, buffer: &mut [u8]) -> usize {
    let mut done = 0;
    while done < buffer.len() {
        let Some(from) = offset.checked_add(done as u64) else {
            break;
        };
        match file.read_at(&mut buffer[done..], from) {
            Ok(0) | Err(_) => break,
            Ok(bytes) => done += bytes,
        }
    }
    done
}

/// A path from a core file.
pub fn path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}
