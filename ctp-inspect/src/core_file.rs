//! [`CoreFile`]: a process as it was when its core file was written.
//!
//! A core file has all registers of all threads. It shows a single moment, so one inspection is enough.

mod elf;
mod executable;
mod files;
mod mappings;
mod modules;
mod notes;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use ctp_trace::record::Nanos;
use object::elf::{EM_AARCH64, EM_X86_64};

use crate::core_file::elf::{Header, Segment};
use crate::core_file::files::{MappedFiles, path, read_file};
use crate::core_file::notes::NoteContents;
use crate::stacks::Processor;
use crate::target::error::TargetError;
use crate::target::mapping::{self, Mapping};
use crate::target::read_parts::read_parts;
use crate::target::{EpollInterest, StackPointer, Target};
use crate::threads::{ThreadSample, ThreadState};

/// A core file.
#[derive(Debug)]
pub struct CoreFile {
    path: PathBuf,
    memory: CoreMemory,
    facts: NoteContents,
    mappings: Vec<Mapping>,
    files: MappedFiles,
    /// Path of the executable: as the process had it, and where the executable is now, if given.
    executable: (Vec<u8>, Option<PathBuf>),
    gaps: Vec<String>,
}

/// The memory that is in the core file.
#[derive(Debug)]
struct CoreMemory {
    file: File,
    /// Sorted by address.
    segments: Vec<Segment>,
}

impl CoreFile {
    /// Opens a core file. `executable` is where the executable is now, if not at its old path.
    ///
    /// What the core file lacks of mapped files is read from these files at their old paths, if they have not changed
    /// since.
    ///
    /// # Errors
    /// The file cannot be read, or is not the core file of a 64-bit program.
    pub fn open(core: &Path, executable: Option<&Path>) -> Result<Self, TargetError> {
        let file = symbolize::open_regular(core).map_err(TargetError::Io)?;
        // The path is used later, perhaps in another directory.
        let executable = executable.map(std::path::absolute).transpose();
        let executable = executable.map_err(TargetError::Io)?;
        let bytes = file.metadata().map_err(TargetError::Io)?.len();
        let read = |offset, buffer: &mut [u8]| read_file(&file, offset, buffer);
        let header = Header::read(&read).filter(|header| header.is_core);
        let header = header.ok_or_else(not_core)?;
        let processor = processor(&header).ok_or(TargetError::Processor(header.machine.0))?;
        let segments = header.segments(&read);
        let mut facts = facts(&segments, processor, &read);
        let mut gaps = gaps(&segments, &facts, bytes);
        let memory = CoreMemory::of(file, segments);
        if facts.files.is_empty() {
            gaps.push(memory.map_executable(executable.as_deref(), &mut facts));
        }
        let mut core = CoreFile {
            path: core.to_owned(),
            mappings: mappings::in_core(&memory.segments, &facts),
            memory,
            files: MappedFiles::default(),
            executable: (Vec::new(), executable),
            facts,
            gaps,
        };
        core.open_files();
        mappings::add_unchanged(&mut core.mappings, &core.facts, &core.files);
        Ok(core)
    }

    /// Opens the programs and libraries that were mapped.
    fn open_files(&mut self) {
        let executable = self.facts.file_at(self.facts.in_executable);
        self.executable.0 = executable.map(|file| file.path.clone()).unwrap_or_default();
        for file in self.facts.files.iter().filter(|file| file.offset == 0) {
            let in_memory = |offset, buffer: &mut [u8]| match file.start.checked_add(offset) {
                Some(address) => self.memory.read(address, buffer),
                None => 0,
            };
            let mut mappings = self.mappings.iter();
            let is_code =
                mappings.any(|mapping| mapping.is_executable && mapping.path == file.path);
            if !is_code && Header::read(&in_memory).is_none() {
                continue;
            }
            let build_id = elf::build_id_in_memory(&in_memory);
            let given = self.executable.1.as_ref();
            let given = given.filter(|_| file.path == self.executable.0);
            let at = given.cloned().unwrap_or_else(|| path(&file.path));
            let is_given = given.is_some();
            self.files
                .open(&file.path, &at, build_id.as_deref(), is_given);
        }
        self.gaps.extend(self.files.missing.iter().map(|missing| {
            format!("{missing} is missing, or is not the file that the process had mapped.")
        }));
    }

    /// Reads from the core file. Memory that is not there is read from the mapped file, if the process could not have
    /// changed that memory.
    fn read_part(&self, address: u64, buffer: &mut [u8]) -> usize {
        let read = self.memory.read(address, buffer);
        if 0 < read {
            return read;
        }
        let Some(mapping) = mapping::find(&self.mappings, address) else {
            return 0;
        };
        if mapping.is_writable || !mapping.has_file() {
            return 0;
        }
        let bytes = (mapping.end - address).min(buffer.len() as u64);
        let bytes = usize::try_from(bytes).unwrap_or_default();
        let offset = mapping.file_offset.saturating_add(address - mapping.start);
        self.files.read(&mapping.path, offset, &mut buffer[..bytes])
    }
}

