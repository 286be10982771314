//! Reads a dump of a program's memory with the same pass as a live memory.

mod compact;
mod memory_search;
mod read;
pub mod ring;
mod settle;
pub mod words;

use std::borrow::Cow;
use std::fs;
use std::io;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use ctp_nostd::layout::Station;
use ctp_nostd::{Refused, Region};
use ctp_trace::record::{Module, Nanos, Process, ProcessId, Record};
use object::{BinaryFormat, Object as _, ObjectSegment as _, SegmentFlags};

use crate::cli::config::DumpFile;
use crate::error::{Error, ImageError, StartError};
use crate::harvest::{Outside, Sink, StationProcess, TraceNumbers};
use crate::memory::shm::Copy;
pub use compact::in_full_layout_with;
use memory_search::{MemoryLocation, memory_in};
pub use read::read;
pub use settle::settle;

/// The only program of a dump.
#[derive(Debug)]
pub struct Firmware {
    modules: Vec<Module>,
    is_described: bool,
    numbers: TraceNumbers,
}

/// A probe's memory in a dump.
#[derive(Debug)]
pub struct FoundMemory {
    /// A copy of the memory.
    pub copy: Copy,
    /// A description of which memory it is, if there are several.
    pub which: Option<String>,
}

/// Finds the probe's memory in a dump.
///
/// # Errors
/// The dump cannot be read, holds no memory, or holds a damaged memory.
pub fn load(image: &DumpFile) -> Result<FoundMemory, Error> {
    let dump =
        bytes_of(&image.dump).map_err(|error| ImageError::Input(image.dump.clone(), error))?;
    match memory_in(&dump) {
        Some(Ok(location)) => Ok(FoundMemory {
            copy: copy_of(location.memory)?,
            which: (1 < location.count).then(|| which(&location)),
        }),
        Some(Err(refused)) => Err(ImageError::BadImage(image.dump.clone(), refused).into()),
        None => Err(ImageError::NoImage(image.dump.clone()).into()),
    }
}

/// The probe's memory in a dump, in the full layout. `None` if the dump holds no memory.
///
/// # Errors
/// [`Refused`], if the memory is damaged.
pub fn memory_of(dump: &[u8]) -> Option<Result<Cow<'_, [u8]>, Refused>> {
    let found = memory_in(dump)?;
    Some(found.map(|location| compact::in_full_layout(location.memory)))
}

/// Copies a memory of either layout, in the full layout.
fn copy_of(memory: &[u8]) -> Result<Copy, Error> {
    let full = compact::in_full_layout(memory);
    Ok(Copy::of(&full).map_err(|error| StartError::Memory(full.len() as u64, error))?)
}

/// Reads the dump. A device may have no end, so it is rejected.
fn bytes_of(path: &Path) -> io::Result<Vec<u8>> {
    match fs::metadata(path)?.file_type() {
        kind if kind.is_char_device() || kind.is_block_device() => Err(io::Error::other(
            "it is a device; copy the memory out of it into a file first",
        )),
        _ => fs::read(path),
    }
}

fn which(location: &MemoryLocation<'_>) -> String {
    format!(
        "{} memories of a probe are in it: read is the first in which a coroutine was born, else the \
         first; it is at {:#x}",
        location.count, location.offset
    )
}

/// The time of the first coroutine's birth, where the trace begins. A dump does not contain the time at which it was
/// taken or at which the program started.
pub fn first_birth_ns(region: &Region<'_>) -> u64 {
    let births = region.allocated().iter().filter_map(Station::identity);
    births.map(|identity| identity.birth_ts).min().unwrap_or(0)
}

impl Firmware {
    /// Reads the program's file. The code lies at the addresses that the file was linked to.
    ///
    /// # Errors
    /// The file cannot be read or is no ELF file.
    pub fn of_elf(elf: Option<&PathBuf>) -> Result<Self, Error> {
        let modules = match elf {
            None => Vec::new(),
            Some(path) => {
                let bytes =
                    fs::read(path).map_err(|error| ImageError::Input(path.clone(), error))?;
                let absolute = fs::canonicalize(path).unwrap_or_else(|_| path.clone());
                let name = absolute.into_os_string().into_encoded_bytes();
                modules_of(&bytes, &name).ok_or_else(|| ImageError::NotElf(path.clone()))?
            }
        };
        Ok(Firmware {
            modules,
            is_described: false,
            numbers: TraceNumbers::default(),
        })
    }
}

impl Outside for Firmware {
    fn numbers(&mut self) -> &mut TraceNumbers {
        &mut self.numbers
    }

    fn process(&mut self, _: StationProcess, sink: &mut dyn Sink) -> ProcessId {
        let id = ProcessId(1);
        if !self.is_described {
            self.is_described = true;
            sink.take(Record::Process(Process {
                id,
                pid: 0,
                attached: Nanos(0),
            }));
            for module in &self.modules {
                sink.take(Record::Module(module.clone()));
            }
        }
        id
    }

    fn is_text(&mut self, _: ProcessId, address: u64, _: &mut dyn Sink) -> bool {
        self.modules
            .iter()
            .any(|module| (module.start..module.end).contains(&address))
    }
}

fn modules_of(bytes: &[u8], path: &[u8]) -> Option<Vec<Module>> {
    let object = object::File::parse(bytes).ok()?;
    if object.format() != BinaryFormat::Elf {
        return None;
    }
    let build_id = object.build_id().ok()?.unwrap_or_default().to_vec();
    let executable =
        |flags| matches!(flags, SegmentFlags::Elf { p_flags, .. } if p_flags.0 & 1 != 0);
    let modules = object
        .segments()
        .filter(|segment| executable(segment.flags()))
        .map(|segment| Module {
            process: ProcessId(1),
            start: segment.address(),
            end: segment.address().saturating_add(segment.size()),
            file_offset: segment.file_range().0,
            path: path.to_vec(),
            build_id: build_id.clone(),
        });
    Some(modules.collect())
}
