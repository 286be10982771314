//! Source files for excerpts. Each file is read only once.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::{self, File, Metadata};
use std::io::{BufRead as _, Read as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::rc::Rc;
use std::time::SystemTime;

use symbolize::open_regular;

/// Maximum number of bytes read from a file.
const MAX_FILE_BYTES: u64 = 16 << 20;
/// Maximum number of bytes read from all files. Further files are not shown.
const MAX_BYTES: u64 = 32 << 20;

/// Cache of the files that were read.
#[derive(Clone, Debug, Default)]
pub struct SourceFiles {
    read: RefCell<FilesRead>,
}

#[derive(Clone, Debug, Default)]
struct FilesRead {
    /// Files by device and inode, since a file may have many paths.
    files: BTreeMap<(u64, u64), Rc<SourceFile>>,
    bytes: u64,
}

impl SourceFiles {
    /// Opens the file at this path. `None` if the file cannot be read, does not have the name of a source
    /// file, or exceeds the limit for all files.
    pub fn open(&self, path: &Path) -> Option<Rc<SourceFile>> {
        let file = open_source(path)?;
        let metadata = file.metadata().ok()?;
        let identity = (metadata.dev(), metadata.ino());
        let mut read = self.read.borrow_mut();
        if let Some(known) = read.files.get(&identity) {
            return Some(Rc::clone(known));
        }
        let length = metadata.len().min(MAX_FILE_BYTES);
        if MAX_BYTES < read.bytes + length {
            return None;
        }
        let file = Rc::new(SourceFile::read(&file, length, &metadata)?);
        read.bytes += length;
        read.files.insert(identity, Rc::clone(&file));
        Some(file)
    }
}

/// The content of a source file, up to the limit.
#[derive(Debug)]
pub struct SourceFile {
    bytes: Vec<u8>,
    /// Offsets of lines 1, 1 + [`LINES_PER_MARK`] and so on.
    marks: Vec<usize>,
    modified: Option<SystemTime>,
}

const LINES_PER_MARK: usize = 256;

impl SourceFile {
    fn read(file: &File, length: u64, metadata: &Metadata) -> Option<Self> {
        let mut bytes = Vec::new();
        file.take(length).read_to_end(&mut bytes).ok()?;
        Some(SourceFile {
            marks: marks(&bytes),
            bytes,
            modified: metadata.modified().ok(),
        })
    }

    /// Iterates over lines, beginning with line `first` (from 1). Ends at the first line that is not text.
    pub fn lines_from(&self, first: u32) -> impl Iterator<Item = &str> {
        let before = (first as usize).saturating_sub(1);
        let start = self.marks.get(before / LINES_PER_MARK);
        let bytes = start.map_or(&[][..], |&start| &self.bytes[start..]);
        let requested = lines(bytes).skip(before % LINES_PER_MARK);
        requested.map_while(|line| std::str::from_utf8(line).ok())
    }

    /// Whether the file was modified after this time.
    pub fn is_newer_than(&self, moment: SystemTime) -> bool {
        self.modified.is_some_and(|modified| moment < modified)
    }
}

fn marks(bytes: &[u8]) -> Vec<usize> {
    let mut end = 0;
    let starts = lines(bytes).map(|line| {
        end += line.len();
        end - line.len()
    });
    starts.step_by(LINES_PER_MARK).collect()
}

/// Splits bytes into lines, with line ends. Uses a fast search, since a line may be as long as the file.
fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let from = rest;
        let length = rest.skip_until(b'\n').ok()?;
        from.get(..length).filter(|line| !line.is_empty())
    })
}

/// Opens a source file. The path comes from the program or its debug info, and the content is printed.
/// So both the path and the file that a link leads to must have names of source files.
fn open_source(path: &Path) -> Option<File> {
    if !has_name_of_source(path) {
        return None;
    }
    let file = open_regular(path).ok()?;
    let opened = format!("/proc/self/fd/{}", file.as_raw_fd());
    has_name_of_source(&fs::read_link(opened).ok()?).then_some(file)
}

/// File name extensions of source files in languages that can link a probe.
const EXTENSIONS: [&str; 29] = [
    "rs", "c", "cc", "cpp", "cxx", "c++", "cppm", "ixx", "h", "hh", "hpp", "hxx", "h++", "inc",
    "inl", "ipp", "tcc", "tpp", "m", "mm", "zig", "go", "d", "nim", "swift", "s", "asm", "f90",
    "cu",
];

fn has_name_of_source(path: &Path) -> bool {
    let extension = path.extension().and_then(|name| name.to_str());
    extension.is_some_and(|extension| EXTENSIONS.contains(&extension.to_ascii_lowercase().as_str()))
}

#[cfg(test)]
mod tests {
    use std::fs::hard_link;

    use super::*;

    fn bytes_read(files: &SourceFiles) -> u64 {
        files.read.borrow().bytes
    }

    // CT-21
    #[test]
    fn files_with_several_paths_are_read_once() {
        let room = tempfile::tempdir().unwrap();
        let path = room.path().join("a.rs");
        fs::write(&path, "line\n".repeat(1000)).unwrap();
        hard_link(&path, room.path().join("b.rs")).unwrap();
        let files = SourceFiles::default();
        for number in 1..=1000 {
            for name in ["a.rs", "./a.rs", "b.rs"] {
                let file = files.open(&room.path().join(name)).unwrap();
                assert_eq!(file.lines_from(number).next(), Some("line\n"));
            }
        }
        assert_eq!(bytes_read(&files), 5000);
    }

    // CT-21
    #[test]
    fn all_files_share_a_limit() {
        let room = tempfile::tempdir().unwrap();
        let files = SourceFiles::default();
        let read: Vec<bool> = (0..4)
            .map(|number| {
                let path = room.path().join(format!("{number}.rs"));
                File::create(&path).unwrap().set_len(1 << 40).unwrap();
                files.open(&path).is_some()
            })
            .collect();
        assert_eq!(read, [true, true, false, false]);
        assert_eq!(bytes_read(&files), MAX_BYTES);
    }

    #[test]
    fn lines_are_found_by_number() {
        let text: Vec<String> = (1..=700).map(|number| format!("{number}")).collect();
        let bytes = text.join("\n").into_bytes();
        let file = SourceFile {
            marks: marks(&bytes),
            bytes,
            modified: None,
        };
        for number in [1, 2, 256, 257, 512, 513, 700] {
            let line = file.lines_from(number).next().unwrap();
            assert_eq!(line.trim_end(), number.to_string());
        }
        assert_eq!(file.lines_from(701).count(), 0);
        assert_eq!(file.lines_from(u32::MAX).count(), 0);
    }
}
