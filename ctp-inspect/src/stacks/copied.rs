//! [`CopiedStack`]: the stack of a thread that was stopped for a moment, as it was then.

use ctp_trace::record::Nanos;

use crate::target::error::TargetError;
use crate::target::mapping::Mapping;
use crate::target::read_parts::read_parts;
use crate::target::{EpollInterest, StackPointer, Target};
use crate::threads::ThreadSample;

/// Maximum size of a copy. Of a larger stack, only the innermost part is copied, so that the thread soon continues.
const MAX_BYTES: u64 = 128 << 10;

/// The used part of a stack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CopiedStack {
    start: u64,
    /// The end of the mapping.
    end: u64,
    bytes: Vec<u8>,
}

impl CopiedStack {
    /// Copies the stack from the stack pointer on.
    pub fn copy(target: &dyn Target, start: u64) -> Self {
        let end = target.mapping_at(start).map_or(start, |found| found.end);
        let bytes = (end - start).min(MAX_BYTES);
        let mut bytes = vec![0; usize::try_from(bytes).unwrap_or_default()];
        let read = target.read(start, &mut bytes);
        bytes.truncate(read);
        CopiedStack { start, end, bytes }
    }

    /// Whether nothing was copied.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The bytes at an address in the used part of the stack, as far as they were copied. `None` for other
    /// addresses.
    fn at(&self, address: u64) -> Option<&[u8]> {
        let into = address.checked_sub(self.start)?;
        let into = usize::try_from(into).ok().filter(|_| address < self.end)?;
        Some(self.bytes.get(into..).unwrap_or_default())
    }
}

/// A process with a copied stack in place of the present stack. The part that was not copied cannot be read, because it
/// may have changed.
pub struct WithStack<'t> {
    /// The process.
    pub target: &'t dyn Target,
    /// The stack.
    pub stack: &'t CopiedStack,
}

impl WithStack<'_> {
    fn read_part(&self, address: u64, buffer: &mut [u8]) -> usize {
        if let Some(copied) = self.stack.at(address) {
            let bytes = copied.len().min(buffer.len());
            buffer[..bytes].copy_from_slice(&copied[..bytes]);
            return bytes;
        }
        let until_stack = self.stack.start.checked_sub(address);
        let until_stack = until_stack.and_then(|bytes| usize::try_from(bytes).ok());
        let bytes = until_stack.map_or(buffer.len(), |bytes| bytes.min(buffer.len()));
        self.target.read(address, &mut buffer[..bytes])
    }
}

impl Target for WithStack<'_> {
    fn pid(&self) -> u32 {
        self.target.pid()
    }

    fn exe(&self) -> &[u8] {
        self.target.exe()
    }

    fn mappings(&self) -> &[Mapping] {
        self.target.mappings()
    }

    fn read(&self, address: u64, buffer: &mut [u8]) -> usize {
        read_parts(address, buffer, |address, buffer| {
            self.read_part(address, buffer)
        })
    }

    fn now(&self) -> Nanos {
        self.target.now()
    }

    fn refresh(&mut self) -> Result<(), TargetError> {
        Ok(())
    }

    fn stack_pointers(&self) -> Vec<StackPointer> {
        self.target.stack_pointers()
    }

    fn epoll_interests(&self) -> Vec<EpollInterest> {
        self.target.epoll_interests()
    }

    fn thread_ids(&self) -> Vec<u32> {
        self.target.thread_ids()
    }

    fn thread(&self, tid: u32) -> Option<ThreadSample> {
        self.target.thread(tid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::image::MemoryImage;

    #[test]
    fn copied_stack_does_not_change() {
        let mut image = MemoryImage::default();
        for (start, bytes) in [(0x1000_u64, 0x1000_usize), (0x2000, 0x40_0000)] {
            let mapping = Mapping {
                start,
                end: start + bytes as u64,
                ..Mapping::default()
            };
            image.add(mapping, vec![1; bytes]);
        }
        let stack = CopiedStack::copy(&image, 0x2010);
        for address in [0x1ff8, 0x2008, 0x2010] {
            image.set_word(address, 7);
        }
        let target = WithStack {
            target: &image,
            stack: &stack,
        };
        assert_eq!(target.word(0x1ff8), Some(7));
        assert_eq!(target.word(0x2008), Some(7));
        assert_eq!(target.word(0x2010), Some(0x0101_0101_0101_0101));
        let mut both = [0; 16];
        assert_eq!(target.read(0x2008, &mut both), 16);
        assert_eq!(both, [7, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1]);
        assert_eq!(target.word(0x2010 + MAX_BYTES), None);
    }
}
