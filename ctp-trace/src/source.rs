//! Sources of a trace's bytes: memory, or a file that is read in parts.

use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::FileExt as _;

/// Bytes with random access.
pub trait Source: Send {
    /// The number of bytes. A file may be shorter by the time it is read.
    fn length(&self) -> u64;

    /// Fills `room` with the bytes at `offset` and returns their number. The number is less than the size
    /// of `room` only at the end, or where the rest cannot be read.
    fn read_at(&self, offset: u64, room: &mut [u8]) -> usize;

    /// The offset of the first byte from `offset` on that may differ from zero, so that holes in a file
    /// need not be read.
    fn next_data(&self, offset: u64) -> u64 {
        offset
    }
}

/// Fills `room` with the bytes of a file at `offset` and returns their number, as [`Source::read_at`] does. The file
/// keeps its position.
pub fn read_file_at(file: &File, offset: u64, room: &mut [u8]) -> usize {
    let mut read = 0;
    while read < room.len() {
        match file.read_at(&mut room[read..], offset + read as u64) {
            Ok(0) => break,
            Ok(more) => read += more,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    read
}

impl Source for &[u8] {
    fn length(&self) -> u64 {
        self.len() as u64
    }

    fn read_at(&self, offset: u64, room: &mut [u8]) -> usize {
        let rest = usize::try_from(offset)
            .ok()
            .and_then(|index| self.get(index..));
        let rest = rest.unwrap_or_default();
        let length = rest.len().min(room.len());
        room[..length].copy_from_slice(&rest[..length]);
        length
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_stop_at_the_end_of_memory() {
        let read = |offset, size| {
            let mut room = vec![0; size];
            let read = b"abc".as_slice().read_at(offset, &mut room);
            room[..read].to_vec()
        };
        assert_eq!(read(1, 1), b"b");
        assert_eq!(read(1, 9), b"bc");
        assert_eq!(read(3, 1), b"");
        assert_eq!(read(u64::MAX, 1), b"");
    }
}
