//! The word of an event that names its site, and the cache of source lines.

use super::cache::Cache;

/// Bit 63: the rest is the id of an interned site; otherwise an address, or 0 if the site is not
/// known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SiteWord(pub u64);

const INTERNED: u64 = 1 << 63;

impl SiteWord {
    /// The word for this id in the table of sites; 0 means no site.
    pub const fn from_id(id: u32) -> Self {
        match id {
            0 => SiteWord(0),
            id => SiteWord(INTERNED | id as u64),
        }
    }

    /// The word for an id as lane records hold it: even id 0 carries the id bit.
    #[cfg(feature = "alloc")]
    pub(crate) const fn in_lane(id: u32) -> Self {
        SiteWord(INTERNED | id as u64)
    }

    /// The id of the site in the table, or 0 if the word holds no id.
    pub const fn interned(self) -> u32 {
        if self.0 & INTERNED != 0 {
            self.0 as u32
        } else {
            0
        }
    }

    /// The address, if the word holds an address.
    pub const fn address(self) -> Option<u64> {
        if self.0 == 0 || self.0 & INTERNED != 0 {
            None
        } else {
            Some(self.0)
        }
    }
}

/// Ids of source lines, by the keys of their call sites.
static PLACES: Cache = Cache::new();

/// Returns the site of the line with this key (which identifies the line for the life of the
/// process), from the cache or else from `intern`.
#[inline(always)]
pub(crate) fn cached(key: u64, attachment: u32, intern: impl FnOnce() -> u32) -> SiteWord {
    match PLACES.known(key, attachment) {
        Some(id) => SiteWord(INTERNED | id),
        None => SiteWord::from_id(PLACES.learn(key, attachment, intern())),
    }
}
