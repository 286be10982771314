//! Memory that a simulator maps to a file, such as QEMU with `-object memory-backend-file,share=on`.

use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ctp_nostd::layout::Header;
use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;

use super::search::search;
use super::source::{LiveSource, SourceError};
use crate::cli::words::shown;
use crate::error::{Error, ImageError};

/// The time between two readings. At 1 000 events a second, eight slots of a coroutine last for 8 ms.
const PAUSE: Duration = Duration::from_millis(1);

/// A file that is mapped by a running simulator.
#[derive(Debug)]
pub struct SimulatorFile {
    path: PathBuf,
    name: String,
    file: File,
}

impl SimulatorFile {
    /// Opens the file.
    ///
    /// # Errors
    /// There is no such file, or it is a device.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let file = open(path).map_err(|error| ImageError::Input(path.to_owned(), error))?;
        Ok(SimulatorFile {
            path: path.to_owned(),
            name: shown(path),
            file,
        })
    }

    /// Whether the path still leads to the file.
    fn is_there(&self) -> bool {
        let (Ok(named), Ok(open)) = (fs::metadata(&self.path), self.file.metadata()) else {
            return false;
        };
        (named.dev(), named.ino()) == (open.dev(), open.ino())
    }
}

fn open(path: &Path) -> io::Result<File> {
    let file = File::open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::other("only a file can be followed"))
    }
}

/// The parts of the file that were written. A simulator's memory mostly has none yet when the firmware
/// starts. The whole file if the file system does not keep the parts apart.
fn written_ranges(file: &File, bytes: u64) -> Vec<Range<u64>> {
    let mut ranges = Vec::new();
    let mut end = 0;
    while end < bytes {
        let begin = match seek(file, SeekFrom::Data(end)) {
            Ok(begin) => begin,
            Err(Errno::NXIO) => break, // nothing more was written
            Err(_) => end,
        };
        let hole = seek(file, SeekFrom::Hole(begin)).unwrap_or(bytes);
        // The file may have changed meanwhile.
        end = hole.clamp(begin + 1, bytes.max(begin + 1));
        // A memory may begin in one part and end in the next.
        ranges.push(begin..(end + size_of::<Header>() as u64).min(bytes));
    }
    ranges
}

impl LiveSource for SimulatorFile {
    fn name(&self) -> &str {
        &self.name
    }

    fn find(&mut self) -> Result<Option<u64>, SourceError> {
        let bytes = self.file.metadata()?.len();
        let written = written_ranges(&self.file, bytes);
        search(self, written)
    }

    fn read(&mut self, address: u64, buffer: &mut [u8]) -> Result<(), SourceError> {
        if !self.is_there() {
            return Err(SourceError::Disappeared);
        }
        Ok(self.file.read_exact_at(buffer, address)?)
    }

    fn hold(&mut self) -> Result<bool, SourceError> {
        Ok(false)
    }

    fn release(&mut self) -> Result<(), SourceError> {
        Ok(())
    }

    fn pause(&self) -> Duration {
        PAUSE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_parts_are_searched() {
        let file = tempfile::tempfile().expect("a file");
        assert!(written_ranges(&file, 0).is_empty());
        let bytes = 1 << 20;
        file.set_len(bytes).expect("room");
        let found = |ranges: &[Range<u64>], at| ranges.iter().any(|range| range.contains(&at));
        for at in [600_000, 0, bytes - 1] {
            file.write_all_at(&[7], at).expect("room");
            let ranges = written_ranges(&file, bytes);
            assert!(found(&ranges, at), "{at}: {ranges:?}");
            assert!(ranges.iter().all(|range| range.end <= bytes));
        }
    }
}
