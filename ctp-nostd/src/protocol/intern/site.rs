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

    /// For a site of the table, as a lane has it: of none, too, it is said that it is an id.
    #[cfg(feature = "alloc")]
    pub(crate) const fn in_lane(id: u32) -> Self {
        SiteWord(INTERNED | id as u64)
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
/// Of a line, those above its id.
const OWNER_BITS: u32 = 4;
const ID_SHIFT: u32 = KEY_BITS + OWNER_BITS;
const ID_BITS: u32 = u64::BITS - ID_SHIFT;

/// Ids of what was interned, {id 12 | attachment low 4 | key 48} a line; 0 is none. One for the whole
/// process: it is read by all threads and hardly ever written, so that a cache for each thread would
/// gain nothing. What else a program has in its memory is not in the same cache lines.
#[repr(align(128))]
pub(crate) struct Cache([AtomicU64; LINES]);

/// Of lines of the program, by their addresses.
static PLACES: Cache = Cache::new();

/// The site of what lies at `pointer` (which identifies it for the life of the process), from
/// the cache or else from `intern`.
#[inline(always)]
pub(crate) fn cached(pointer: u64, attachment: u32, intern: impl FnOnce() -> u32) -> SiteWord {
    match PLACES.known(pointer, attachment) {
        Some(id) => SiteWord(INTERNED | id),
        None => SiteWord::from_id(PLACES.learn(pointer, attachment, intern())),
    }
}

impl Cache {
    pub(crate) const fn new() -> Self {
        Cache([const { AtomicU64::new(0) }; LINES])
    }

    /// The id of what has this key of 48 bits, from the cache or else from `intern`.
    #[inline(always)]
    pub(crate) fn id(&self, key: u64, attachment: u32, intern: impl FnOnce() -> u32) -> u32 {
        match self.known(key, attachment) {
            Some(id) => id as u32,
            None => self.learn(key, attachment, intern()),
        }
    }

    /// Not 0.
    #[inline(always)]
    fn known(&self, key: u64, attachment: u32) -> Option<u64> {
        let word = self.line(key).load(Ordering::Relaxed);
        let owner = u64::from(attachment) << (u64::BITS - OWNER_BITS);
        // Without the id; an unused line is nobody's, unless it is of key 0, which nothing has.
        let is_it = (word ^ key) << ID_BITS == owner;
        is_it.then_some(word >> ID_SHIFT)
    }

    #[inline(always)]
    fn line(&self, key: u64) -> &AtomicU64 {
        &self.0[(key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize % LINES]
    }

    /// Gives the id.
    fn learn(&self, key: u64, attachment: u32, id: u32) -> u32 {
        let has_room = key >> KEY_BITS == 0 && 0 < id && id >> ID_BITS == 0;
        if has_room {
            let owner = u64::from(attachment) % (1 << OWNER_BITS);
            let word = u64::from(id) << ID_SHIFT | owner << KEY_BITS | key;
            self.line(key).store(word, Ordering::Relaxed);
        }
        id
    }
}
