//! Reads operands from the input, and zeros after the end.

/// The rest of the input.
pub struct Script<'b>(pub &'b [u8]);

impl<'b> Script<'b> {
    pub fn is_over(&self) -> bool {
        self.0.is_empty()
    }

    pub fn byte(&mut self) -> u8 {
        self.array::<1>()[0]
    }

    pub fn half(&mut self) -> u16 {
        u16::from_le_bytes(self.array())
    }

    pub fn word(&mut self) -> u64 {
        u64::from_le_bytes(self.array())
    }

    /// Takes up to `most` bytes.
    pub fn bytes(&mut self, most: usize) -> &'b [u8] {
        let (bytes, rest) = self.0.split_at(most.min(self.0.len()));
        self.0 = rest;
        bytes
    }

    /// A number at which sums and products overflow, or a small one.
    pub fn edge(&mut self) -> u64 {
        let choice = self.byte();
        let bit = u32::from(choice % 64);
        match choice / 64 {
            0 => u64::from(choice % 64),
            1 => u64::MAX - u64::from(choice % 64),
            2 => 1 << bit,
            _ => (1 << bit) - 1,
        }
    }

    fn array<const N: usize>(&mut self) -> [u8; N] {
        let mut array = [0; N];
        let bytes = self.bytes(N);
        array[..bytes.len()].copy_from_slice(bytes);
        array
    }
}
