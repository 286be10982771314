//! [`MemoryImage`]: memory given as bytes, for tests and for readers of other formats.

use ctp_trace::record::Nanos;

use crate::target::error::TargetError;
use crate::target::mapping::Mapping;
use crate::target::read_parts::read_parts;
use crate::target::{EpollInterest, StackPointer, Target, mapping};
use crate::threads::ThreadSample;

/// Memory given as bytes.
#[derive(Clone, Debug, Default)]
pub struct MemoryImage {
    mappings: Vec<Mapping>,
    /// The bytes of each mapping, possibly fewer than its size.
    bytes: Vec<Vec<u8>>,
    /// The stack pointers of the threads.
    pub stack_pointers: Vec<StackPointer>,
    /// The descriptors that are watched by epoll.
    pub epoll_interests: Vec<EpollInterest>,
    /// The threads, by ascending ids.
    pub threads: Vec<ThreadSample>,
}

impl MemoryImage {
    /// Adds a mapping with its bytes. Bytes that are missing at its end cannot be read.
    pub fn add(&mut self, mapping: Mapping, bytes: Vec<u8>) {
        let index = self
            .mappings
            .partition_point(|other| other.start < mapping.start);
        self.mappings.insert(index, mapping);
        self.bytes.insert(index, bytes);
    }

    /// Replaces the 64-bit word at an address. Does nothing if no mapping has bytes there.
    pub fn set_word(&mut self, address: u64, word: u64) {
        let after = self
            .mappings
            .partition_point(|mapping| mapping.start <= address);
        let Some(index) = after.checked_sub(1) else {
            return;
        };
        let Ok(start) = usize::try_from(address - self.mappings[index].start) else {
            return;
        };
        let range = start..start.saturating_add(8);
        if let Some(bytes) = self.bytes[index].get_mut(range) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
    }

    /// The readable bytes from an address to the end of its mapping.
    fn tail(&self, address: u64) -> Option<&[u8]> {
        let mapping = mapping::find(&self.mappings, address)?;
        let index = self
            .mappings
            .partition_point(|other| other.start < mapping.start);
        self.bytes[index].get(usize::try_from(address - mapping.start).ok()?..)
    }
}

impl Target for MemoryImage {
    fn pid(&self) -> u32 {
        0
    }

    fn exe(&self) -> &[u8] {
        b""
    }

    fn mappings(&self) -> &[Mapping] {
        &self.mappings
    }

    fn read(&self, address: u64, buffer: &mut [u8]) -> usize {
        read_parts(address, buffer, |address, buffer| {
            let tail = self.tail(address).unwrap_or_default();
            let bytes = tail.len().min(buffer.len());
            buffer[..bytes].copy_from_slice(&tail[..bytes]);
            bytes
        })
    }

    fn now(&self) -> Nanos {
        Nanos(0)
    }

    fn refresh(&mut self) -> Result<(), TargetError> {
        Ok(())
    }

    fn stack_pointers(&self) -> Vec<StackPointer> {
        self.stack_pointers.clone()
    }

    fn epoll_interests(&self) -> Vec<EpollInterest> {
        self.epoll_interests.clone()
    }

    fn thread_ids(&self) -> Vec<u32> {
        self.threads.iter().map(|thread| thread.tid).collect()
    }

    fn thread(&self, tid: u32) -> Option<ThreadSample> {
        let mut threads = self.threads.iter();
        threads.find(|thread| thread.tid == tid).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_cross_mappings_and_end_at_holes() {
        let mut image = MemoryImage::default();
        for (start, end, byte) in [(0x2000, 0x3000, 2), (0x1000, 0x2000, 1)] {
            let mapping = Mapping {
                start,
                end,
                ..Mapping::default()
            };
            image.add(mapping, vec![byte; 0x800 * usize::from(byte)]);
        }
        let mut buffer = [0; 16];
        assert_eq!(image.read(0x2ff8, &mut buffer), 8);
        assert_eq!(buffer[7], 2);
        assert_eq!(image.read(0x17f8, &mut buffer), 8);
        assert_eq!(image.read(0x1800, &mut buffer), 0);
        assert_eq!(image.word(0x2000), Some(0x0202_0202_0202_0202));
        assert_eq!(image.word(0x17fc), None);
        image.set_word(0x2008, 5);
        assert_eq!(image.word(0x2008), Some(5));
    }
}
