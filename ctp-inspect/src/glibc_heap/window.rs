//! [`MemoryWindow`]: reads words in ascending order, many with a single call.

use crate::target::Target;

const BYTES: usize = 1 << 16;

/// A part of memory, as it was when it was read.
pub struct MemoryWindow<'t> {
    target: &'t dyn Target,
    start: u64,
    bytes: Vec<u8>,
}

impl<'t> MemoryWindow<'t> {
    /// Reads nothing yet.
    pub fn new(target: &'t dyn Target) -> Self {
        MemoryWindow {
            target,
            start: 0,
            bytes: Vec::new(),
        }
    }

    /// The word at an address, if it can be read.
    pub fn word(&mut self, address: u64) -> Option<u64> {
        self.kept(address).or_else(|| {
            self.read_from(address);
            self.kept(address)
        })
    }

    fn kept(&self, address: u64) -> Option<u64> {
        let offset = usize::try_from(address.checked_sub(self.start)?).ok()?;
        let bytes = self.bytes.get(offset..offset.checked_add(8)?)?;
        Some(u64::from_le_bytes(bytes.try_into().ok()?))
    }

    fn read_from(&mut self, address: u64) {
        self.bytes.resize(BYTES, 0);
        let read = self.target.read(address, &mut self.bytes);
        self.bytes.truncate(read);
        self.start = address;
    }
}