impl CoreMemory {
    fn of(file: File, segments: Vec<Segment>) -> Self {
        let mut segments: Vec<_> = segments.into_iter().filter(Segment::is_memory).collect();
        segments.sort_by_key(|segment| segment.address);
        CoreMemory { file, segments }
    }

    /// Adds the mappings of the executable that the user names, for a core file that lists no mapped files. Returns a
    /// sentence that says what is still missing.
    fn map_executable(&self, executable: Option<&Path>, facts: &mut NoteContents) -> String {
        let lacks = "The core file does not say which files were mapped";
        let Some(path) = executable else {
            return format!("{lacks}: the executable must be given to find tasks.");
        };
        let read = |address, buffer: &mut [u8]| self.read(address, buffer);
        match executable::mapped(path, facts.in_executable, &self.segments, &read) {
            Some(files) => {
                facts.files = files;
                format!("{lacks}: nothing is known of libraries.")
            }
            None => format!("{lacks}, and {} does not fit it.", path.display()),
        }
    }

    /// Reads from a single segment.
    fn read(&self, address: u64, buffer: &mut [u8]) -> usize {
        let after = self
            .segments
            .partition_point(|segment| segment.address <= address);
        let Some(segment) = self.segments[..after].last() else {
            return 0;
        };
        let into = address - segment.address;
        let left = segment.file_bytes.saturating_sub(into);
        let bytes = usize::try_from(left.min(buffer.len() as u64)).unwrap_or_default();
        match segment.offset.checked_add(into) {
            Some(offset) => read_file(&self.file, offset, &mut buffer[..bytes]),
            None => 0,
        }
    }
}

impl Target for CoreFile {
    fn pid(&self) -> u32 {
        self.facts.pid
    }

    fn exe(&self) -> &[u8] {
        &self.executable.0
    }

    fn mappings(&self) -> &[Mapping] {
        &self.mappings
    }

    fn read(&self, address: u64, buffer: &mut [u8]) -> usize {
        read_parts(address, buffer, |address, buffer| {
            self.read_part(address, buffer)
        })
    }

    fn now(&self) -> Nanos {
        Nanos(0)
    }

    fn refresh(&mut self) -> Result<(), TargetError> {
        Ok(())
    }

    fn stack_pointers(&self) -> Vec<StackPointer> {
        let threads = self.facts.threads.iter();
        let pointers = threads.filter_map(|thread| match &thread.state {
            ThreadState::Blocked { registers, .. } => Some(StackPointer {
                tid: thread.tid,
                address: registers.sp,
            }),
            _ => None,
        });
        pointers.collect()
    }

    fn epoll_interests(&self) -> Vec<EpollInterest> {
        Vec::new()
    }

    fn thread_ids(&self) -> Vec<u32> {
        let mut ids: Vec<_> = self.facts.threads.iter().map(|thread| thread.tid).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    fn thread(&self, tid: u32) -> Option<ThreadSample> {
        let mut threads = self.facts.threads.iter();
        threads.find(|thread| thread.tid == tid).cloned()
    }

    fn core_file(&self) -> &[u8] {
        self.path.as_os_str().as_encoded_bytes()
    }

    fn readable_path(&self, mapping: &Mapping) -> Vec<u8> {
        match &self.executable {
            (old, Some(now)) if *old == mapping.path => now.as_os_str().as_encoded_bytes().to_vec(),
            _ => mapping.path.clone(),
        }
    }

    fn gaps(&self) -> Vec<String> {
        self.gaps.clone()
    }
}

fn not_core() -> TargetError {
    TargetError::Io(io::Error::new(
        io::ErrorKind::InvalidData,
        "not a core file of a 64-bit program",
    ))
}

fn processor(header: &Header) -> Option<Processor> {
    match header.machine {
        EM_X86_64 => Some(Processor::X86_64),
        EM_AARCH64 => Some(Processor::Aarch64),
        _ => None,
    }
}

fn facts(segments: &[Segment], processor: Processor, read: elf::Read<'_>) -> NoteContents {
    let mut facts = NoteContents::default();
    for segment in segments.iter().filter(|segment| segment.is_note()) {
        let most = segment.file_bytes.min(elf::MAX_NOTE_BYTES);
        let bytes = elf::bytes_at(read, segment.offset, most);
        for note in elf::notes(&bytes) {
            facts.add(processor, &note);
        }
    }
    facts
}

/// Sentences about what the core file lacks.
fn gaps(segments: &[Segment], facts: &NoteContents, bytes: u64) -> Vec<String> {
    let ends = segments
        .iter()
        .map(|segment| segment.offset.saturating_add(segment.file_bytes));
    let end = ends.max().unwrap_or_default();
    let mut gaps = Vec::new();
    if bytes < end {
        gaps.push(format!(
            "The core file is cut: it has {bytes} of {end} bytes."
        ));
    }
    if facts.threads.is_empty() {
        gaps.push("The core file has no registers of threads.".to_owned());
    }
    gaps
}
