//! Identifies the files that processes have mapped, by build id. Reads each file once.

use std::collections::HashMap;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use object::read::ReadCache;
use object::read::elf::{FileHeader, ProgramHeader as _};
use object::{Endianness, FileKind, elf};
use rustix::fs::OFlags;

/// The ids read so far.
#[derive(Debug, Default)]
pub struct FileIds(HashMap<FileState, FileId>);

/// The identity of a file's content: the build id, or else the file's inode, time and size.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct FileId {
    /// The build id; empty if there is none, the path is no file, or reading failed.
    pub build_id: Vec<u8>,
    /// The file's state, if there is no build id.
    state: Option<FileState>,
}

/// Device, inode, seconds and nanoseconds of the modification time, and size. A file may be replaced during the recording.
type FileState = (u64, u64, i64, i64, u64);

impl FileIds {
    /// The id of the file that the process sees at this path.
    pub fn of(&mut self, pid: u32, path: &[u8]) -> FileId {
        let is_absolute = path.first() == Some(&b'/');
        let path = Path::new(std::ffi::OsStr::from_bytes(path));
        match is_absolute.then(|| open_as_seen(pid, path)).flatten() {
            Some((file, state)) => self
                .0
                .entry(state)
                .or_insert_with(|| FileId::read(file, state))
                .clone(),
            None => FileId::default(),
        }
    }
}

impl FileId {
    /// Whether equal ids prove the same file. If nothing is known of a file, its id is that of other unknown files.
    pub fn is_proof(&self) -> bool {
        !self.build_id.is_empty() || self.state.is_some()
    }

    fn read(file: fs::File, state: FileState) -> Self {
        let build_id = build_id(file).unwrap_or_default();
        FileId {
            state: build_id.is_empty().then_some(state),
            build_id,
        }
    }
}

/// Opens the file that the process sees at this path, or else the file that the recorder sees there.
fn open_as_seen(pid: u32, path: &Path) -> Option<(fs::File, FileState)> {
    let relative = path.strip_prefix("/").unwrap_or(path);
    let seen = Path::new(&format!("/proc/{pid}/root")).join(relative);
    open_plain(&seen).or_else(|| open_plain(path))
}

/// Opens a regular file without blocking: the program may have replaced the file, and opening a pipe would wait for
/// its other end.
fn open_plain(path: &Path) -> Option<(fs::File, FileState)> {
    let mut options = fs::File::options();
    options.custom_flags(OFlags::NONBLOCK.bits() as i32);
    let file = options.read(true).open(path).ok()?;
    let about = file.metadata().ok()?;
    let modified = (about.mtime(), about.mtime_nsec());
    let state = (
        about.dev(),
        about.ino(),
        modified.0,
        modified.1,
        about.size(),
    );
    about.is_file().then_some((file, state))
}

fn build_id(file: fs::File) -> Option<Vec<u8>> {
    let cache = ReadCache::new(file);
    match object::FileKind::parse(&cache).ok()? {
        FileKind::Elf64 => build_id_in_notes::<elf::FileHeader64<Endianness>>(&cache),
        FileKind::Elf32 => build_id_in_notes::<elf::FileHeader32<Endianness>>(&cache),
        _ => None,
    }
}

/// Reads only the file header, the program headers (4 MB at most), and the notes. The program controls the size of everything else,
/// such as symbol tables.
fn build_id_in_notes<Elf: FileHeader<Endian = Endianness>>(
    file: &ReadCache<fs::File>,
) -> Option<Vec<u8>> {
    let header = Elf::parse(file).ok()?;
    let endian = header.endian().ok()?;
    // With more segments, their number would be that of a section header.
    if header.e_phnum(endian) == elf::PN_XNUM {
        return None;
    }
    let mut left = MAX_NOTE_BYTES;
    for segment in header.program_headers(endian, file).ok()? {
        if segment.p_type(endian) != elf::PT_NOTE {
            continue;
        }
        left = left.checked_sub(segment.p_filesz(endian).into())?;
        let Some(mut notes) = segment.notes(endian, file).ok()? else {
            continue;
        };
        while let Some(note) = notes.next().ok()? {
            if note.name() == elf::ELF_NOTE_GNU && note.n_type(endian) == elf::NT_GNU_BUILD_ID {
                return Some(note.desc().to_vec());
            }
        }
    }
    None
}

/// Maximum number of bytes of all notes. More are not read.
const MAX_NOTE_BYTES: u64 = 64 << 10;

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt as _;

    use super::*;

    #[test]
    fn a_pipe_at_a_modules_path_does_not_block() {
        let directory = tempfile::tempdir().expect("a directory");
        let pipe = directory.path().join("module.so");
        let mode = rustix::fs::Mode::RWXU;
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0)
            .expect("a pipe");
        assert!(open_as_seen(std::process::id(), &pipe).is_none());
    }

    // CT-21
    #[test]
    fn symbol_tables_of_any_size_are_not_read() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("module.so");
        let itself = std::env::current_exe().expect("a program file");
        let mut bytes = fs::read(&itself).expect("a program file");
        // Offset, number and name section of the section headers, as in `Elf64_Ehdr`.
        let at = 1_u64 << 40;
        bytes[0x28..0x30].copy_from_slice(&at.to_le_bytes());
        bytes[0x3c..0x40].copy_from_slice(&[1, 0, 0, 0]);
        fs::write(&path, &bytes).expect("a writable file");
        let file = fs::File::options().write(true).open(&path).expect("a file");
        file.set_len(at + 4096).expect("a sparse file");
        // An `Elf64_Shdr`: a symbol table of 1 TiB.
        let words = [2 << 32, 0, 0, 0, at, 0, 0, 24_u64];
        let section: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        file.write_all_at(&section, at).expect("a writable file");
        let own = build_id(fs::File::open(&itself).expect("a program file"));
        assert_eq!(build_id(fs::File::open(&path).expect("a file")), own);
    }

    // LT-22
    #[test]
    fn a_replaced_file_has_another_id() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("module.so");
        let pid = std::process::id();
        let mut ids = FileIds::default();
        let itself = std::env::current_exe().expect("a program file");
        fs::write(&path, "no program").expect("a writable file");
        let text = ids.of(pid, path.as_os_str().as_bytes());
        assert_eq!((&text.build_id[..], text.is_proof()), (&[][..], true));
        fs::copy(&itself, &path).expect("a copy");
        let replaced = ids.of(pid, path.as_os_str().as_bytes());
        assert_ne!(replaced, text);
        let original = ids.of(pid, itself.as_os_str().as_bytes());
        assert_eq!(replaced.build_id, original.build_id);
    }
}
