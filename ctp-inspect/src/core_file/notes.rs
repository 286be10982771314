//! [`NoteContents`]: what the notes of a core file say: threads, mapped files, the executable.

use object::elf;

use crate::core_file::elf::{LittleEndian, Note};
use crate::stacks::{Processor, Registers};
use crate::threads::{ThreadSample, ThreadState};

/// The maximum number of threads that are read.
const MAX_THREADS: usize = 1 << 16;
/// The offsets, in bytes, of the registers and of the id in the note of a thread.
const REGISTERS: usize = 112;
const THREAD_ID: usize = 32;
/// Entries of the auxiliary vector: the addresses of the executable's program headers, and of the kernel's library.
const AT_PHDR: u64 = 3;
const AT_SYSINFO_EHDR: u64 = 33;

/// What the notes say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NoteContents {
    /// Id of the process; 0 if unknown.
    pub pid: u32,
    /// The threads. The first is the thread that ended the process.
    pub threads: Vec<ThreadSample>,
    /// The mapped files, sorted by address.
    pub files: Vec<MappedFile>,
    /// The address of the executable's program headers; 0 if unknown.
    pub in_executable: u64,
    /// The address of the kernel's library (vDSO); 0 if unknown.
    pub vdso: u64,
}

/// A file that was mapped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MappedFile {
    /// First address.
    pub start: u64,
    /// First address after the mapping.
    pub end: u64,
    /// The offset in the file of the byte that is mapped at `start`.
    pub offset: u64,
    /// Path of the file.
    pub path: Vec<u8>,
}

impl NoteContents {
    /// Adds what a note says.
    pub fn add(&mut self, processor: Processor, note: &Note<'_>) {
        let fields = LittleEndian(note.contents);
        if note.owner != b"CORE" {
            return;
        }
        match elf::NoteType(note.kind) {
            elf::NT_PRSTATUS if self.threads.len() < MAX_THREADS => {
                self.threads.extend(thread(processor, fields));
            }
            elf::NT_PRPSINFO => self.pid = fields.u32(24).unwrap_or_default(),
            elf::NT_AUXV => self.add_vector(fields),
            elf::NT_FILE => {
                self.files = mapped_files(note.contents).unwrap_or_default();
                self.files.sort_by_key(|file| file.start);
            }
            _ => {}
        }
    }

    fn add_vector(&mut self, fields: LittleEndian<'_>) {
        for at in (0..fields.0.len()).step_by(16) {
            match (fields.u64(at), fields.u64(at + 8)) {
                (Some(AT_PHDR), Some(address)) => self.in_executable = address,
                (Some(AT_SYSINFO_EHDR), Some(address)) => self.vdso = address,
                _ => {}
            }
        }
    }

    /// The number of a file: the same for all mappings of the file, different for other files, and not 0.
    pub fn number_of(&self, file: &MappedFile) -> u64 {
        let first = self.files.iter().position(|other| other.path == file.path);
        first.map_or(0, |first| first as u64 + 1)
    }

    /// The file that was mapped at an address.
    pub fn file_at(&self, address: u64) -> Option<&MappedFile> {
        let after = self.files.partition_point(|file| file.start <= address);
        let file = self.files[..after].last()?;
        (address < file.end).then_some(file)
    }
}

/// A thread with all its registers and, on x86-64, the system call that it was in.
fn thread(processor: Processor, fields: LittleEndian<'_>) -> Option<ThreadSample> {
    let word = |index: usize| fields.u64(REGISTERS + 8 * index);
    let registers = Registers::in_kernel_order(processor, word)?;
    let syscall = match processor {
        Processor::X86_64 => u32::try_from(word(15)?).ok(),
        Processor::Aarch64 => None,
    };
    Some(ThreadSample {
        tid: fields.u32(THREAD_ID)?,
        name: String::new(),
        switches: 0,
        state: ThreadState::Blocked {
            syscall,
            registers: Box::new(registers),
        },
    })
}

/// Parses the list of mapped files: the number of mappings and the page size in bytes; then start, end and page in the
/// file for each mapping; then the paths.
fn mapped_files(contents: &[u8]) -> Option<Vec<MappedFile>> {
    let fields = LittleEndian(contents);
    let count = usize::try_from(fields.u64(0)?).ok()?;
    let page_bytes = fields.u64(8)?;
    let paths = contents.get(16_usize.checked_add(count.checked_mul(24)?)?..)?;
    let paths = paths.split(|&byte| byte == 0);
    let files = paths.take(count).enumerate().filter_map(|(index, path)| {
        let at = 16 + 24 * index;
        Some(MappedFile {
            start: fields.u64(at)?,
            end: fields.u64(at + 8)?,
            offset: fields.u64(at + 16)?.checked_mul(page_bytes)?,
            path: path.to_vec(),
        })
    });
    Some(files.filter(|file| file.start < file.end).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use gimli::Register;

    #[test]
    fn files_have_offsets_in_bytes() {
        let words = [2_u64, 4096, 0x1000, 0x2000, 0, 0x2000, 0x5000, 3];
        let mut contents: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        contents.extend(b"/app\0/lib\0");
        let mut facts = NoteContents::default();
        let note = Note {
            owner: b"CORE",
            kind: elf::NT_FILE.0,
            contents: &contents,
        };
        facts.add(Processor::X86_64, &note);
        assert_eq!(
            facts.file_at(0x1fff).map(|file| &file.path[..]),
            Some(&b"/app"[..])
        );
        assert_eq!(facts.file_at(0x4000).map(|file| file.offset), Some(0x3000));
        assert_eq!(facts.file_at(0x5000), None);
        contents[0] = 200;
        assert_eq!(mapped_files(&contents), None);
    }

    #[test]
    fn threads_have_all_registers() {
        let mut contents = vec![0; 336];
        contents[32] = 77;
        for index in 0..27_usize {
            let value = if index == 15 {
                u64::MAX
            } else {
                1000 + index as u64
            };
            contents[112 + 8 * index..][..8].copy_from_slice(&value.to_le_bytes());
        }
        let found = thread(Processor::X86_64, LittleEndian(&contents)).expect("a thread");
        let ThreadState::Blocked { syscall, registers } = found.state else {
            panic!("registers are known");
        };
        assert_eq!((found.tid, syscall), (77, None));
        assert_eq!((registers.pc, registers.sp), (1016, 1019));
        assert_eq!(registers.get(Register(6)), Some(1004));
        assert_eq!(
            thread(Processor::X86_64, LittleEndian(&contents[..200])),
            None
        );
    }
}
