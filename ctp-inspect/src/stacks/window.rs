//! [`StackWindow`]: the part of a stack that is in use.

use crate::target::Target;

/// The number of bytes of a stack that are read ahead.
const AHEAD_BYTES: u64 = 16 << 10;

/// The used part of a stack, from the stack pointer to the end of its mapping.
pub struct StackWindow<'t> {
    /// The process.
    pub target: &'t dyn Target,
    start: u64,
    end: u64,
    ahead: Vec<u8>,
}

impl<'t> StackWindow<'t> {
    pub fn new(target: &'t dyn Target, start: u64, end: u64) -> Self {
        let bytes = AHEAD_BYTES.min(end.saturating_sub(start));
        let mut ahead = vec![0; usize::try_from(bytes).unwrap_or_default()];
        let read = target.read(start, &mut ahead);
        ahead.truncate(read);
        StackWindow {
            target,
            start,
            end,
            ahead,
        }
    }

    /// Whether this address lies in the used part, or is the first address after it.
    pub fn contains(&self, address: u64) -> bool {
        (self.start..=self.end).contains(&address)
    }

    /// A word of the used part.
    pub fn word(&self, address: u64) -> Option<u64> {
        let offset = usize::try_from(address.checked_sub(self.start)?).ok()?;
        let ahead = self.ahead.get(offset..).and_then(<[u8]>::first_chunk);
        match ahead {
            Some(bytes) => Some(u64::from_le_bytes(*bytes)),
            None if address < self.end => self.target.word(address),
            None => None,
        }
    }
}
