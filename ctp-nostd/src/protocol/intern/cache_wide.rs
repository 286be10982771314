//! A small cache that keeps interning off the event path, in words of 64 bits.

use core::sync::atomic::{AtomicU64, Ordering};

const LINES: usize = 512;
const KEY_BITS: u32 = 48;
/// In a line of the cache: bits between the key and the id.
const OWNER_BITS: u32 = 4;
const ID_SHIFT: u32 = KEY_BITS + OWNER_BITS;
const ID_BITS: u32 = u64::BITS - ID_SHIFT;

/// Ids of interned content, {id 12 | attachment low 4 | key 48} per line; 0: unused. The whole
/// process shares a single cache: all threads read it and writes are rare, so a cache per thread
/// would gain nothing. The alignment keeps other data of the program out of these cache lines.
#[repr(align(128))]
pub(crate) struct Cache([AtomicU64; LINES]);

impl Cache {
    pub(crate) const fn new() -> Self {
        Cache([const { AtomicU64::new(0) }; LINES])
    }

    /// Returns the id for this 48-bit key, from the cache or else from `intern`.
    #[inline(always)]
    pub(crate) fn id(&self, key: u64, attachment: u32, intern: impl FnOnce() -> u32) -> u32 {
        match self.known(key, attachment) {
            Some(id) => id as u32,
            None => self.learn(key, attachment, intern()),
        }
    }

    /// The cached id, never 0.
    #[inline(always)]
    pub(super) fn known(&self, key: u64, attachment: u32) -> Option<u64> {
        let word = self.line(key).load(Ordering::Relaxed);
        let owner = u64::from(attachment) << (u64::BITS - OWNER_BITS);
        // Compares everything but the id. An unused line matches only key 0, which no content has.
        let is_same = (word ^ key) << ID_BITS == owner;
        is_same.then_some(word >> ID_SHIFT)
    }

    #[inline(always)]
    fn line(&self, key: u64) -> &AtomicU64 {
        &self.0[(key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize % LINES]
    }

    /// Caches the id, if there is room for its bits, and returns it.
    pub(super) fn learn(&self, key: u64, attachment: u32, id: u32) -> u32 {
        let has_room = key >> KEY_BITS == 0 && 0 < id && id >> ID_BITS == 0;
        if has_room {
            let owner = u64::from(attachment) % (1 << OWNER_BITS);
            let word = u64::from(id) << ID_SHIFT | owner << KEY_BITS | key;
            self.line(key).store(word, Ordering::Relaxed);
        }
        id
    }
}
