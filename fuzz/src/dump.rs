//! Interprets the input as two readings of a compact memory, taken while a program writes the memory.
#![allow(unsafe_code, reason = "reads a memory as bytes, and bytes as a memory")]

use std::slice;

use ctp_nostd::{Region, RingMemory, half_written};

use crate::script::Script;

/// The largest alignment of a memory.
const ALIGNED: usize = 256;

type Small = RingMemory<4, 16, 8>;

/// Calls `read` with the memory that the recorder makes of the input. The first byte says whether both
/// readings are settled, or the second is read alone. The rest is a list of words that differ from a valid
/// memory, each with a number that says where. The lowest bit of that number says whether only the second
/// reading has the word.
pub fn with_region(script: &mut Script<'_>, read: impl FnOnce(&Region<'_>)) {
    let is_settled = script.byte().is_multiple_of(2);
    let mut second = fresh();
    let mut first = second.clone();
    while !script.is_over() {
        let at = script.half();
        let word = if at & 2 == 0 {
            script.edge()
        } else {
            script.word()
        };
        let offset = usize::from(at / 4) * 8 % second.len();
        second[offset..offset + 8].copy_from_slice(&word.to_le_bytes());
        if at & 1 == 0 {
            first[offset..offset + 8].copy_from_slice(&word.to_le_bytes());
        }
    }
    if is_settled {
        second = ctp_record::settle(&first, &second);
    }
    if let Some(Ok(memory)) = ctp_record::memory_of(&second) {
        let mut aligned = Aligned::of(&memory);
        let region = aligned.region();
        half_written::repair(&region);
        read(&region);
    }
}

/// A memory in which no coroutine was born, as bytes.
fn fresh() -> Vec<u8> {
    static MEMORY: Small = Small::new();
    let (base, bytes) = MEMORY.extent();
    // SAFETY: a static of this size, which consists of atomics without padding and is never changed.
    unsafe { slice::from_raw_parts(base, bytes) }.to_vec()
}

/// A copy of a memory, aligned.
struct Aligned {
    bytes: Vec<u8>,
    begin: usize,
    len: usize,
}

impl Aligned {
    fn of(memory: &[u8]) -> Self {
        let mut bytes = vec![0; memory.len() + ALIGNED];
        let begin = bytes.as_ptr().align_offset(ALIGNED);
        bytes[begin..begin + memory.len()].copy_from_slice(memory);
        Aligned {
            bytes,
            begin,
            len: memory.len(),
        }
    }

    fn region(&mut self) -> Region<'_> {
        let base = self.bytes[self.begin..].as_mut_ptr();
        // SAFETY: borrowed exclusively for as long as the region, and of this length.
        unsafe { Region::new(base, self.len, u32::MAX) }.expect("the search has checked the header")
    }
}
