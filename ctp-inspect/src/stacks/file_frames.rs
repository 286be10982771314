//! [`FileFrames`]: the unwind table in the debug info of a file (`.debug_frame`).
//!
//! Some libraries, musl above all, have no unwind table in memory.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use gimli::{DebugFrame, LittleEndian};
use object::{Object as _, ObjectSection as _, ReadCache};

use crate::stacks::module::Bytes;
use crate::target::Target;
use crate::target::mapping::Mapping;

/// Larger tables are not read.
const MAX_BYTES: u64 = 64 << 20;

/// The unwind table in the debug info of a file.
pub struct FileFrames {
    bytes: Vec<u8>,
}

impl FileFrames {
    /// Reads the table of the mapped file, if the file at the path is still the mapped file. `None` for a core file.
    pub fn read(target: &dyn Target, mapping: &Mapping) -> Option<Self> {
        if !target.core_file().is_empty() {
            return None;
        }
        let path = target.readable_path(mapping);
        let path = Path::new(OsStr::from_bytes(&path));
        let file = symbolize::open_regular(path).ok()?;
        let is_same = file.metadata().ok()?.ino() == mapping.file.1;
        let cache = is_same.then(|| ReadCache::new(file))?;
        let parsed = object::File::parse(&cache).ok()?;
        let section = parsed.section_by_name(".debug_frame")?;
        let data = section.compressed_data().ok()?;
        let is_small = data.uncompressed_size <= MAX_BYTES;
        let bytes = is_small.then(|| data.decompress().ok())??.into_owned();
        Some(FileFrames { bytes })
    }

    /// The table, with addresses as in the file.
    pub fn table(&self) -> DebugFrame<Bytes<'_>> {
        let mut table = DebugFrame::new(&self.bytes, LittleEndian);
        table.set_address_size(8);
        table
    }
}
