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
const KEY_BITS: u32 = 48;
/// Where a line of the cache has the id.
const ID: u64 = 0xFFF << KEY_BITS;

/// Ids of what was interned, {attachment low 4 | id 12 | key 48} a line. One for the whole process:
/// it is read by all threads and hardly ever written, so that a cache for each thread would gain
/// nothing. What else a program has in its memory is not in the same cache lines.
#[repr(align(128))]
pub(crate) struct Cache([AtomicU64; LINES]);

/// Of lines of the program, by their addresses.
static PLACES: Cache = Cache::new();

/// The site of what lies at `pointer` (which identifies it for the life of the process), from
/// the cache or else from `intern`.
#[inline(always)]
pub(crate) fn cached(pointer: u64, attachment: u32, intern: impl FnOnce() -> u32) -> SiteWord {
    SiteWord::from_id(PLACES.id(pointer, attachment, intern))
}

impl Cache {
    pub(crate) const fn new() -> Self {
        Cache([const { AtomicU64::new(0) }; LINES])
    }

    /// The id of what has this key of 48 bits, from the cache or else from `intern`.
    #[inline(always)]
    pub(crate) fn id(&self, key: u64, attachment: u32, intern: impl FnOnce() -> u32) -> u32 {
        let line = &self.0[line_of(key)];
        let word = line.load(Ordering::Relaxed);
        let key = u64::from(attachment) << 60 | key;
        // A line that is not used yet has no key.
        if word & !ID == key {
            return ((word & ID) >> KEY_BITS) as u32;
        }
        let id = intern();
        remember(line, key, id);
        id
    }
}

#[inline(always)]
fn line_of(key: u64) -> usize {
    (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize % LINES
}

fn remember(line: &AtomicU64, key: u64, id: u32) {
    let id = u64::from(id) << KEY_BITS;
    if key & ID == 0 && 0 < id && id <= ID {
        line.store(key | id, Ordering::Relaxed);
    }
}
