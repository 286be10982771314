//! Opens the requested trace safely: never blocks on a pipe or device, and never changes a device.

use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Read as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::Path;

use anyhow::{Context as _, Result, anyhow, bail};
use ctp_trace::Source;
use rustix::fs::{Mode, OFlags, SeekFrom, fcntl_getfl, fcntl_setfl};

use super::name;
use crate::output;

/// The bytes of a trace.
#[derive(Debug)]
pub enum Opened {
    /// A regular file, of which parts are read on demand.
    File(TraceFile),
    /// Bytes from a pipe or socket, up to [`MAX_STREAM_BYTES`], or from an import.
    Memory(Vec<u8>),
}

/// Size limit for input from a pipe, which may never end.
const MAX_STREAM_BYTES: u64 = 256 << 20;

/// A trace in a regular file. The file is not mapped, because truncating a mapped file kills its readers.
#[derive(Debug)]
pub struct TraceFile {
    file: File,
    /// The length at opening. Data that a recorder adds later is ignored.
    length: u64,
    /// The size on the disk, which is less than the length if the file has holes.
    stored: u64,
}

/// Opens a file, or reads all of a pipe.
///
/// # Errors
/// If the file does not exist, is neither a regular file nor a pipe, or is a pipe that does not end.
pub fn open(path: &Path) -> Result<Opened> {
    let file = if output::is_stdin(path) {
        File::from(io::stdin().as_fd().try_clone_to_owned()?)
    } else {
        open_at(path)?
    };
    let metadata = file.metadata().with_context(|| name(path))?;
    let kind = metadata.file_type();
    if kind.is_file() && is_at_start(&file) {
        return Ok(Opened::File(TraceFile::new(file, &metadata)));
    }
    if kind.is_dir() {
        bail!("{} is a directory: name a trace with -i FILE", name(path));
    }
    if kind.is_file() || kind.is_fifo() || kind.is_socket() {
        return stream(file, path).map(Opened::Memory);
    }
    Err(device_error(path))
}

fn device_error(path: &Path) -> anyhow::Error {
    anyhow!(
        "{} is a device, not a trace: name a file, or a pipe that ends, with -i FILE",
        name(path)
    )
}

/// Whether nothing was read from the file before. Standard input may be a partly read file.
fn is_at_start(file: &File) -> bool {
    rustix::fs::tell(file).is_ok_and(|position| position == 0)
}

fn open_at(path: &Path) -> Result<File> {
    // Opening a device may change its state.
    let metadata = fs::metadata(path).map_err(|error| cannot_open(path, &error))?;
    let kind = metadata.file_type();
    if kind.is_char_device() || kind.is_block_device() {
        return Err(device_error(path));
    }
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, Mode::empty());
    file.map(File::from)
        .map_err(|error| cannot_open(path, &error.into()))
}

fn cannot_open(path: &Path, error: &io::Error) -> anyhow::Error {
    let shown = path.display();
    match error.kind() {
        ErrorKind::NotFound => super::missing_trace_error(path),
        ErrorKind::WouldBlock => anyhow!(
            "cannot read {shown}: another process holds a lease on it; copy the file, and name the copy with -i FILE"
        ),
        _ => anyhow!("cannot read {shown}: {error}; name another with -i FILE"),
    }
}

/// Reads a stream to its end. Fails if the beginning does not look like a trace, or the stream is
/// too long.
fn stream(file: File, path: &Path) -> Result<Vec<u8>> {
    let cannot_read = || format!("cannot read {}", name(path));
    if !output::is_stdin(path) {
        // The pipe was opened without blocking. Its data may arrive later, so reads must block.
        let flags = fcntl_getfl(&file).with_context(cannot_read)?;
        fcntl_setfl(&file, flags - OFlags::NONBLOCK).with_context(cannot_read)?;
    }
    let mut bytes = Vec::new();
    let head = super::RECOGNISED_BYTES as u64;
    (&file)
        .take(head)
        .read_to_end(&mut bytes)
        .with_context(cannot_read)?;
    if bytes.is_empty() && !output::is_stdin(path) {
        bail!(
            "nothing writes into {}: name a trace with -i FILE",
            name(path)
        );
    }
    super::is_of_lines(&bytes).with_context(|| name(path))?;
    (&file)
        .take(MAX_STREAM_BYTES - head)
        .read_to_end(&mut bytes)
        .with_context(cannot_read)?;
    if MAX_STREAM_BYTES <= bytes.len() as u64 {
        bail!(
            "{} goes on after {} MiB: write the trace to a file, and name that with -i FILE",
            name(path),
            MAX_STREAM_BYTES >> 20
        );
    }
    Ok(bytes)
}

impl TraceFile {
    /// A regular file with this metadata.
    pub fn new(file: File, metadata: &Metadata) -> Self {
        TraceFile {
            length: metadata.len(),
            stored: metadata.blocks().saturating_mul(512),
            file,
        }
    }

    /// The file itself, for its locks.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// The size on the disk, at most the length.
    pub fn stored(&self) -> u64 {
        self.stored.min(self.length)
    }

    /// The first bytes, at most `most`.
    pub fn head(&self, most: usize) -> Vec<u8> {
        let length = usize::try_from(self.length).unwrap_or(most).min(most);
        let mut head = vec![0; length];
        let read = (&self).read_at(0, &mut head);
        head.truncate(read);
        head
    }
}

impl Source for &TraceFile {
    fn length(&self) -> u64 {
        self.length
    }

    fn read_at(&self, offset: u64, room: &mut [u8]) -> usize {
        read_within(&self.file, self.length, offset, room)
    }

    fn next_data(&self, offset: u64) -> u64 {
        next_data(&self.file, offset).unwrap_or(self.length)
    }
}

/// Reads from an offset, but nothing beyond the first `length` bytes of the file. Returns the number of bytes read.
pub fn read_within(file: &File, length: u64, offset: u64, room: &mut [u8]) -> usize {
    let rest = length.saturating_sub(offset);
    let requested = usize::try_from(rest).unwrap_or(room.len()).min(room.len());
    ctp_trace::read_file_at(file, offset, &mut room[..requested])
}

/// The offset of the first byte from `offset` on that is not in a hole of the file. `None` if no data is stored
/// there.
pub fn next_data(file: &File, offset: u64) -> Option<u64> {
    match rustix::fs::seek(file, SeekFrom::Data(offset)) {
        Ok(data) => Some(data.max(offset)),
        Err(rustix::io::Errno::NXIO) => None,
        Err(_) => Some(offset),
    }
}
