//! Records firmware while it runs, by reading its memory from outside.
//!
//! ```text
//!   file       memory that a simulator maps to a file
//!   gdb        a target behind a GDB server
//!   source     what each way to read memory provides
//!   search     where the probe's memory is
//!   shape      the sizes of that memory
//!   memory     a consistent copy of that memory, and signs of a reset
//!   recording  the loop: read, pass, wait
//! ```
//! Each pass of the harvest reads a copy. The firmware is not changed, and does not know of the recorder.
//! What it overwrites between two passes is counted as lost.

mod file;
mod gdb;
mod memory;
mod recording;
mod search;
mod shape;
mod source;

use crate::cli::config::{Config, DumpFile, GdbServer};
use crate::error::Error;
use crate::image::Firmware;
use file::SimulatorFile;
pub use gdb::GdbError;
use gdb::GdbTarget;
pub use source::SourceError;

/// Records firmware with memory that is mapped to a file, until a signal, until the file disappears or until
/// the firmware is reset.
///
/// # Errors
/// No coroutine was recorded, or the trace could not be written.
pub fn follow(config: &Config, image: &DumpFile) -> Result<u8, Error> {
    let firmware = Firmware::of_elf(image.elf.as_ref())?;
    let source = SimulatorFile::open(&image.dump)?;
    recording::record(config, firmware, source)
}

/// Records a target behind a GDB server, until a signal, until the server fails or until the target is
/// reset. The target is left running.
///
/// # Errors
/// No coroutine was recorded, or the trace could not be written.
pub fn attach(config: &Config, server: &GdbServer) -> Result<u8, Error> {
    let firmware = Firmware::of_elf(Some(&server.elf))?;
    let source = GdbTarget::connect(&server.address, &server.elf)?;
    recording::record(config, firmware, source)
}
