//! Where the bytes of a trace come from: memory, or a file of which a part is read at a time.

/// Bytes that can be read from anywhere.
pub trait Source: Send {
    /// How many there are. They may have become fewer by the time that they are read.
    fn length(&self) -> u64;

    /// Fills `room` with the bytes from `offset` on, and returns how many there were. Fewer than fit
    /// are returned only at the end, or where the rest cannot be read.
    fn read_at(&self, offset: u64, room: &mut [u8]) -> usize;

    /// The first byte from `offset` on that may differ from zero: the holes of a file need not be read.
    fn next_data(&self, offset: u64) -> u64 {
        offset
    }
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
    fn memory_ends_where_it_ends() {
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
