//! The word of an event that says where, and a small cache that keeps interning off its path.

use core::sync::atomic::{AtomicU64, Ordering};

/// Bit 63: the rest is the id of an interned site; else an address, or 0 for nothing known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SiteWord(pub u64);

const INTERNED: u64 = 1 << 63;

impl SiteWord {
    /// For a site of the table; 0 is none.
    pub const fn from_id(id: u32) -> Self {
        match id {
            0 => SiteWord(0),
            id => SiteWord(INTERNED | id as u64),
        }
    }

    /// The id of the site in the table, 0 if it is not there.
    pub const fn interned(self) -> u32 {
        if self.0 & INTERNED != 0 {
            self.0 as u32
        } else {
            0
        }
    }

    /// The address, if that is what it is.
    pub const fn address(self) -> Option<u64> {
        if self.0 == 0 || self.0 & INTERNED != 0 {
            None
        } else {
            Some(self.0)
        }
    }
}

const LINES: usize = 512;
const PTR_BITS: u32 = 48;

/// One for the whole process: {attachment low 4 | site id 12 | pointer 48}. It is read by all
/// threads and hardly ever written, so that a cache for each thread would gain nothing.
static CACHE: [AtomicU64; LINES] = [const { AtomicU64::new(0) }; LINES];

/// The site of what lies at `pointer` (which identifies it for the life of the process), from
/// the cache or else from `intern`.
#[inline]
pub(crate) fn cached(pointer: u64, attachment: u32, intern: impl FnOnce() -> u32) -> SiteWord {
    let line = &CACHE[line_of(pointer)];
    let word = line.load(Ordering::Relaxed);
    match hit(word, pointer, attachment) {
        Some(id) => SiteWord::from_id(id),
        None => fill(line, pointer, attachment, intern()),
    }
}

fn line_of(pointer: u64) -> usize {
    (pointer.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize % LINES
}

fn pack(pointer: u64, attachment: u32, id: u32) -> u64 {
    u64::from(attachment & 0xF) << 60 | u64::from(id) << PTR_BITS | pointer
}

fn hit(word: u64, pointer: u64, attachment: u32) -> Option<u32> {
    let id = (word >> PTR_BITS) as u32 & 0xFFF;
    (id != 0 && word == pack(pointer, attachment, id)).then_some(id)
}

#[cold]
fn fill(line: &AtomicU64, pointer: u64, attachment: u32, id: u32) -> SiteWord {
    if pointer >> PTR_BITS == 0 && id < 1 << 12 {
        line.store(pack(pointer, attachment, id), Ordering::Relaxed);
    }
    SiteWord::from_id(id)
}
