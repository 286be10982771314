//! A small cache that keeps interning off the event path, for targets without atomics of 64 bits.
//!
//! ```text
//!   a new entry                                a lookup
//!   state: unused -> busy (compare and swap)   state -> id and attachment   (acquire)
//!   key                      (relaxed)         key: the same?               (relaxed)
//!   state = id, attachment   (release)
//! ```
//! Entries are never replaced, so an interrupt handler finds a whole entry or none. The cache has
//! room for the lines of a small program. Other lines are looked up in the table each time.

use core::sync::atomic::{AtomicUsize, Ordering};

use crate::sync::private::AtomicU32;

/// Entries, a power of two: 512 bytes on a target of 32 bits.
const LINES: usize = 64;
/// How many positions an entry may be away from its preferred position.
const REACH: usize = 4;
const UNUSED: u32 = 0;
const BUSY: u32 = u32::MAX;
const OWNER_BITS: u32 = 4;

/// Ids of interned content by keys. The whole program shares a single cache.
pub(crate) struct Cache([Line; LINES]);

struct Line {
    /// {id 28 | attachment low 4}, [`UNUSED`] or [`BUSY`].
    state: AtomicU32,
    key: AtomicUsize,
}

impl Cache {
    pub(crate) const fn new() -> Self {
        Cache(
            [const {
                Line {
                    state: AtomicU32::new(UNUSED),
                    key: AtomicUsize::new(0),
                }
            }; LINES],
        )
    }

    /// Returns the id for this key, from the cache or else from `intern`.
    pub(crate) fn id(&self, key: u64, attachment: u32, intern: impl FnOnce() -> u32) -> u32 {
        match self.known(key, attachment) {
            Some(id) => id as u32,
            None => self.learn(key, attachment, intern()),
        }
    }

    /// The cached id, never 0.
    #[inline(always)]
    pub(super) fn known(&self, key: u64, attachment: u32) -> Option<u64> {
        let key = usize::try_from(key).ok()?;
        let preferred = &self.0[preferred(key)];
        let id = preferred.id(key, attachment);
        id.or_else(|| self.known_elsewhere(key, attachment))
    }

    /// The id in a position behind the preferred position.
    #[cold]
    #[inline(never)]
    fn known_elsewhere(&self, key: usize, attachment: u32) -> Option<u64> {
        let mut lines = self.lines(key).skip(1);
        lines.find_map(|line| line.id(key, attachment))
    }

    /// Caches the id, if there is room, and returns it.
    pub(super) fn learn(&self, key: u64, attachment: u32, id: u32) -> u32 {
        let has_room = 0 < id && id < BUSY >> OWNER_BITS;
        if let Some(key) = usize::try_from(key).ok().filter(|_| has_room) {
            let state = id << OWNER_BITS | owner(attachment);
            self.lines(key).any(|line| line.fill(key, state));
        }
        id
    }

    fn lines(&self, key: usize) -> impl Iterator<Item = &Line> {
        (0..REACH).map(move |distance| &self.0[(preferred(key) + distance) % LINES])
    }
}

/// The preferred position of a key.
#[inline(always)]
fn preferred(key: usize) -> usize {
    ((key as u32).wrapping_mul(0x9E37_79B9) >> 16) as usize % LINES
}

impl Line {
    #[inline(always)]
    fn id(&self, key: usize, attachment: u32) -> Option<u64> {
        let state = self.state.load(Ordering::Acquire);
        let is_whole = state != UNUSED && state != BUSY;
        let is_same = is_whole
            && state % (1 << OWNER_BITS) == owner(attachment)
            && self.key.load(Ordering::Relaxed) == key;
        is_same.then(|| u64::from(state >> OWNER_BITS))
    }

    /// Fills in an unused entry. False if the entry is in use.
    fn fill(&self, key: usize, state: u32) -> bool {
        let (done, not) = (Ordering::Acquire, Ordering::Relaxed);
        let is_claimed = self.state.compare_exchange(UNUSED, BUSY, done, not).is_ok();
        if is_claimed {
            self.key.store(key, Ordering::Relaxed);
            self.state.store(state, Ordering::Release);
        }
        is_claimed
    }
}

fn owner(attachment: u32) -> u32 {
    attachment % (1 << OWNER_BITS)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn cached_ids_are_those_of_their_keys_and_attachments() {
        let cache = Cache::new();
        let keys = || (1..=400_u32).map(|number| number * 20);
        for key in keys() {
            assert_eq!(cache.id(key.into(), 1, || key), key);
        }
        let known = |key: u32, attachment| cache.known(key.into(), attachment);
        let cached = keys().filter(|key| known(*key, 1) == Some((*key).into()));
        let (right, any) = (
            cached.count(),
            keys().filter_map(|key| known(key, 1)).count(),
        );
        assert!(LINES / 2 < right && right == any, "{right} of {any}");
        assert!(keys().all(|key| known(key, 2).is_none()));
    }
}
