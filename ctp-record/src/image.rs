//! A dump of a program's memory, read with the same pass as a live one.

mod place;
mod read;

use std::fs;
use std::io;
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;

use ctp_nostd::Region;
use ctp_nostd::layout::Station;
use ctp_trace::record::{Module, Nanos, Process, ProcessId, Record};
use object::{BinaryFormat, Object as _, ObjectSegment as _, SegmentFlags};

use crate::cli::config::Image;
use crate::error::{Error, ImageError, StartError};
use crate::harvest::{Numbers, Outside, Peer, Sink};
use crate::memory::shm::Copy;
use place::{Place, memory_in};
pub use read::read;

/// The one program of a dump.
#[derive(Debug)]
pub struct Firmware {
    modules: Vec<Module>,
    told: bool,
    numbers: Numbers,
}

/// A probe's memory, out of a dump.
#[derive(Debug)]
pub struct FoundMemory {
    /// What it holds.
    pub copy: Copy,
    /// Which one it is, if there are several.
    pub which: Option<String>,
}

/// Finds the probe's memory in a dump.
///
/// # Errors
/// The dump cannot be read, or holds none, or a damaged one.
pub fn load(image: &Image) -> Result<FoundMemory, Error> {
    let dump =
        bytes_of(&image.dump).map_err(|error| ImageError::Input(image.dump.clone(), error))?;
    match memory_in(&dump) {
        Some(Ok(place)) => Ok(FoundMemory {
            copy: Copy::of(place.memory)
                .map_err(|error| StartError::Memory(place.memory.len() as u64, error))?,
            which: (1 < place.of).then(|| which(&place)),
        }),
        Some(Err(refused)) => Err(ImageError::BadImage(image.dump.clone(), refused).into()),
        None => Err(ImageError::NoImage(image.dump.clone()).into()),
    }
}

/// A device may have no end.
fn bytes_of(path: &Path) -> io::Result<Vec<u8>> {
    match fs::metadata(path)?.file_type() {
        kind if kind.is_char_device() || kind.is_block_device() => Err(io::Error::other(
            "it is a device; copy the memory out of it into a file first",
        )),
        _ => fs::read(path),
    }
}

fn which(place: &Place<'_>) -> String {
    format!(
        "{} memories of a probe are in it: read is the first in which a coroutine was born, else the \
         first; it is at {:#x}",
        place.of, place.offset
    )
}

/// A dump does not say when it was taken or when the program started: its time begins with the
/// first coroutine.
pub fn first_birth_ns(region: &Region<'_>) -> u64 {
    let births = region.allocated().iter().filter_map(Station::identity);
    births.map(|identity| identity.birth_ts).min().unwrap_or(0)
}

impl Firmware {
    /// From the program's file: its code lies where it was linked to.
    ///
    /// # Errors
    /// The file cannot be read or is no ELF file.
    pub fn open(image: &Image) -> Result<Self, Error> {
        let modules = match &image.elf {
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
            told: false,
            numbers: Numbers::default(),
        })
    }
}

impl Outside for Firmware {
    fn numbers(&mut self) -> &mut Numbers {
        &mut self.numbers
    }

    fn process(&mut self, _: Peer, sink: &mut dyn Sink) -> ProcessId {
        let id = ProcessId(1);
        if !self.told {
            self.told = true;
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
